/**
 * What every namespace needs so that pods can run in it: the service account `default`, and the ConfigMap
 * `kube-root-ca.crt` with the API server's CA certificate. This file builds the initial objects; `service-accounts.ts`
 * recreates them.
 */
import { formatTime } from '../../kube/units/duration.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ClusterState } from '../cluster/state.ts'

export const accountTable = 'serviceaccounts'
export const accountName = 'default'
export const configMapTable = 'configmaps'
export const rootCaName = 'kube-root-ca.crt'
export const provisionsManager = 'kube-controller-manager'

/** Creates the objects that a namespace lacks. `rootCa` is the CA certificate in PEM. */
export function provide({ storage, ids, clock }: ClusterState, namespace: string, rootCa: string): void {
  const time = formatTime(clock.now())
  const own = (): object => ({ uid: ids(), creationTimestamp: time })
  if (!storage.table(accountTable).get(namespace, accountName)) {
    storage.put(accountTable, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: accountName, namespace, ...own() },
    })
  }
  if (storage.table(configMapTable).get(namespace, rootCaName)) return
  const { metadata, ...trust } = rootCaConfigMap({ name: rootCaName, namespace }, rootCa)
  const managedFields = [{ ...ownership, time }]
  storage.put(configMapTable, { ...trust, metadata: { ...metadata, ...own(), managedFields } })
}

const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

/** The ConfigMap with the CA certificate. */
export function rootCaConfigMap(metadata: UntypedObject['metadata'], rootCa: string): UntypedObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, annotations: { 'kubernetes.io/description': description } },
    data: { 'ca.crt': rootCa },
  }
}

/**
 * The managedFields of the ConfigMap, written out as an update would compute them: a new cluster need not load that
 * code.
 */
const ownership = {
  manager: provisionsManager,
  operation: 'Update',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: {
    'f:data': { '.': {}, 'f:ca.crt': {} },
    'f:metadata': { 'f:annotations': { '.': {}, 'f:kubernetes.io/description': {} } },
  },
} as const
