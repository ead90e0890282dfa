/**
 * A mutation as the contract knows it: one request that changes something, as data. It is what an operator would have sent,
 * written down, so that somebody else can look at it, compare it and send it.
 */
import { hash } from 'node:crypto'
import type { JsonObject } from '../kube/json.ts'

/** Where it is to be sent: to the cluster that plays this role. */
export type ClusterFolder = 'Configuration' | 'Management' | 'UserWorkload'

export const clusterFolders: readonly ClusterFolder[] = ['Configuration', 'Management', 'UserWorkload']

/** For what the operator did not declare. It is shown, and never sent. */
export const unspecifiedFolder = 'Unspecified'

export type Verb = 'Create' | 'Update' | 'Apply' | 'Patch' | 'Delete'

/** The eight that others know; a verb on any further subresource has its name behind it: `UpdateScale`. */
export const commonActions = [
  'Create',
  'Update',
  'UpdateStatus',
  'Apply',
  'ApplyStatus',
  'Patch',
  'PatchStatus',
  'Delete',
] as const

/** A resource in a URL; what kind it is of is for the server to say. */
export interface ResourceType {
  readonly group: string
  readonly version: string
  readonly resource: string
}

export interface RecordedMutation {
  readonly verb: Verb
  /** `status`, `scale`; absent: the object itself. */
  readonly subresource?: string | undefined
  readonly type: ResourceType
  /** Absent where the scope is the cluster. */
  readonly namespace?: string | undefined
  /** Empty where the server is to make one up. */
  readonly name: string
  /** As the object says; what counts is the name, where it has one. */
  readonly generateName: string
  /** Who wanted it; empty where nobody can tell. */
  readonly controller: string
  readonly fieldManager?: string | undefined
  /** As in the header of the request: `application/merge-patch+json`. */
  readonly patchType?: string | undefined
  /** As it stands in the file; empty: there is none. */
  readonly body: string
  /** What the URL said beside the place. */
  readonly options: JsonObject
}

export function actionOf({ verb, subresource }: Pick<RecordedMutation, 'verb' | 'subresource'>): string {
  return subresource === undefined ? verb : `${verb}${subresource.charAt(0).toUpperCase()}${subresource.slice(1)}`
}

/** The verb and subresource of an action; undefined: there is no such action. */
export function parseAction(action: string): Pick<RecordedMutation, 'verb' | 'subresource'> | undefined {
  const [, verb, rest = ''] = /^(Create|Update|Apply|Patch|Delete)([A-Z][a-z]*)?$/.exec(action) ?? []
  if (verb === undefined) return undefined
  return { verb: verb as Verb, ...(rest !== '' && { subresource: rest.toLowerCase() }) }
}

/** `Apply-ConfigMap.v1./name[namespace]`: how a mutation is called in messages. */
export function describeMutation(mutation: RecordedMutation, kind: string): string {
  const { type, name, generateName, namespace = '' } = mutation
  return `${actionOf(mutation)}-${kind}.${type.version}.${type.group}/${name}${generateName}[${namespace}]`
}

/** The last two bytes of a SHA-256 of the body; of the options where there is none. */
export function mutationHash(body: string, options: string): string {
  const text = body === '' ? options : body
  return text === '' ? 'MISSING' : hash('sha256', text, 'hex').slice(-4)
}
