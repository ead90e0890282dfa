/**
 * What every namespace has so that pods can run in it: the service account `default`, and the certificate by which
 * they know the API server. Here is how it looks when it is new; `service-accounts.ts` sees to it that it stays.
 */
import { formatTime } from '../../kube/duration.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ClusterState } from '../cluster/state.ts'

export const accountTable = 'serviceaccounts'
export const accountName = 'default'
export const trustTable = 'configmaps'
export const trustName = 'kube-root-ca.crt'
export const provisionsManager = 'kube-controller-manager'

/** Makes what a namespace does not have yet. `rootCa` is what pods are to trust, in PEM. */
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
  if (storage.table(trustTable).get(namespace, trustName)) return
  const { metadata, ...trust } = trustOf({ name: trustName, namespace }, rootCa)
  const managedFields = [{ ...ownership, time }]
  storage.put(trustTable, { ...trust, metadata: { ...metadata, ...own(), managedFields } })
}

const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

/** The config map that pods read the certificate from. */
export function trustOf(metadata: UntypedObject['metadata'], rootCa: string): UntypedObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, annotations: { 'kubernetes.io/description': description } },
    data: { 'ca.crt': rootCa },
  }
}

/** Who owns what of it, in the words that an update would find: a new cluster need not load what finds them. */
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
