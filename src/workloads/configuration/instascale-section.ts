/** The section `instascale`: nodes for AppWrappers that wait for nodes. The names and defaults are those of InstaScale. */
import { boolean, type Field, integer, object, oneOf, optional, string } from '../../operator/kind/field.ts'

/** The name of the operator of nodes, beside the operator of workloads, whose configuration it shares. */
export const scalerName = 'instascale'

export interface SecretReference {
  readonly namespace: string
  readonly name: string
}

export interface InstascaleSettings {
  /** Omitted: where the platform supports it. */
  readonly enabled?: boolean
  readonly maxScaleoutAllowed: number
  readonly machineSetsStrategy: 'reuse' | 'duplicate'
  readonly inference: boolean
  readonly graceSeconds: number
  readonly machineTimeoutSeconds: number
  readonly coolDownSeconds: number
  readonly settleSeconds: number
  /** The Secret with the token for managed pools. */
  readonly ocmSecretRef?: SecretReference
  readonly ocm: { readonly url: string; readonly tokenUrl: string; readonly clusterId?: string }
}

const seconds = (value: number, description: string) =>
  integer({ minimum: 0, maximum: 86_400, default: value, description })

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
    inference: boolean({
      default: true,
      description: 'AppWrappers without the label orderedinstance get nodes that their pods fit.',
    }),
    graceSeconds: seconds(60, 'How long a node that no AppWrapper needs is kept for the next one.'),
    machineTimeoutSeconds: seconds(900, 'How long a machine may take to become a node before the next pool is tried.'),
    coolDownSeconds: seconds(
      300,
      'How long a pool is left alone after a failure, doubled for each in a row, or after a person has scaled it in.',
    ),
    settleSeconds: seconds(30, 'How long the queue may take to use new nodes before more are added.'),
    ocmSecretRef: optional(
      object(
        {
          namespace: string({ minLength: 1, maxLength: 63, description: 'Of the Secret with the token of OCM.' }),
          name: string({ minLength: 1, maxLength: 253, description: 'Of that Secret. Its key is token.' }),
        },
        { description: 'The Secret with the key token: nodes come from managed pools then.' },
      ),
    ),
    ocm: object(
      {
        url: string({ default: 'https://api.openshift.com', maxLength: 500, description: 'The cluster manager.' }),
        tokenUrl: string({
          default: 'https://sso.redhat.com/auth/realms/redhat-external/protocol/openid-connect/token',
          maxLength: 500,
          description: 'Where the token of the Secret is exchanged for one of a few minutes.',
        }),
        clusterId: optional(
          string({
            maxLength: 100,
            description:
              'The id of this cluster at the cluster manager. Omitted: looked up by that of its ClusterVersion.',
          }),
        ),
      },
      { default: {}, description: 'Managed pools over HTTP.' },
    ),
  },
  { default: {}, description: 'Nodes for AppWrappers that wait for nodes, not for quota.' },
)

/** What of a platform can give nodes. */
export interface PlatformSupport {
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
