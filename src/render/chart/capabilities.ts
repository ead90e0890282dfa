/** What a chart may ask about the cluster: the version of Kubernetes and the API versions that are served. */
import { trimEnd } from '../../kube/text/trim-end.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'

export interface KubeVersion {
  /** As given, with a leading `v`: `v1.33.4-gke.1245000`. */
  readonly version: string
  /** Without suffixes, for comparisons: `v1.33.4`. */
  readonly normalized: string
  readonly major: string
  readonly minor: string
}

export interface Capabilities {
  readonly kubeVersion: KubeVersion
  /** `apps/v1`; from a cluster also `apps/v1/Deployment`. */
  readonly apiVersions: readonly string[]
}

/** @throws InvalidValues */
function parseKubeVersion(text: string): KubeVersion {
  const digits = /^\s*v?([0-9.]+)/.exec(text)?.[1] ?? ''
  const parts = trimEnd(digits, '.').split('.')
  const [major, minor] = parts
  const isValid = parts.every((part) => /^(?:0|[1-9]\d{0,17})$/.test(part))
  if (!isValid || major === undefined || minor === undefined) {
    throw new MusterError(renderErrors.InvalidValues, `"${text}" is no version of Kubernetes: write it like 1.31.`)
  }
  return { version: text.startsWith('v') ? text : `v${text}`, normalized: `v${parts.join('.')}`, major, minor }
}

/** The API versions that Helm assumes where it knows no cluster: those of Kubernetes 1.37. */
const helmApiVersions: readonly string[] = [
  'v1',
  'admissionregistration.k8s.io/v1',
  'admissionregistration.k8s.io/v1alpha1',
  'admissionregistration.k8s.io/v1beta1',
  'internal.apiserver.k8s.io/v1alpha1',
  'apps/v1',
  'apps/v1beta1',
  'apps/v1beta2',
  'authentication.k8s.io/v1',
  'authentication.k8s.io/v1alpha1',
  'authentication.k8s.io/v1beta1',
  'authorization.k8s.io/v1',
  'authorization.k8s.io/v1beta1',
  'autoscaling/v1',
  'autoscaling/v2',
  'batch/v1',
  'batch/v1beta1',
  'certificates.k8s.io/v1',
  'certificates.k8s.io/v1beta1',
  'certificates.k8s.io/v1alpha1',
  'coordination.k8s.io/v1alpha2',
  'coordination.k8s.io/v1beta1',
  'coordination.k8s.io/v1',
  'discovery.k8s.io/v1',
  'discovery.k8s.io/v1beta1',
  'events.k8s.io/v1',
  'events.k8s.io/v1beta1',
  'extensions/v1beta1',
  'flowcontrol.apiserver.k8s.io/v1',
  'flowcontrol.apiserver.k8s.io/v1beta1',
  'flowcontrol.apiserver.k8s.io/v1beta2',
  'flowcontrol.apiserver.k8s.io/v1beta3',
  'lifecycle.k8s.io/v1alpha1',
  'networking.k8s.io/v1',
  'networking.k8s.io/v1beta1',
  'node.k8s.io/v1',
  'node.k8s.io/v1alpha1',
  'node.k8s.io/v1beta1',
  'policy/v1',
  'policy/v1beta1',
  'rbac.authorization.k8s.io/v1',
  'rbac.authorization.k8s.io/v1beta1',
  'rbac.authorization.k8s.io/v1alpha1',
  'resource.k8s.io/v1',
  'resource.k8s.io/v1beta2',
  'resource.k8s.io/v1beta1',
  'resource.k8s.io/v1alpha3',
  'scheduling.k8s.io/v1alpha3',
  'scheduling.k8s.io/v1beta1',
  'scheduling.k8s.io/v1',
  'storage.k8s.io/v1beta1',
  'storage.k8s.io/v1',
  'storage.k8s.io/v1alpha1',
  'storagemigration.k8s.io/v1',
  'storagemigration.k8s.io/v1beta1',
  'apiextensions.k8s.io/v1beta1',
  'apiextensions.k8s.io/v1',
]

/** The capabilities of no particular cluster, with additions. */
export function offlineCapabilities(
  given: { readonly kubeVersion?: string | undefined; readonly apiVersions?: readonly string[] | undefined } = {},
): Capabilities {
  return {
    kubeVersion: parseKubeVersion(given.kubeVersion ?? 'v1.37.0'),
    apiVersions: [...helmApiVersions, ...(given.apiVersions ?? [])],
  }
}
