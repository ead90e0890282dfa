/**
 * The defaults of a manager in a Pod: its Lease, its quarantine record and its webhook certificates are in the Pod's
 * own namespace, under the name of its installation. So the same configuration works in any namespace, and two
 * installations in one cluster do not share objects by mistake.
 */
import type { Layer } from './layer.ts'

/** The Pod that a manager runs in. */
export interface PodPlace {
  /** Of the Pod and its service account. */
  readonly namespace: string
  /**
   * The name of the objects that were installed with the manager, from the variable {@link installationVariable}.
   * Undefined: the Pod was made otherwise, and has no webhook Service that we know of.
   */
  readonly installation?: string
  /** The Pod itself, from the variables POD_NAME and POD_UID. */
  readonly pod?: { readonly name: string; readonly uid: string }
}

/** The environment variable with the name of the installation: manifests that `muster generate deploy` writes set it. */
export const installationVariable = 'MUSTER_INSTALLATION'

const usualName = 'muster'

/** The names of the objects of an installation. */
interface InstallationNames {
  /** The Deployment, the ConfigMap of the configuration, the Lease and the service account. */
  readonly own: string
  readonly quarantine: string
  /** The Secret of the webhook certificates. */
  readonly certificates: string
  /** The Service of the webhooks. */
  readonly webhooks: string
}

export function installationNames(name: string): InstallationNames {
  return {
    own: name,
    quarantine: `${name}-quarantine`,
    certificates: `${name}-webhook-certificates`,
    webhooks: `${name}-webhooks`,
  }
}

export function podLayer({ namespace, installation }: PodPlace): Layer {
  const names = installationNames(installation ?? usualName)
  const isInstalled = installation !== undefined
  return {
    source: `Pod in ${namespace}`,
    value: {
      leaderElection: { resourceNamespace: namespace, ...(isInstalled && { resourceName: names.own }) },
      sharding: { namespace, ...(isInstalled && { group: names.own }) },
      watchdog: { quarantine: `${namespace}/${names.quarantine}` },
      webhooks: {
        secret: `${namespace}/${names.certificates}`,
        ...(isInstalled && { service: `${namespace}/${names.webhooks}` }),
      },
    },
  }
}

/** The ConfigMap that an installed manager follows if no other configuration is given. */
export function installedConfigMap({ namespace, installation }: PodPlace): string | undefined {
  return installation === undefined ? undefined : `${namespace}/${installationNames(installation).own}`
}
