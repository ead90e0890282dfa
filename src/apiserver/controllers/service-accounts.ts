/** Recreates the service account and the CA ConfigMap of each namespace when a client deletes or changes them. */
import { updateObject } from '../../kube/apply/apply.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import {
  accountName,
  accountTable,
  provide,
  provisionsManager,
  rootCaName,
  rootCaConfigMap,
  configMapTable,
} from './provisions.ts'
import type { ClusterState } from '../cluster/state.ts'

const retryMs = 5000

/** Starts the controller for all namespaces. `rootCa` is the CA certificate in PEM. */
export function startServiceAccountController(state: ClusterState, rootCa: string): void {
  const { storage } = state
  const namespaces = storage.table('namespaces')
  const due = new Set<string>()
  let isScheduled = false

  const restore = (namespace: string): void => {
    const found = namespaces.get(undefined, namespace)
    if (!found || found.metadata.deletionTimestamp !== undefined) return
    provide(state, namespace, rootCa)
    const live = storage.table(configMapTable).get(namespace, rootCaName)!
    const updated = rootCaConfigMap(live.metadata, rootCa)
    if (equalJson(live['data'] as Json, updated['data'] as Json)) return
    // A ConfigMap consists of maps only, which need no schema.
    const how = { manager: provisionsManager, schema: undefined, definitions: {}, now: state.clock.now() }
    storage.put(configMapTable, updateObject<UntypedObject>({ ...how, live, updated }))
  }

  const enqueue = (namespace: string): void => {
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
    // A write that the journal failed to store is retried when the disk may have room.
    const soon = (one: string): void => (isUndoing ? void state.clock.after(retryMs, () => enqueue(one)) : enqueue(one))
    if (table === 'namespaces' && type !== 'DELETED' && !previous) soon(name)
    if (table === accountTable && name === accountName && type === 'DELETED') soon(namespace ?? '')
    if (table === configMapTable && name === rootCaName && type !== 'ADDED') soon(namespace ?? '')
  })
}
