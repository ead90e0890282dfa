/** Content lives in namespaces that exist and are not on their way out; and a few namespaces nobody may delete. */
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
  // The namespace may have gone while a webhook was asked: what is stored after that would be in none, for ever.
  settle: check,
}

function check(state: ClusterState, request: AdmissionRequest): void {
  const { operation, served, namespace, name, subresource } = request
  if (operation === 'DELETE' && served.table === 'namespaces' && immortal.has(name)) {
    throw forbidden(served, name, 'this namespace may not be deleted')
  }
  if (namespace === undefined || !served.namespaced || operation === 'DELETE') return
  // Asking who may do what is no content.
  if (served.group === 'authorization.k8s.io') return
  const found = state.storage.table('namespaces').get(undefined, namespace)
  if (!found) throw notFound({ group: '', plural: 'namespaces' }, namespace)
  if (operation !== 'CREATE' || !found.metadata.deletionTimestamp) return
  // What empties a namespace must be let in: pods are evicted, tokens needed.
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
