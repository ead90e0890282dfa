/** Namespaces keep their provisions: whoever removes or changes them gets them back, as by a cluster's controllers. */
import { updateObject } from '../../kube/apply/apply.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { accountName, accountTable, provide, provisionsManager, trustName, trustOf, trustTable } from './provisions.ts'
import type { ClusterState } from '../cluster/state.ts'

const retryMs = 5000

/** Starts to provide for all namespaces. `rootCa` is what pods are to trust, in PEM. */
export function keepServiceAccounts(state: ClusterState, rootCa: string): void {
  const { storage } = state
  const namespaces = storage.table('namespaces')
  const due = new Set<string>()
  let isScheduled = false

  const restore = (namespace: string): void => {
    const found = namespaces.get(undefined, namespace)
    if (!found || found.metadata.deletionTimestamp !== undefined) return
    provide(state, namespace, rootCa)
    const live = storage.table(trustTable).get(namespace, trustName)!
    const updated = trustOf(live.metadata, rootCa)
    if (equalJson(live['data'] as Json, updated['data'] as Json)) return
    // It is nothing but maps, which need no schema.
    const how = { manager: provisionsManager, schema: undefined, definitions: {}, now: state.clock.now() }
    storage.put(trustTable, updateObject<UntypedObject>({ ...how, live, updated }))
  }

  const note = (namespace: string): void => {
    due.add(namespace)
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      const all = [...due]
      due.clear()
      for (const one of all) restore(one)
    })
  }

  storage.onChange(({ name: table }, { type, object, previous, isUndoing }) => {
    const { name, namespace } = object.metadata
    // What could not be kept is tried again when the disk may have room.
    const soon = (one: string): void => (isUndoing ? void state.clock.after(retryMs, () => note(one)) : note(one))
    if (table === 'namespaces' && type !== 'DELETED' && !previous) soon(name)
    if (table === accountTable && name === accountName && type === 'DELETED') soon(namespace ?? '')
    if (table === trustTable && name === trustName && type !== 'ADDED') soon(namespace ?? '')
  })
}
