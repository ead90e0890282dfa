/** The section `instascale`: nodes for AppWrappers that wait for nodes. The names and defaults are those of InstaScale. */
import { boolean, type Field, integer, object, oneOf, optional, string } from '../../operator/kind/field.ts'

export interface InstascaleSettings {
  /** Omitted: where the platform supports it. */
  readonly enabled?: boolean
  readonly maxScaleoutAllowed: number
  readonly machineSetsStrategy: 'reuse' | 'duplicate'
  /** The Secret with the token for managed pools. */
  readonly ocmSecretRef?: { readonly namespace: string; readonly name: string }
}

export const instascaleField: Field<InstascaleSettings, unknown, 'defaulted'> = object(
  {
    enabled: optional(
      boolean({
        description: 'Nodes are added and removed. Omitted: on OpenShift, and where Cluster API is served.',
      }),
    ),
    maxScaleoutAllowed: integer({
      minimum: 0,
      maximum: 10_000,
      default: 3,
      description: 'Nodes of the whole cluster that may be added for AppWrappers at a time.',
    }),
    machineSetsStrategy: oneOf(['reuse', 'duplicate'], {
      default: 'reuse',
      description: 'MachineSets are scaled, or copied for each AppWrapper.',
    }),
    ocmSecretRef: optional(
      object(
        {
          namespace: string({ minLength: 1, maxLength: 63, description: 'Of the Secret with the token of OCM.' }),
          name: string({ minLength: 1, maxLength: 253, description: 'Of that Secret. Its key is token.' }),
        },
        { description: 'The Secret with the key token: nodes come from managed pools then.' },
      ),
    ),
  },
  { default: {}, description: 'Nodes for AppWrappers that wait for nodes, not for quota.' },
)

/** What of a platform can give nodes. */
interface PlatformSupport {
  readonly isOpenShift: boolean
  /** MachineSets of OpenShift. */
  readonly hasMachineApi: boolean
  /** MachineDeployments. */
  readonly hasClusterApi: boolean
}

/** By the API groups that the cluster serves. */
export function platformOf(groups: Iterable<string>): PlatformSupport {
  const served = new Set(groups)
  return {
    isOpenShift: [...served].some((group) => group.endsWith('.openshift.io')),
    hasMachineApi: served.has('machine.openshift.io'),
    hasClusterApi: served.has('cluster.x-k8s.io'),
  }
}

export function isInstascaleEnabled(
  { enabled }: Pick<InstascaleSettings, 'enabled'>,
  { isOpenShift, hasClusterApi }: PlatformSupport,
): boolean {
  return enabled ?? (isOpenShift || hasClusterApi)
}
