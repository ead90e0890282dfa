/**
 * NamespaceLifecycle: rejects new objects in namespaces that do not exist or are being deleted, and the deletion of the
 * system namespaces.
 */
import { forbidden, notFound } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import { type AdmissionPlugin, type AdmissionRequest, shownName } from '../cluster/admission.ts'

const immortal = new Set(['default', 'kube-system', 'kube-public'])

export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  mutate(state, request) {
    check(state, request)
    return request.object
  },
  validate: check,
  // The namespace may have been removed while a webhook was called: an object stored after that would never be deleted.
  settle: check,
}

function check(state: ClusterState, request: AdmissionRequest): void {
  const { operation, served, namespace, name, subresource } = request
  if (operation === 'DELETE' && served.table === 'namespaces' && immortal.has(name)) {
    throw forbidden(served, name, 'this namespace may not be deleted')
  }
  if (namespace === undefined || !served.namespaced || operation === 'DELETE') return
  // Access reviews store nothing.
  if (served.group === 'authorization.k8s.io') return
  const found = state.storage.table('namespaces').get(undefined, namespace)
  if (!found) throw notFound({ group: '', plural: 'namespaces' }, namespace)
  if (operation !== 'CREATE' || !found.metadata.deletionTimestamp) return
  // Emptying a namespace needs these: pods are evicted, and finalizing controllers need tokens.
  if (subresource === 'eviction' || subresource === 'token') return
  throw forbidden(
    served,
    shownName(request),
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  )
}
