/**
 * A mutation of the contract: one write request, as data. It is recorded instead of sent, so that it can be reviewed,
 * compared and sent later.
 */
import { hash } from 'node:crypto'
import type { JsonObject } from '../../kube/json.ts'

/** The role of the target cluster. */
export type ClusterFolder = 'Configuration' | 'Management' | 'UserWorkload'

export const clusterFolders: readonly ClusterFolder[] = ['Configuration', 'Management', 'UserWorkload']

/** Undeclared mutations. They are shown, and never sent. */
export const unspecifiedFolder = 'Unspecified'

export type Verb = 'Create' | 'Update' | 'Apply' | 'Patch' | 'Delete'

/** A resource as in a URL; the API server knows its kind. */
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
  /** Absent for cluster-scoped resources. */
  readonly namespace?: string | undefined
  /** Empty for generated names. */
  readonly name: string
  /** From the object; `name` takes precedence. */
  readonly generateName: string
  /** The controller; empty if unknown. */
  readonly controller: string
  readonly fieldManager?: string | undefined
  /** The content type of a patch: `application/merge-patch+json`. */
  readonly patchType?: string | undefined
  /** The text of the body file; empty: there is none. */
  readonly body: string
  /** The query parameters. */
  readonly options: JsonObject
}

export function actionOf({ verb, subresource }: Pick<RecordedMutation, 'verb' | 'subresource'>): string {
  return subresource === undefined ? verb : `${verb}${subresource.charAt(0).toUpperCase()}${subresource.slice(1)}`
}

/** The verb and subresource of an action; undefined for an unknown action. */
export function parseAction(action: string): Pick<RecordedMutation, 'verb' | 'subresource'> | undefined {
  const [, verb, rest = ''] = /^(Create|Update|Apply|Patch|Delete)([A-Z][a-z]*)?$/.exec(action) ?? []
  if (verb === undefined) return undefined
  return { verb: verb as Verb, ...(rest !== '' && { subresource: rest.toLowerCase() }) }
}

/** `Apply-ConfigMap.v1./name[namespace]`: a mutation in messages. */
export function describeMutation(mutation: RecordedMutation, kind: string): string {
  const { type, name, generateName, namespace = '' } = mutation
  return `${actionOf(mutation)}-${kind}.${type.version}.${type.group}/${name}${generateName}[${namespace}]`
}

/** The last two bytes of a SHA-256 of the body; of the options if there is no body. */
export function mutationHash(body: string, options: string): string {
  const text = body === '' ? options : body
  return text === '' ? 'MISSING' : hash('sha256', text, 'hex').slice(-4)
}
