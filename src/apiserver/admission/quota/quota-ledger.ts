/**
 * The usage of every quota, updated with every change of the storage: a check need not count objects, and never sees
 * stale numbers. The ledger also writes the usage into the quota's status, which is a controller's work in a real
 * cluster.
 */
import { updateObject } from '../../../kube/apply/apply.ts'
import { equalJson, type Json } from '../../../kube/json.ts'
import {
  addQuantities,
  formatQuantity,
  makeQuantity,
  type Quantity,
  subtractQuantities,
} from '../../../kube/units/quantity.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { ResourceQuota } from '../../../kube/types/core/v1.ts'
import { commit } from '../../write/change.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { StorageChange, StoredObject } from '../../storage/storage.ts'
import { type Amounts, quotaCovers, isInScope, tablesOf, usageOf } from './quota-usage.ts'

export const quotaTable = 'resourcequotas'
const zero = makeQuantity(0)

/** Starts to track usage. */
export function trackQuotas(state: ClusterState): void {
  const { storage } = state
  const quotas = storage.table(quotaTable)
  const used = new Map<string, Map<string, Quantity>>()
  const due = new Set<string>()
  let isScheduled = false

  const add = (
    total: Map<string, Quantity>,
    quota: StoredObject,
    table: string,
    object: UntypedObject,
    combine: typeof addQuantities,
  ): void => {
    if (!isInScope(quota, table, object)) return
    for (const [name, amount] of usageOf(table, object)) {
      const known = total.get(name)
      if (known) total.set(name, combine(known, amount))
    }
  }

  const count = (quota: StoredObject): Map<string, Quantity> => {
    const names = limitedBy(quota)
    const total = new Map(names.map((name) => [name, zero]))
    for (const table of new Set(names.flatMap(tablesOf))) {
      for (const object of storage.table(table).objects(quota.metadata.namespace)) {
        add(total, quota, table, object, addQuantities)
      }
    }
    used.set(quota.metadata.uid, total)
    return total
  }

  const enqueue = ({ metadata }: StoredObject): void => {
    due.add(`${metadata.namespace}/${metadata.name}`)
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      const all = [...due]
      due.clear()
      for (const one of all) {
        const [namespace, name = ''] = one.split('/')
        const quota = quotas.get(namespace, name)
        if (quota) writeStatus(state, quota, used.get(quota.metadata.uid) ?? count(quota))
      }
    })
  }

  const onQuota = ({ type, object, previous }: StorageChange): void => {
    if (type === 'DELETED') used.delete(object.metadata.uid)
    else if (!previous || !equalJson(previous['spec'] as Json, object['spec'] as Json)) count(object)
    if (type !== 'DELETED') enqueue(object)
  }

  storage.onChange(({ name: table }, change) => {
    const { object, previous, type } = change
    const { namespace } = object.metadata
    if (quotas.size > 0 && namespace !== undefined) {
      for (const quota of quotas.objects(namespace)) {
        // A new quota counts all objects, itself included.
        if (quota === object && !previous) continue
        if (!limitedBy(quota).some((name) => quotaCovers(name, table))) continue
        const total = used.get(quota.metadata.uid) ?? count(quota)
        if (previous) add(total, quota, table, previous, subtractQuantities)
        if (type !== 'DELETED') add(total, quota, table, object, addQuantities)
        // An undone change means that the journal cannot write now, so the status could not be stored either.
        if (!change.isUndoing) enqueue(quota)
      }
    }
    if (table === quotaTable) onQuota(change)
  })
  state.quotas = { usedOf: (quota) => used.get(quota.metadata.uid) ?? count(quota) }
}

function limitedBy(quota: UntypedObject): readonly string[] {
  return Object.keys((quota as unknown as ResourceQuota).spec?.hard ?? {})
}

function writeStatus(state: ClusterState, quota: StoredObject, used: Amounts): void {
  const served = state.catalog.ofTable(quotaTable)!
  const { hard = {} } = (quota as unknown as ResourceQuota).spec ?? {}
  const shown = Object.fromEntries(
    [...used].filter(([name]) => tablesOf(name).length > 0).map(([name, amount]) => [name, formatQuantity(amount)]),
  )
  const { status = {} } = quota as unknown as ResourceQuota
  if (equalJson({ hard: status.hard ?? {}, used: status.used ?? {} }, { hard, used: shown })) return
  // Empty maps are omitted.
  const isFilled = (amounts: object): boolean => Object.keys(amounts).length > 0
  const next = { ...(isFilled(hard) && { hard }), ...(isFilled(shown) && { used: shown }) }
  const updated = updateObject<UntypedObject>({
    manager: 'kube-controller-manager',
    subresource: 'status',
    schema: served.schema,
    definitions: served.definitions,
    now: state.clock.now(),
    live: quota,
    updated: { ...quota, status: next },
  })
  commit(state, { served, dryRun: false }, quota, updated)
}
