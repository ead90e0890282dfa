/**
 * The settings of a manager: one typed structure, with a default for everything, so that it comes up without any. Each
 * operator has a section there, with a part of its own that it declares itself.
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
} from '../../operator/field.ts'
import { type LogLevel, logLevels } from '../logging/log-line.ts'
import { operatorField, type OperatorSettings } from './operator-settings.ts'
import { duration, nameField, optionalName, optionalReference, port, reference, url } from './setting-fields.ts'

export interface Settings {
  readonly clientConnection: {
    /** Left out: KUBECONFIG, ~/.kube/config, or the service account. */
    readonly kubeconfig?: string
    /** Left out: the current one. */
    readonly context?: string
    /** 0 leaves it to the server. */
    readonly qps: number
    readonly burst: number
  }
  /** Clusters beside `local`, which is that of `clientConnection`; by name. */
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
    /** `https://HOST:PORT`. One of the two, or nobody is asked. */
    readonly url?: string
    /** `namespace/name`. */
    readonly service?: string
    readonly servicePort: number
    /** `namespace/name`. */
    readonly secret: string
  }
  readonly tracing: {
    /** Left out: nothing is traced. */
    readonly endpoint?: string
    readonly sampleRatio: number
  }
  readonly logging: { readonly format: 'json' | 'text'; readonly level: LogLevel }
  readonly watchdog: {
    /** 0: it is off. */
    readonly blockedFor: string
    /** `namespace/name`. */
    readonly quarantine: string
  }
  /** Runs of all operators at once. */
  readonly concurrency: number
  readonly paused: boolean
  /** By the operator's name. */
  readonly operators: Readonly<Record<string, OperatorSettings>>
}

/** How a cluster is reached: by a kubeconfig on this machine, by one in a Secret of `local`, or as the Pod we are in. */
export interface ClusterSettings {
  readonly kubeconfig?: string
  readonly context?: string
  /** `namespace/name`, in the cluster `local`. */
  readonly secret?: string
  readonly secretKey: string
  readonly inCluster: boolean
}

/** Which cluster plays which role, by name; `local` is always there. */
export interface PlacementSettings {
  readonly configuration: string
  readonly management: string
  readonly userWorkload: string
  /** Hosted clusters: parts of one, under other names. */
  readonly hosted: Readonly<Record<string, HostedSettings>>
}

export interface HostedSettings {
  /** Where its objects are. Left out: in the cluster that has the role `management`. */
  readonly cluster?: string
  /** Its own nodes' cluster. Left out: in the role `userWorkload`. */
  readonly userWorkload?: string
  readonly rules: readonly NameRuleSettings[]
  /** Kinds that are the same for all: `plural.group/version`. */
  readonly shared: readonly string[]
}

export interface NameRuleSettings {
  readonly operator: string
  readonly cluster: string
  /** `plural.group/version`. Left out: all. */
  readonly kinds?: readonly string[]
}

export interface LeaseSettings {
  readonly leaseDuration: string
  readonly renewDeadline: string
  readonly retryPeriod: string
}

export interface ListenSettings {
  readonly address: string
  /** 0: it is off. */
  readonly port: number
}

/** Of a replica among others. */
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

/** Where nothing else keeps others away, nobody is let in unless somebody says so. */
const inPods = 'What it listens on. Outside of a Pod, unless it is said: 127.0.0.1.'

const toAll = 'What it listens on. Beyond 127.0.0.1, whoever gets there reads names and messages of objects.'

const leaseTimes = {
  leaseDuration: duration('15s', 'How long one that is not heard of is still believed in; whole seconds.'),
  renewDeadline: duration('10s', 'How long it tries to be heard before it steps back.'),
  retryPeriod: duration('2s', 'How often it is tried.'),
}

const cluster = {
  kubeconfig,
  context,
  secret: optionalReference('A Secret of the cluster local that holds a kubeconfig.'),
  secretKey: string({ default: 'kubeconfig', minLength: 1, description: 'The key of the Secret that holds it.' }),
  inCluster: boolean({ default: false, description: 'The cluster of the Pod that the manager is in.' }),
} satisfies Fields

const kindName = string({ pattern: '^[^ /]+/[^ /]+$' })

const hosted = {
  cluster: optionalName('Where its objects are. Left out: the cluster that has the role management.'),
  userWorkload: optionalName('Where its workloads run. Left out: as placement.userWorkload says.'),
  rules: list(
    object({
      operator: string({ minLength: 1, description: 'As the operator knows it: namespace/name, * once in each part.' }),
      cluster: string({ minLength: 1, description: 'The same in the cluster.' }),
      kinds: optional(list(kindName, { description: 'Kinds that it is for: plural.group/version. Left out: all.' })),
    }),
    { default: [], description: 'From the names that operators know to those in the cluster; the first that fits.' },
  ),
  shared: list(kindName, { default: [], description: 'Kinds that are the same for all, read by everybody.' }),
} satisfies Fields

/** The order is that of the file that is written where there is none. */
const settings = {
  clientConnection: object(
    {
      kubeconfig,
      context,
      qps: integer({ minimum: 0, default: 0, description: 'Requests a second; 0 leaves it to the server.' }),
      burst: integer({ minimum: 1, default: 100, description: 'Requests that may come at once, where qps is set.' }),
    },
    { default: {}, description: 'The cluster local: where the manager itself is at home.' },
  ),
  clusters: map(object(cluster), { default: {}, description: 'More clusters, by name.' }),
  placement: object(
    {
      configuration: nameField(localCluster, 'Where what people ask for is: the CRs.'),
      management: nameField(localCluster, 'Where what runs the system itself is.'),
      userWorkload: nameField(localCluster, 'Where what runs among the users’ workloads is.'),
      hosted: map(object(hosted), { default: {}, description: 'Hosted clusters, by name: parts of one.' }),
    },
    { default: {}, description: 'Which cluster plays which role.' },
  ),
  leaderElection: object(
    {
      leaderElect: boolean({ default: false, description: 'Only one replica writes at a time.' }),
      resourceName: string({ default: 'muster', minLength: 1, description: 'The name of the Lease.' }),
      resourceNamespace: nameField('default', 'The namespace of the Lease.'),
      ...leaseTimes,
    },
    { default: {}, description: 'One replica works, the others stand by.' },
  ),
  sharding: object(
    {
      enabled: boolean({ default: false, description: 'Replicas split the operators and clusters among themselves.' }),
      group: nameField('muster', 'What the names of their Leases begin with: the same for all replicas.'),
      namespace: nameField('default', 'Where the Leases are.'),
      weight: number({
        minimum: leastWeight,
        maximum: 1000,
        default: 1,
        description: 'Twice the weight, twice the share.',
      }),
      ...leaseTimes,
    },
    { default: {}, description: 'All replicas work, each its share. Not together with leaderElection.' },
  ),
  metrics: object(listen('0.0.0.0', 8080, 'Where Prometheus asks.', inPods), { default: {} }),
  health: object(listen('0.0.0.0', 8081, 'Where /healthz and /readyz are answered.', inPods), { default: {} }),
  console: object(listen('127.0.0.1', 0, 'Where the console is served.', toAll), { default: {} }),
  webhooks: object(
    {
      ...listen('0.0.0.0', 9443, 'Where webhooks of operators are served.'),
      url: url('https', 'Where API servers find them, if not by a Service.'),
      service: optionalReference('The Service by which API servers find them.'),
      servicePort: integer({ minimum: 1, maximum: 65_535, default: 443, description: 'The port of that Service.' }),
      secret: reference('default/muster-webhook-certificates', 'Holds the certificates; made when missing.'),
    },
    { default: {}, description: 'Served when url or service says where.' },
  ),
  tracing: object(
    {
      endpoint: url('https?', 'Where traces are sent (OTLP over HTTP). Left out: nowhere.'),
      sampleRatio: number({ minimum: 0, maximum: 1, default: 1, description: 'The part of the runs that is traced.' }),
    },
    { default: {} },
  ),
  logging: object(
    {
      format: oneOf(['json', 'text'], { default: 'json', description: 'One JSON object a line, or words.' }),
      level: oneOf(logLevels, { default: 'info', description: 'The least that is told.' }),
    },
    { default: {} },
  ),
  watchdog: object(
    {
      blockedFor: duration(
        '10s',
        'How long an operator may keep the thread of all before the process is ended. 0 turns it off.',
      ),
      quarantine: reference(
        'default/muster-quarantine',
        'The ConfigMap that says who must run apart; made when needed.',
      ),
    },
    { default: {}, description: 'Against operators that never give the thread back.' },
  ),
  concurrency: integer({
    minimum: 1,
    maximum: 10_000,
    default: 16,
    description: 'Runs of all operators at once; one that lasts over five seconds counts for its own operator alone.',
  }),
  paused: boolean({ default: false, description: 'Nothing runs, whatever happens.' }),
  operators: map(operatorField, { default: {}, description: 'A section for each operator, by its name.' }),
}

export const settingsSchema: JSONSchemaProps = objectSchema(settings)

/** What is in order by the schema has the type: this does not compile when one of the two is changed alone. */
export function asSettings(valid: JsonObject): Settings {
  const read: ReadObject<typeof settings> = valid as unknown as ReadObject<typeof settings>
  return read
}
