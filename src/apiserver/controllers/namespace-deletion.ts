/**
 * Deletion of a namespace: its pods are deleted first, then all other objects, and conditions report what is left. The
 * status of every namespace that is being deleted has five conditions; `False` means that there is no problem.
 */
import { formatTime } from '../../kube/units/duration.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { NamespaceCondition, NamespaceStatus } from '../../kube/types/core/v1.ts'
import { type DeleteRequestOptions, defaultDeleteOptions, removeObject } from '../write/delete.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject, StorageTable } from '../storage/storage.ts'

/** The field manager of the namespace controller. */
export const namespaceManager = 'kube-controller-manager'
const holder = 'kubernetes'
const podTable = 'pods'

/** The objects left in a namespace after its content was deleted. */
interface Remaining {
  readonly remaining: number
  /** Left objects by resource: `configmaps.`, `widgets.example.com`. */
  readonly byResource: ReadonlyMap<string, number>
  readonly byFinalizer: ReadonlyMap<string, number>
}

/** Deletes the pods of a namespace and, when all of them are gone, everything else. */
export function deleteContent(state: ClusterState, namespace: string): Remaining {
  const { storage } = state
  const pods = deleteAll(state, storage.table(podTable), namespace)
  // As on a real cluster, pods that are left are not reported: only what is deleted after them is.
  if (pods.length > 0) return { remaining: pods.length, byResource: new Map(), byFinalizer: new Map() }
  const byResource = new Map<string, number>()
  const byFinalizer = new Map<string, number>()
  let remaining = 0
  for (const table of storage.tables()) {
    const left = deleteAll(state, table, namespace)
    if (left.length === 0) continue
    remaining += left.length
    byResource.set(table.name.includes('.') ? table.name : `${table.name}.`, left.length)
    for (const { metadata } of left)
      for (const one of metadata.finalizers ?? []) byFinalizer.set(one, (byFinalizer.get(one) ?? 0) + 1)
  }
  return { remaining, byResource, byFinalizer }
}

/** Background: objects with foreground or orphan finalizers lose them. */
const deletion: DeleteRequestOptions = { ...defaultDeleteOptions, propagation: 'Background' }

/** Deletes the objects of a table; returns those that finalizers still keep. */
function deleteAll(state: ClusterState, table: StorageTable, namespace: string): readonly StoredObject[] {
  const served = state.catalog.ofTable(table.name)
  if (!served) return []
  return table.objects(namespace).flatMap((object) => {
    const deleted = removeObject(state, served, object, deletion)
    return deleted.isGone ? [] : [deleted.object]
  })
}

/** The namespace with its conditions; the same object if it has them already. */
export function withDeletionConditions(object: StoredObject, content: Remaining, now: number): UntypedObject {
  const status = (object['status'] ?? {}) as Partial<NamespaceStatus>
  const before = status.conditions ?? []
  const desired = deletionConditionsOf(content)
  const own = desired.map((next): NamespaceCondition => {
    const known = before.find(({ type }) => type === next.type)
    const lastTransitionTime = (known?.status === next.status && known.lastTransitionTime) || formatTime(now)
    return { ...next, lastTransitionTime }
  })
  const isSame = own.every((condition) =>
    before.some(
      ({ type, status: value, message, reason }) =>
        type === condition.type &&
        value === condition.status &&
        message === condition.message &&
        reason === condition.reason,
    ),
  )
  if (isSame) return object
  const others = before.filter(({ type }) => !desired.some((next) => next.type === type))
  return { ...object, status: { ...status, conditions: [...others, ...own] } }
}

type DeletionCondition = Pick<NamespaceCondition, 'type' | 'status' | 'reason' | 'message'>

function deletionConditionsOf({ byResource, byFinalizer }: Remaining): readonly DeletionCondition[] {
  const resources = listed(byResource, (name, count) => `${name} has ${count} resource instances`)
  const finalizers = listed(byFinalizer, (name, count) => `${name} in ${count} resource instances`)
  const ok = (type: string, reason: string, message: string): DeletionCondition => ({
    type,
    status: 'False',
    reason,
    message,
  })
  return [
    ok('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    ok(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    ok(
      'NamespaceDeletionContentFailure',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ),
    resources === ''
      ? ok('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed')
      : {
          type: 'NamespaceContentRemaining',
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${resources}`,
        },
    finalizers === ''
      ? ok('NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished')
      : {
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${finalizers}`,
        },
  ]
}

function listed(counts: ReadonlyMap<string, number>, line: (name: string, count: number) => string): string {
  return [...counts]
    .map(([name, count]) => line(name, count))
    .toSorted()
    .join(', ')
}

/** The namespace without `kubernetes` in `spec.finalizers`. Finalizers of other controllers stay. */
export function withoutNamespaceFinalizer(object: StoredObject): UntypedObject {
  const { finalizers = [], ...spec } = (object['spec'] ?? {}) as { readonly finalizers?: readonly string[] }
  const left = finalizers.filter((one) => one !== holder)
  return { ...object, spec: { ...spec, ...(left.length > 0 && { finalizers: left }) } }
}
