/**
 * The settings of a manager: one typed structure with a default for every setting, so that it starts without a file.
 * Each operator has a section, with a `config` that the operator declares.
 */
import type { JsonObject } from '../../kube/json.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import {
  boolean,
  type Fields,
  integer,
  list,
  map,
  number,
  object,
  objectSchema,
  oneOf,
  optional,
  type ReadObject,
  string,
} from '../../operator/kind/field.ts'
import { logLevels } from '../logging/log-line.ts'
import { logFormats, type LogSettings } from '../logging/log-writer.ts'
import { operatorField, type OperatorSettings } from './operator-settings.ts'
import { duration, memory, nameField, optionalName, optionalReference, port, reference, url } from './setting-fields.ts'

export interface Settings {
  readonly clientConnection: {
    /** Omitted: KUBECONFIG, ~/.kube/config, or the service account. */
    readonly kubeconfig?: string
    /** Omitted: the current one. */
    readonly context?: string
    /** 0: no client-side limit. */
    readonly qps: number
    readonly burst: number
  }
  /** Clusters besides `local`, which is that of `clientConnection`; by name. */
  readonly clusters: Readonly<Record<string, ClusterSettings>>
  readonly placement: PlacementSettings
  readonly leaderElection: LeaseSettings & {
    readonly leaderElect: boolean
    readonly resourceName: string
    readonly resourceNamespace: string
  }
  readonly sharding: LeaseSettings & {
    readonly enabled: boolean
    readonly group: string
    readonly namespace: string
    readonly weight: number
  }
  readonly metrics: ListenSettings
  readonly health: ListenSettings
  readonly console: ListenSettings
  readonly webhooks: ListenSettings & {
    /** `https://HOST:PORT`. Without this and `service`, webhooks are not served. */
    readonly url?: string
    /** `namespace/name`. */
    readonly service?: string
    readonly servicePort: number
    /** `namespace/name`. */
    readonly secret: string
  }
  readonly tracing: {
    /** Omitted: no tracing. */
    readonly endpoint?: string
    readonly sampleRatio: number
  }
  readonly logging: LogSettings
  readonly watchdog: {
    /** 0: off. */
    readonly blockedFor: string
    /** `namespace/name`. */
    readonly quarantine: string
  }
  readonly tasks: TaskSettings
  /** Concurrent reconciles of all operators. */
  readonly concurrency: number
  readonly paused: boolean
  /** By the operator's name. */
  readonly operators: Readonly<Record<string, OperatorSettings>>
}

/** How to connect to a cluster: by a kubeconfig file, by a kubeconfig in a Secret of `local`, or in-cluster. */
export interface ClusterSettings {
  readonly kubeconfig?: string
  readonly context?: string
  /** `namespace/name`, in the cluster `local`. */
  readonly secret?: string
  readonly secretKey: string
  readonly inCluster: boolean
}

/** The cluster of each role, by name; `local` always exists. */
export interface PlacementSettings {
  readonly configuration: string
  readonly management: string
  readonly userWorkload: string
  /** Hosted clusters: parts of a cluster, under other names. */
  readonly hosted: Readonly<Record<string, HostedSettings>>
}

export interface HostedSettings {
  /** The cluster with its objects. Omitted: that of the role `management`. */
  readonly cluster?: string
  /** The cluster with its nodes. Omitted: that of the role `userWorkload`. */
  readonly userWorkload?: string
  readonly rules: readonly NameRuleSettings[]
  /** Kinds that all hosted clusters share: `plural.group/version`. */
  readonly shared: readonly string[]
}

interface NameRuleSettings {
  readonly operator: string
  readonly cluster: string
  /** `plural.group/version`. Omitted: all. */
  readonly kinds?: readonly string[]
}

export interface LeaseSettings {
  readonly leaseDuration: string
  readonly renewDeadline: string
  readonly retryPeriod: string
}

export interface TaskSettings {
  readonly concurrency: number
  readonly memory: string
  /** Omitted: results are kept in memory only. */
  readonly folder?: string
  readonly folderSize: string
}

export interface ListenSettings {
  readonly address: string
  /** 0: off. */
  readonly port: number
}

/** Of a replica. */
export const leastWeight = 0.01

/** The cluster of `clientConnection`. */
export const localCluster = 'local'

const kubeconfig = optional(
  string({ minLength: 1, description: 'Left out: KUBECONFIG, ~/.kube/config, or the service account.' }),
)
const context = optional(string({ minLength: 1, description: 'Of the kubeconfig. Left out: its current one.' }))

const listen = (where: string, at: number, what: string, said = 'What it listens on.') => ({
  address: string({ default: where, minLength: 1, description: said }),
  port: port(at, what),
})

/** Outside of a Pod, the port would be open to the whole network: it is not, unless an address is set. */
const inPods = 'The address to listen on. Outside of a Pod the default is 127.0.0.1.'

/** See `pod-layer.ts`. */
const ofPods = 'In a Pod, the default namespace is that of the Pod.'

const toAll =
  'The address to listen on. Other than 127.0.0.1, every client in reach can read names and messages of objects.'

const leaseTimes = {
  leaseDuration: duration('15s', 'How long others wait after the last renewal before they take over; whole seconds.'),
  renewDeadline: duration('10s', 'How long a replica keeps trying to renew before it stops working.'),
  retryPeriod: duration('2s', 'The time between two attempts.'),
}

const cluster = {
  kubeconfig,
  context,
  secret: optionalReference('A Secret of the cluster local that contains a kubeconfig.'),
  secretKey: string({ default: 'kubeconfig', minLength: 1, description: 'The key in that Secret.' }),
  inCluster: boolean({ default: false, description: 'The cluster of the Pod that the manager runs in.' }),
} satisfies Fields

const kindName = string({ pattern: '^[^ /]+/[^ /]+$' })

const hosted = {
  cluster: optionalName('The cluster with its objects. Omitted: that of the role management.'),
  userWorkload: optionalName('The cluster with its workloads. Omitted: placement.userWorkload.'),
  rules: list(
    object({
      operator: string({
        minLength: 1,
        description: 'The operator’s name of an object: namespace/name, * once in each part.',
      }),
      cluster: string({ minLength: 1, description: 'The name in the cluster.' }),
      kinds: optional(
        list(kindName, { description: 'Kinds that the rule applies to: plural.group/version. Omitted: all.' }),
      ),
    }),
    { default: [], description: 'Maps the operator’s names to those in the cluster; the first match applies.' },
  ),
  shared: list(kindName, { default: [], description: 'Kinds that all hosted clusters share, read-only.' }),
} satisfies Fields

/** In the order of the generated file. */
const settings = {
  clientConnection: object(
    {
      kubeconfig,
      context,
      qps: integer({ minimum: 0, default: 0, description: 'Requests a second; 0: no client-side limit.' }),
      burst: integer({ minimum: 1, default: 100, description: 'Burst of requests, where qps is set.' }),
    },
    { default: {}, description: 'The cluster local, in which the manager itself runs.' },
  ),
  clusters: map(object(cluster), { default: {}, description: 'More clusters, by name.' }),
  placement: object(
    {
      configuration: nameField(localCluster, 'The cluster with the CRs.'),
      management: nameField(localCluster, 'The cluster with the control-plane components.'),
      userWorkload: nameField(localCluster, 'The cluster with the users’ workloads.'),
      hosted: map(object(hosted), { default: {}, description: 'Hosted clusters, by name: parts of a cluster.' }),
    },
    { default: {}, description: 'The cluster of each role.' },
  ),
  leaderElection: object(
    {
      leaderElect: boolean({ default: false, description: 'Only one replica writes at a time.' }),
      resourceName: string({ default: 'muster', minLength: 1, description: 'The name of the Lease.' }),
      resourceNamespace: nameField('default', `The namespace of the Lease. ${ofPods}`),
      ...leaseTimes,
    },
    { default: {}, description: 'The leader reconciles, the other replicas stand by.' },
  ),
  sharding: object(
    {
      enabled: boolean({ default: false, description: 'Replicas split the operators and clusters among themselves.' }),
      group: nameField('muster', 'Prefix of the Lease names: the same for all replicas.'),
      namespace: nameField('default', `The namespace of the Leases. ${ofPods}`),
      weight: number({
        minimum: leastWeight,
        maximum: 1000,
        default: 1,
        description: 'Twice the weight, twice the share.',
      }),
      ...leaseTimes,
    },
    { default: {}, description: 'Each replica reconciles its share. Not together with leaderElection.' },
  ),
  metrics: object(listen('0.0.0.0', 8080, 'The port for Prometheus metrics.', inPods), { default: {} }),
  health: object(listen('0.0.0.0', 8081, 'The port of /healthz and /readyz.', inPods), { default: {} }),
  console: object(listen('127.0.0.1', 0, 'The port of the console.', toAll), { default: {} }),
  webhooks: object(
    {
      ...listen('0.0.0.0', 9443, 'The port for webhooks of operators.'),
      url: url('https', 'The URL for API servers, instead of a Service.'),
      service: optionalReference('The Service for API servers.'),
      servicePort: integer({ minimum: 1, maximum: 65_535, default: 443, description: 'The port of that Service.' }),
      secret: reference(
        'default/muster-webhook-certificates',
        `The Secret of the certificates; created if missing. ${ofPods}`,
      ),
    },
    { default: {}, description: 'Served if url or service is set.' },
  ),
  tracing: object(
    {
      endpoint: url('https?', 'The collector for traces (OTLP over HTTP). Omitted: no tracing.'),
      sampleRatio: number({
        minimum: 0,
        maximum: 1,
        default: 1,
        description: 'The fraction of reconciles that is traced.',
      }),
    },
    { default: {} },
  ),
  logging: object(
    {
      format: oneOf(logFormats, {
        default: 'json',
        description: 'One JSON object per line, text, or the format of klog.',
      }),
      level: oneOf(logLevels, { default: 'info', description: 'The lowest level that is logged.' }),
    },
    { default: {} },
  ),
  watchdog: object(
    {
      blockedFor: duration(
        '10s',
        'How long an operator may block the shared thread before the process is ended. 0 turns it off.',
      ),
      quarantine: reference(
        'default/muster-quarantine',
        `The ConfigMap of quarantined operators; created when needed. ${ofPods}`,
      ),
    },
    { default: {}, description: 'Protects against operators that block the shared thread for good.' },
  ),
  tasks: object(
    {
      concurrency: integer({
        minimum: 1,
        maximum: 1000,
        default: 4,
        description: 'Concurrent tasks of all operators.',
      }),
      memory: memory('64Mi', 'Results in memory, as JSON; the least recently used are dropped.'),
      folder: optional(
        string({ minLength: 1, description: 'Keeps results across restarts. Omitted: in memory only.' }),
      ),
      folderSize: memory('256Mi', 'Results in the folder; the oldest are removed.'),
    },
    { default: {}, description: 'Slow work of operators, outside of their reconciles.' },
  ),
  concurrency: integer({
    minimum: 1,
    maximum: 10_000,
    default: 16,
    description:
      'Concurrent reconciles of all operators; one that takes over five seconds counts for its own operator only.',
  }),
  paused: boolean({ default: false, description: 'No operator reconciles.' }),
  operators: map(operatorField, { default: {}, description: 'A section for each operator, by its name.' }),
}

export const settingsSchema: JSONSchemaProps = objectSchema(settings)

/** A value that is valid by the schema has the type: this does not compile when only one of the two changes. */
export function asSettings(valid: JsonObject): Settings {
  const read: ReadObject<typeof settings> = valid as unknown as ReadObject<typeof settings>
  return read
}
