/** The ledger of a program's run, in the same form as of every run, for logs, metrics and costs. */
import { equalJson, type JsonObject } from '../../kube/json.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { fieldChanges } from '../../manager/plan/field-change.ts'
import { kindText } from '../../operator/dependent/entry.ts'
import type { LedgerEntry, Operation } from '../../operator/ledger.ts'
import type { Mutation, MutationOutcome } from '../../operator/plan.ts'
import type { CheckedMutations } from './execute-mutations.ts'
import { isDryRunMutation } from './deletion.ts'

/** A write as a kit mutation, for ledger, metrics and traces. It is carried out as it was recorded. */
export function ledgerMutationOf({ read: { mutation, content }, resource }: CheckedMutations): Mutation {
  const { verb, subresource, name, generateName, namespace } = mutation
  const at = { subject: subjectOf({ resource, name: name || generateName, namespace }), resource }
  if (verb === 'Delete') return { ...at, verb: 'delete', name: { name, namespace }, uid: '', why: 'pruned' }
  const { metadata: _, ...rest } = (content ?? {}) as JsonObject
  const typing = { apiVersion: '', kind: resource.kind }
  const object = { ...typing, ...rest, metadata: { name: name || generateName, namespace } } as unknown as UntypedObject
  if (subresource === 'status') return { ...at, verb: 'status', object }
  return { ...at, verb: 'apply', object, why: 'changed', force: false }
}

interface PlacedMutation {
  readonly resource: Resource
  readonly name: string
  readonly namespace?: string | undefined
}

/** The key of an object, in all maps. */
export function mutationObjectKey({ resource, name, namespace = '' }: PlacedMutation): string {
  return `${formatResource(resource)} ${namespace}/${name}`
}

function subjectOf({ resource, name, namespace }: PlacedMutation): string {
  return `${resource.kind.toLowerCase()} ${namespace === undefined ? name : `${namespace}/${name}`}`
}

export interface SentMutation {
  readonly checked: CheckedMutations
  /** The cached object before the write. */
  readonly before: KubeObject | undefined
  /** Whether its absence is known, because it is an input. */
  readonly isSeen: boolean
  /** The resourceVersion of the program's last write. */
  readonly ours: string | undefined
  readonly outcome: MutationOutcome
}

export function entryOf(sent: SentMutation): LedgerEntry {
  const { checked, before, outcome } = sent
  const { resource, read } = checked
  const { name, generateName, namespace } = read.mutation
  const after = outcome.result === 'done' ? outcome.object : undefined
  const called = { name: name || (after?.metadata.name ?? generateName), namespace }
  const operation = operationOf(sent, after)
  const fields = before && after && operation !== 'unchanged' ? changedFields(before, after) : []
  return {
    step: 'CarryOut',
    subject: subjectOf({ resource, ...called }),
    operation,
    kind: kindText(resource),
    name: called,
    ...(fields.length > 0 && { fields }),
    ...(outcome.result === 'failed' && { message: ledgerText(outcome.error) }),
  }
}

function operationOf(
  { checked, before, isSeen, ours, outcome }: SentMutation,
  after: KubeObject | undefined,
): Operation {
  const { verb, subresource } = checked.read.mutation
  if (outcome.result === 'failed') return 'failed'
  if (isDryRunMutation(checked.read)) return 'unchanged'
  if (verb === 'Delete') return 'deleted'
  const version = after?.metadata.resourceVersion
  if (version !== undefined && (version === before?.metadata.resourceVersion || version === ours)) return 'unchanged'
  if (subresource !== undefined) return subresource === 'status' ? 'statusWritten' : 'acted'
  if (verb === 'Create' || (isSeen && !before)) return 'created'
  // Another version than its last write: a foreign change.
  const isForeign = ours !== undefined && before !== undefined && before.metadata.resourceVersion !== ours
  return isForeign ? 'corrected' : 'updated'
}

function changedFields(before: KubeObject, after: KubeObject): readonly string[] {
  const [one, other] = [before, after].map(shownObject)
  return equalJson(one, other) ? [] : fieldChanges(one, other).map(({ path }) => path)
}

/** Without fields that the API server manages. */
export function shownObject(object: KubeObject): JsonObject {
  const { metadata, apiVersion: _a, kind: _k, ...rest } = object
  const { managedFields: _m, resourceVersion: _r, uid: _u, generation: _g, creationTimestamp: _c, ...meta } = metadata
  return { ...rest, metadata: meta } as unknown as JsonObject
}

export function ledgerText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
