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
  /** A chart asks about an API version, or lists them all (`anyApi`). @default it is not noted */
  readonly onAsked?: (api: string) => void
}

/** What a cluster has answered. */
export interface ClusterCapabilities {
  readonly kubeVersion: string
  /** Whether it serves `apps/v1`, or `apps/v1/Deployment`. With `anyApi` these are all that it serves. */
  readonly apis: Readonly<Record<string, boolean>>
}

/** The question of a chart that lists the API versions of the cluster. */
export const anyApi = '*'

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

interface CapabilityRecord {
  readonly capabilities: Capabilities
  /** All that the chart asked about, in order. */
  asked(this: void): readonly string[]
  /** Whether it asked about something that the cluster was not asked. */
  isOpen(this: void): boolean
}

/**
 * The capabilities of a cluster. As with lookups, a render is given answers and says what it asked about: what it did not ask
 * about may change in the cluster, and it need not run again. What has no answer is not served.
 */
export function recordCapabilities({ kubeVersion, apis }: ClusterCapabilities): CapabilityRecord {
  const asked = new Set<string>()
  const isAnswered = (api: string): boolean => Object.hasOwn(apis, api) || Object.hasOwn(apis, anyApi)
  return {
    capabilities: {
      kubeVersion: parseKubeVersion(kubeVersion),
      apiVersions: Object.keys(apis).filter((api) => api !== anyApi && apis[api]),
      onAsked: (api) => void asked.add(api),
    },
    asked: () => [...asked].toSorted(),
    isOpen: () => [...asked].some((api) => !isAnswered(api)),
  }
}
