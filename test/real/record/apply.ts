/** Carries out the sequences of writes, each on an object of its own, and keeps what the server has after each step. */
import { type JsonObject, isJsonObject, stringifyJson } from '../../../src/kube/json.ts'
import type { ManagedFieldsEntry } from '../../../src/kube/object.ts'
import {
  type ApplyCase,
  type ApplyOutcome,
  type ApplyStep,
  type ApplyVector,
  appliedKinds,
  applyCases,
} from '../../vectors/cases/apply.ts'
import { thingSchema } from '../../vectors/cases/apply-thing.ts'
import type { Answer, Api } from '../api.ts'
import { type Recorder, createKind, createNamespace, mapInTurns, refusalOf, withoutVolatile } from './recorder.ts'

export const applyRecorder: Recorder<ApplyVector> = {
  set: 'apply',
  async record(api) {
    await createNamespace(api, 'apply')
    await createKind(api, {
      group: 'apply.vectors.muster.test',
      kind: 'Thing',
      schema: JSON.parse(stringifyJson(thingSchema)) as JsonObject,
      status: true,
    })
    return await mapInTurns(applyCases, async (given): Promise<ApplyVector> => {
      const steps: ApplyVector['steps'][number][] = []
      for (const step of given.steps) steps.push({ ...step, ...(await carryOut(api, given, step)) })
      return { ...given, steps }
    })
  },
}

async function carryOut(api: Api, { name, kind }: ApplyCase, step: ApplyStep): Promise<ApplyOutcome> {
  const { path } = appliedKinds[kind]
  const object = `${path}/${name}`
  const answer = await send(api, name, kind, step)
  if (answer.status >= 300 || !isJsonObject(answer.body)) {
    const { details } = answer.body as {
      readonly details?: { readonly causes?: Required<ApplyOutcome>['refusal']['causes'] }
    }
    // The causes of several managers come in any order.
    const causes = details?.causes?.toSorted((a, b) => (stringifyJson(a) < stringifyJson(b) ? -1 : 1))
    return { refusal: { ...refusalOf(answer), ...(causes ? { causes } : {}) } }
  }
  const live = await api.must('GET', object)
  const { managedFields = [] } = live['metadata'] as { readonly managedFields?: readonly ManagedFieldsEntry[] }
  return { object: withoutVolatile(live), managedFields: inFixedOrder(managedFields) }
}

function send(api: Api, name: string, kind: ApplyCase['kind'], step: ApplyStep): Promise<Answer> {
  const { apiVersion, kind: kindName, path } = appliedKinds[kind]
  const url = `${path}/${name}${step.subresource ? `/${step.subresource}` : ''}`
  const query = { fieldManager: step.by }
  const whole = (): JsonObject => {
    const body = step.body as JsonObject
    return { apiVersion, kind: kindName, ...body, metadata: { name, ...(body['metadata'] as JsonObject | undefined) } }
  }
  if (step.does === 'create') return api.call('POST', path, { body: whole(), query })
  if (step.does === 'replace') return api.call('PUT', url, { body: whole(), query })
  const type = patchTypes[step.does]
  if (step.does !== 'apply' && step.does !== 'force')
    return api.call('PATCH', url, { type, query, body: stringifyJson(step.body) })
  return api.call('PATCH', url, {
    type,
    query: { ...query, ...(step.does === 'force' ? { force: 'true' } : {}) },
    body: whole(),
  })
}

const patchTypes = {
  apply: 'application/apply-patch+yaml',
  force: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

/** The server orders entries by time, and two steps may or may not fall into the same second. */
function inFixedOrder(entries: readonly ManagedFieldsEntry[]): readonly ManagedFieldsEntry[] {
  const key = ({ operation, manager, subresource, apiVersion }: ManagedFieldsEntry): string =>
    [operation, manager, subresource, apiVersion].join('\n')
  return entries
    .map(({ time: _time, ...entry }) => entry)
    .toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))
}
