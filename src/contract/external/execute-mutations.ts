/**
 * Sends the recorded mutations of a program: one request each, in order. All of them are checked before the first is
 * sent, against the declared outputs and against what the cluster serves. If one is invalid, none is sent.
 */
import type { Client, PatchType } from '../../client/client.ts'
import { withQuery } from '../../client/paths.ts'
import type { Writer } from '../../cache/writer.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { contractErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import { type Resource, resourcePath } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { termOver } from '../../manager/leases/term.ts'
import {
  actionOf,
  type ClusterFolder,
  describeMutation,
  type RecordedMutation,
  unspecifiedFolder,
} from '../declaration/mutation.ts'
import { inOrder, type ReadMutation } from '../directory/output-reader.ts'
import { foldersOf, type OutputResources } from '../declaration/resource-list.ts'
import { deletionOf, isDryRunMutation } from './deletion.ts'
import { servedResource } from '../directory/served.ts'

/** The target cluster of one folder. */
export interface MutationTarget {
  readonly client: Client
  /** Its answers update the caches; it sends as the operator. */
  readonly writer: Writer
}

export interface ExecuteOptions {
  readonly targetOf: (folder: ClusterFolder) => MutationTarget
  readonly declared: OutputResources
  /** The default field manager: the name of the operator. */
  readonly fieldManager: string
  /** Names of all operators, which no other operator may use as a field manager. @default none */
  readonly others?: (() => Iterable<string>) | undefined
  /** The time-out of one write. @default the client's */
  readonly timeoutMs?: number | undefined
  /** Whether the lease is still held: checked before each write. @default always */
  readonly isHeld?: (() => boolean) | undefined
}

export interface ExecutedMutations {
  readonly read: ReadMutation
  /** Absent on success. */
  readonly error?: unknown
  /** The object in the answer; absent for deleted objects and for actions. */
  readonly object?: UntypedObject | undefined
}

export interface CheckedMutations {
  readonly read: ReadMutation
  readonly resource: Resource
}

/** @throws OutputRefused, UndeclaredOutput if any mutation is invalid */
export async function checkMutations(
  mutations: readonly ReadMutation[],
  { targetOf, declared, fieldManager, others }: Omit<ExecuteOptions, 'timeoutMs' | 'isHeld'>,
): Promise<readonly CheckedMutations[]> {
  const checked: CheckedMutations[] = []
  const taken = new Set(others?.())
  for (const read of inOrder(mutations.filter(({ folder }) => folder !== unspecifiedFolder))) {
    const { mutation, folder, content, file } = read
    const { type, namespace, subresource, verb } = mutation
    if (!foldersOf(declared, mutation).some((one) => one === folder)) {
      const what = describeMutation(mutation, kindIn(content) ?? type.resource)
      throw new MusterError(
        operatorErrors.UndeclaredOutput,
        `${file}: ${what} is not among its declared outputs for ${folder}.`,
      )
    }
    const resource = await servedResource(targetOf(folder as ClusterFolder).client, type)
    if (!resource) throw refused(`${file}: ${type.resource} of ${type.group || 'v1'} is not served`)
    if (resource.namespaced !== (namespace !== undefined)) {
      throw refused(`${file}: ${resource.kind} is ${resource.namespaced ? '' : 'not '}in namespaces`)
    }
    const isWhole = verb !== 'Patch' && verb !== 'Delete' && (subresource === undefined || subresource === 'status')
    const isSaid = verb === 'Patch' && subresource === undefined && kindIn(content) !== undefined
    if ((isWhole || isSaid) && kindIn(content) !== resource.kind) {
      throw refused(`${file} holds a ${kindIn(content)}, and ${type.resource} are of kind ${resource.kind}`)
    }
    if (verb === 'Patch' && !patchTypes.has(mutation.patchType ?? '')) {
      throw refused(`${file}: there is no patch of type ${mutation.patchType}`)
    }
    if (verb === 'Delete') deletionOf(read)
    const manager = recordedManager(mutation) ?? fieldManager
    if (manager !== fieldManager) checkManager(manager, taken, file)
    checked.push({ read, resource })
  }
  return checked
}

/** Field managers of the cluster, of its tools, and of Muster itself. */
const reserved =
  /^(?:kubectl(?:-.*)?|kubelet|kube-(?:apiserver|controller-manager|scheduler)|before-first-apply|muster(?:-up)?)$/
const longestManager = 128

function recordedManager({ fieldManager, options }: RecordedMutation): string | undefined {
  const asked = options['fieldManager']
  return fieldManager ?? (typeof asked === 'string' && asked !== '' ? asked : undefined)
}

/**
 * Programs choose their field managers, often one per controller, and find their fields by these names: so they are
 * kept. With the name of another operator a program could remove that operator's fields.
 */
function checkManager(manager: string, taken: ReadonlySet<string>, file: string): void {
  if (manager.length > longestManager || /\p{C}/u.test(manager)) {
    throw refused(`${file}: its field manager is no printable text of at most ${longestManager} characters`)
  }
  if (!taken.has(manager) && !reserved.test(manager)) return
  const whose = taken.has(manager) ? 'the operator of that name' : 'the cluster and its tools'
  throw refused(`${file}: it would be written as "${manager}", a field manager that belongs to ${whose}`)
}

/** One after the other; a failure stops only further writes to the same object. */
export async function executeMutations(
  checked: readonly CheckedMutations[],
  options: ExecuteOptions,
): Promise<readonly ExecutedMutations[]> {
  const done: ExecutedMutations[] = []
  const failed = new Set<string>()
  for (const { read, resource } of checked) {
    const { type, namespace = '', name } = read.mutation
    const key = `${type.resource}.${type.group} ${namespace}/${name}`
    if (name !== '' && failed.has(key)) {
      done.push({ read, error: new MusterError(clientErrors.Conflict, 'an earlier write of the same object failed.') })
      continue
    }
    try {
      if (options.isHeld?.() === false) throw termOver()
      done.push({ read, object: await send(read, resource, options) })
    } catch (error) {
      // A delete of a missing object is a success.
      const isGone = isMusterError(error, clientErrors.NotFound) && read.mutation.verb === 'Delete'
      if (!isGone) failed.add(key)
      done.push(isGone ? { read } : { read, error })
    }
  }
  return done
}

const patchTypes: ReadonlyMap<string, PatchType> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
])

async function send(
  read: ReadMutation,
  resource: Resource,
  { targetOf, fieldManager, timeoutMs }: ExecuteOptions,
): Promise<UntypedObject | undefined> {
  const { client, writer } = targetOf(read.folder as ClusterFolder)
  const { mutation, content } = read
  const { verb, subresource, namespace, name, options } = mutation
  const validation = options['fieldValidation']
  const how = {
    fieldManager: recordedManager(mutation) ?? fieldManager,
    ...(isValidation(validation) && { fieldValidation: validation }),
    ...(subresource !== undefined && { subresource }),
    dryRun: isDryRunMutation(read),
    timeoutMs,
  }
  const object = placed(content, mutation)
  switch (verb) {
    case 'Create':
      if (subresource === undefined) return await writer.create(resource, object, how)
      // Evictions, bindings, tokens: their answers are not cached objects.
      await client.request({
        method: 'POST',
        path: withQuery(resourcePath(resource, { namespace, name, subresource }), {
          dryRun: how.dryRun ? 'All' : undefined,
          fieldManager: how.fieldManager,
        }),
        body: stringifyJson(content),
        timeoutMs,
      })
      return undefined
    case 'Update':
      return await writer.update(resource, object, how)
    case 'Apply':
      return await writer.apply(resource, object, { ...how, force: options['force'] === true })
    case 'Patch': {
      const type = patchTypes.get(mutation.patchType ?? '')!
      const patched = await writer.patch(resource, { name, namespace }, content, { ...how, type })
      return patched
    }
    default:
      await writer.delete(resource, { name, namespace }, { ...deletionOf(read), timeoutMs })
      return undefined
  }
}

/** The mutation's metadata has name and namespace: a body may leave them out. */
function placed(content: Json | undefined, { name, namespace }: RecordedMutation): UntypedObject {
  const body: JsonObject = isJsonObject(content) ? content : {}
  const metadata = isJsonObject(body['metadata']) ? body['metadata'] : {}
  const at = { ...metadata, ...(name !== '' && { name }), ...(namespace !== undefined && { namespace }) }
  return { ...body, metadata: at } as unknown as UntypedObject
}

function isValidation(value: Json | undefined): value is 'Strict' | 'Warn' | 'Ignore' {
  return value === 'Strict' || value === 'Warn' || value === 'Ignore'
}

function kindIn(content: Json | undefined): string | undefined {
  return isJsonObject(content) && typeof content['kind'] === 'string' ? content['kind'] : undefined
}

/**
 * Objects that are written more than once in a run, other than by apply: the second write is based on a stale version.
 */
export function severalWrites(mutations: readonly ReadMutation[]): readonly string[] {
  const plain = mutations.filter(
    ({ folder, mutation: { verb, name } }) =>
      folder !== unspecifiedFolder && (verb === 'Update' || verb === 'Create') && name !== '',
  )
  const byObject = Map.groupBy(plain, ({ folder, mutation }) => {
    const { type, namespace = '', name, subresource = '' } = mutation
    return `${folder} ${type.resource}.${type.group} ${namespace}/${name} ${subresource}`.trim()
  })
  return [...byObject].flatMap(([object, reads]) =>
    reads.length > 1
      ? [`${object}: ${reads.map(({ mutation }) => `${actionOf(mutation)} by ${mutation.controller}`).join(', ')}`]
      : [],
  )
}

function refused(problem: string): MusterError {
  return new MusterError(contractErrors.OutputRefused, `${problem}.`)
}
