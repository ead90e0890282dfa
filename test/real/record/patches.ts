/** Creates each object once and patches it with dry runs, so that every case starts from the same state. */
import { type Json, type JsonObject, isJsonObject, stringifyJson } from '../../../src/kube/json.ts'
import { jsonPatchCases } from '../../vectors/cases/json-patches.ts'
import { mergePatchCases } from '../../vectors/cases/merge-patches.ts'
import {
  type PatchCase,
  type PatchVector,
  type PatchedObject,
  type PatchedObjectVector,
  patchedObjects,
} from '../../vectors/cases/patches.ts'
import { strategicPatchCases } from '../../vectors/cases/strategic-patches.ts'
import type { Answer, Api } from '../api.ts'
import { type Recorder, createKind, createNamespace, mapInTurns, refusalOf, withoutVolatile } from './recorder.ts'

/** Where the objects are, in a namespace of choice. */
const collections: Readonly<Record<PatchedObject, (namespace: string) => string>> = {
  doc: (namespace) => `/apis/patches.vectors.muster.test/v1/namespaces/${namespace}/docs`,
  configMap: (namespace) => `/api/v1/namespaces/${namespace}/configmaps`,
  deployment: (namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
  service: (namespace) => `/api/v1/namespaces/${namespace}/services`,
  serviceAccount: (namespace) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  role: (namespace) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
  node: () => '/api/v1/nodes',
}

export function pathOfObject({ object, subresource }: PatchCase, namespace = 'patches'): string {
  const path = `${collections[object](namespace)}/${patchedObjects[object].metadata.name}`
  return subresource ? `${path}/${subresource}` : path
}

export const patchedObjectRecorder: Recorder<PatchedObjectVector> = {
  set: 'patched-objects',
  async record(api) {
    const objects = await sharedObjects(api)
    return Object.entries(objects).map(([name, before]) => ({ name: name as PatchedObject, before }))
  },
}

export const jsonPatchRecorder: Recorder<PatchVector> = patchRecorder(
  'json-patches',
  'application/json-patch+json',
  jsonPatchCases,
)
export const mergePatchRecorder: Recorder<PatchVector> = patchRecorder(
  'merge-patches',
  'application/merge-patch+json',
  mergePatchCases,
)
export const strategicPatchRecorder: Recorder<PatchVector> = patchRecorder(
  'strategic-patches',
  'application/strategic-merge-patch+json',
  strategicPatchCases,
)

function patchRecorder(set: string, type: string, cases: readonly PatchCase[]): Recorder<PatchVector> {
  return {
    set,
    async record(api) {
      await sharedObjects(api)
      return await mapInTurns(cases, async (given): Promise<PatchVector> => {
        const answer = await api.call('PATCH', pathOfObject(given), {
          type,
          body: stringifyJson(given.patch),
          query: { dryRun: 'All' },
        })
        return answer.status === 200 && isJsonObject(answer.body)
          ? { ...given, result: withoutVolatile(answer.body) }
          : { ...given, refusal: refusal(answer) }
      })
    },
  }
}

function refusal(answer: Answer): NonNullable<PatchVector['refusal']> {
  const recorded = refusalOf(answer)
  const { message } = recorded
  if (answer.status === 409 || message.startsWith('the name of the object')) return { ...recorded, by: 'validation' }
  if (!message.includes('is invalid:')) return { ...recorded, by: 'patch' }
  const { details } = answer.body as unknown as { readonly details: { readonly causes: readonly [Cause] } }
  const [{ field, message: cause }] = details.causes
  if (field !== 'patch') return { ...recorded, by: 'validation' }
  // The cause quotes the object, uid and all, before it says what is wrong.
  return { ...recorded, message: cause.slice(cause.lastIndexOf('": ') + 3), by: 'decoding' }
}

interface Cause {
  readonly field: string
  readonly message: string
}

let created: Promise<Readonly<Record<PatchedObject, JsonObject>>> | undefined

/** The objects are shared by all patch recorders: dry runs leave them as they are. */
function sharedObjects(api: Api): Promise<Readonly<Record<PatchedObject, JsonObject>>> {
  created ??= createObjects(api, 'patches')
  return created
}

/** The objects in a namespace of their own, as the server has them. */
export async function createObjects(api: Api, namespace: string): Promise<Readonly<Record<PatchedObject, JsonObject>>> {
  await createNamespace(api, namespace)
  await createKind(api, {
    group: 'patches.vectors.muster.test',
    kind: 'Doc',
    schema: {
      type: 'object',
      properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    } satisfies Json,
  })
  const objects: [string, JsonObject][] = []
  for (const [name, { metadata, ...object }] of Object.entries(patchedObjects)) {
    const path = collections[name as PatchedObject](namespace)
    const body = { ...object, metadata: metadata.namespace ? { ...metadata, namespace } : metadata }
    const { status, message } = await api.call('POST', path, { body })
    // A node has no namespace: another suite may have made it.
    if (status !== 201 && status !== 409) throw new Error(`${path}: ${message}`)
    if ('status' in object) await api.must('PUT', `${path}/${metadata.name}/status`, { body })
    objects.push([name, withoutVolatile(await api.must('GET', `${path}/${metadata.name}`))])
  }
  return Object.fromEntries(objects) as Record<PatchedObject, JsonObject>
}
