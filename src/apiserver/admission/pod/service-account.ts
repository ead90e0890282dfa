/**
 * ServiceAccount: every pod runs as a service account, by default `default`, and gets a volume with its token, the
 * cluster's CA certificate and the name of the namespace.
 */
import { generateName } from '../../../kube/meta/name.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Container, Pod, ServiceAccount, Volume } from '../../../kube/types/core/v1.ts'
import { forbidden } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import { type AdmissionPlugin, type AdmissionRequest, shownName } from '../../cluster/admission.ts'

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
const volumePrefix = 'kube-api-access-'
const mirror = 'kubernetes.io/config.mirror'

/** Slightly more than an hour. Kubelets request this for pods, and it marks such a token. */
const tokenSeconds = 3607

export const serviceAccountAdmission: AdmissionPlugin = {
  name: 'ServiceAccount',
  mutate(state, request) {
    const { object } = request
    if (!isNewPod(request) || Object.hasOwn(object.metadata.annotations ?? {}, mirror)) return object
    const account = accountOf(state, request, object)
    return withAccount(object, account, generateName(volumePrefix, state.random))
  },
  validate(state, request) {
    const { object, served, name, namespace } = request
    if (!object || !isNewPod(request)) return
    const { spec } = object as unknown as Pod
    if (Object.hasOwn(object.metadata.annotations ?? {}, mirror)) {
      if (spec?.serviceAccountName) throw forbidden(served, name, 'a mirror pod may not reference service accounts')
      return
    }
    if (!spec?.serviceAccountName) {
      throw forbidden(served, name, `no service account specified for pod ${namespace}/${name}`)
    }
    accountOf(state, request, object)
  },
}

function isNewPod({ served, subresource, operation }: AdmissionRequest): boolean {
  return served.table === 'pods' && subresource === '' && operation === 'CREATE'
}

function accountOf({ storage }: ClusterState, request: AdmissionRequest, pod: UntypedObject): ServiceAccount {
  const { served, namespace } = request
  const account = (pod as unknown as Pod).spec?.serviceAccountName || 'default'
  const found = storage.table('serviceaccounts').get(namespace, account)
  if (found) return found as unknown as ServiceAccount
  const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`
  throw forbidden(served, shownName(request), why)
}

/** The pod with this service account. */
function withAccount(pod: UntypedObject, account: ServiceAccount, volumeName: string): UntypedObject {
  const { spec = { containers: [] } } = pod as unknown as Pod
  const name = account.metadata?.name ?? ''
  const { imagePullSecrets: own = [] } = spec
  const given = account.imagePullSecrets ?? []
  const pulls = own.length === 0 ? given : own
  const owned = {
    ...spec,
    serviceAccountName: name,
    serviceAccount: name,
    ...(pulls.length > 0 && { imagePullSecrets: pulls }),
  }
  const isMounted = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true
  return { ...pod, spec: isMounted ? withToken(owned, volumeName) : owned }
}

function withToken(spec: NonNullable<Pod['spec']>, volumeName: string): NonNullable<Pod['spec']> {
  const { volumes = [], containers, initContainers } = spec
  // A pod copied from another one already has the volume.
  const known = volumes.find((one) => one.name.startsWith(volumePrefix) && isTokenVolume(one))
  const name = known?.name ?? volumeName
  let isNeeded = false
  const mount = (container: Container): Container => {
    const { volumeMounts = [] } = container
    if (volumeMounts.some((one) => one.mountPath === mountPath)) return container
    isNeeded = true
    return { ...container, volumeMounts: [...volumeMounts, { name, readOnly: true, mountPath }] }
  }
  const mounted = {
    ...spec,
    containers: containers.map(mount),
    ...(initContainers && { initContainers: initContainers.map(mount) }),
  }
  return isNeeded && !known ? { ...mounted, volumes: [...volumes, tokenVolume(name)] } : mounted
}

function isTokenVolume({ projected }: Volume): boolean {
  const sources = projected?.sources ?? []
  return ['serviceAccountToken', 'configMap', 'downwardAPI'].every((kind) =>
    sources.some((source) => Object.hasOwn(source, kind)),
  )
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: tokenSeconds } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: 0o644,
    },
  }
}
