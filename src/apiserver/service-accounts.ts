/**
 * What every namespace has so that pods can run in it: the service account `default`, and the certificate by which
 * they know the API server. Whoever removes or changes them gets them back, as by a cluster's controllers.
 */
import { updateObject } from '../kube/apply/apply.ts'
import { formatTime } from '../kube/duration.ts'
import { equalJson, type Json } from '../kube/json.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { ClusterState } from './state.ts'
import type { StoredObject } from './storage.ts'

const retryMs = 5000

const accountTable = 'serviceaccounts'
const configTable = 'configmaps'
const accountName = 'default'
const configName = 'kube-root-ca.crt'
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

/** Starts to provide for all namespaces. `rootCa` is what pods are to trust, in PEM. */
export function keepServiceAccounts(state: ClusterState, rootCa: string): void {
  const { storage } = state
  const namespaces = storage.table('namespaces')
  const due = new Set<string>()
  let isScheduled = false

  const provide = (namespace: string): void => {
    const found = namespaces.get(undefined, namespace)
    if (!found || found.metadata.deletionTimestamp !== undefined) return
    if (!storage.table(accountTable).get(namespace, accountName)) {
      put(state, accountTable, undefined, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: accountName, namespace },
      })
    }
    const live = storage.table(configTable).get(namespace, configName)
    const data = { 'ca.crt': rootCa }
    if (live && equalJson(live['data'] as Json, data)) return
    put(state, configTable, live, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        ...(live?.metadata ?? { name: configName, namespace }),
        annotations: { 'kubernetes.io/description': description },
      },
      data,
    })
  }

  const note = (namespace: string): void => {
    due.add(namespace)
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      const all = [...due]
      due.clear()
      for (const one of all) provide(one)
    })
  }

  storage.onChange(({ name: table }, { type, object, previous, isUndoing }) => {
    const { name, namespace } = object.metadata
    // What could not be kept is tried again when the disk may have room.
    const soon = (one: string): void => (isUndoing ? void state.clock.after(retryMs, () => note(one)) : note(one))
    if (table === 'namespaces' && type !== 'DELETED' && !previous) soon(name)
    if (table === accountTable && name === accountName && type === 'DELETED') soon(namespace ?? '')
    if (table === configTable && name === configName && type !== 'ADDED') soon(namespace ?? '')
  })
}

function put(state: ClusterState, table: string, live: StoredObject | undefined, object: UntypedObject): void {
  const now = state.clock.now()
  const own = live ? {} : { uid: state.ids(), creationTimestamp: formatTime(now) }
  const updated = { ...object, metadata: { ...object.metadata, ...own } }
  // Both kinds are nothing but maps, which need no schema: no table of kinds has to be loaded for a new cluster.
  const options = { manager: 'kube-controller-manager', schema: undefined, definitions: {}, now }
  state.storage.put(table, updateObject<UntypedObject>({ ...options, live, updated }))
}
