/**
 * The settings of a manager: one typed structure, with a default for everything, so that it comes up without any. Each
 * operator has a section there, with a part of its own that it declares itself.
 */
import type { JsonObject } from '../../kube/json.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import {
  anything,
  boolean,
  type Field,
  integer,
  list,
  map,
  object,
  objectSchema,
  oneOf,
  optional,
  type ReadObject,
  string,
} from '../../operator/field.ts'

export interface Settings {
  readonly clientConnection: {
    /** Left out: KUBECONFIG, ~/.kube/config, or the service account. */
    readonly kubeconfig?: string
    readonly qps: number
    readonly burst: number
  }
  readonly leaderElection: {
    readonly leaderElect: boolean
    readonly resourceName: string
    readonly resourceNamespace: string
    readonly leaseDuration: string
    readonly renewDeadline: string
    readonly retryPeriod: string
  }
  readonly metrics: { readonly port: number }
  readonly health: { readonly port: number }
  readonly console: { readonly port: number }
  /** Runs of all operators at once. */
  readonly concurrency: number
  readonly paused: boolean
  /** By the operator's name. */
  readonly operators: Readonly<Record<string, OperatorSettings>>
}

export interface OperatorSettings {
  readonly enabled: boolean
  readonly paused: boolean
  readonly isolation: 'inline' | 'worker' | 'process'
  /** Left out: everywhere. */
  readonly namespaces?: readonly string[]
  readonly gates: GateSettings
  /** As the operator declares it. */
  readonly config: unknown
}

/** When an operator's keys may run. */
export interface GateSettings {
  readonly debounce: string
  readonly debounceMax: string
  readonly coolDown: string
  readonly changesPerMinute: number
  readonly burst: number
  readonly concurrency: number
}

type Defaulted<T> = Field<T, T, 'defaulted'>

const port = (value: number, what: string): Defaulted<number> =>
  integer({ minimum: 0, maximum: 65_535, default: value, description: `${what} 0 turns it off.` })

const duration = (value: string, description: string): Defaulted<string> =>
  string({ default: value, pattern: String.raw`^(0|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$`, description })

const gates = {
  debounce: duration('0s', 'How long the input must be quiet before a run.'),
  debounceMax: duration('1s', 'The longest wait after the first change, however busy the input.'),
  coolDown: duration('0s', 'The least time between two runs for one object.'),
  changesPerMinute: integer({ minimum: 1, default: 6000, description: 'The changes an operator may make a minute.' }),
  burst: integer({ minimum: 1, default: 1000, description: 'The changes that it may save up.' }),
  concurrency: integer({ minimum: 1, maximum: 1000, default: 8, description: 'Runs of the operator at once.' }),
}

const operator = {
  enabled: boolean({ default: true, description: 'Whether it runs at all.' }),
  paused: boolean({ default: false, description: 'It is loaded and its caches are filled, but nothing runs.' }),
  isolation: oneOf(['inline', 'worker', 'process'], {
    default: 'inline',
    description: 'How far it is trusted: in this thread, in one of its own, in a process of its own.',
  }),
  namespaces: optional(list(string(), { description: 'Where it looks. Left out: everywhere.' })),
  gates: object(gates, { default: {} }),
  config: anything({ default: {}, description: 'Its own settings: what it declares.' }),
}

const settings = {
  clientConnection: object(
    {
      kubeconfig: optional(string({ description: 'Left out: KUBECONFIG, ~/.kube/config, or the service account.' })),
      qps: integer({ minimum: 0, default: 0, description: 'Requests a second; 0 leaves it to the server.' }),
      burst: integer({ minimum: 1, default: 100, description: 'Requests that may come at once, where qps is set.' }),
    },
    { default: {} },
  ),
  leaderElection: object(
    {
      leaderElect: boolean({ default: false, description: 'Only one replica writes at a time.' }),
      resourceName: string({ default: 'muster', minLength: 1, description: 'The name of the Lease.' }),
      resourceNamespace: string({ default: 'default', minLength: 1, description: 'The namespace of the Lease.' }),
      leaseDuration: duration('15s', 'How long a leader that is not heard of is still believed in.'),
      renewDeadline: duration('10s', 'How long a leader tries to be heard before it steps back.'),
      retryPeriod: duration('2s', 'How often it is tried.'),
    },
    { default: {} },
  ),
  metrics: object({ port: port(8080, 'Where Prometheus asks.') }, { default: {} }),
  health: object({ port: port(8081, 'Where /healthz and /readyz are answered.') }, { default: {} }),
  console: object({ port: port(0, 'Where the console is served.') }, { default: {} }),
  concurrency: integer({ minimum: 1, maximum: 10_000, default: 16, description: 'Runs of all operators at once.' }),
  paused: boolean({ default: false, description: 'Nothing runs, whatever happens.' }),
  operators: map(object(operator), { default: {} }),
}

export const settingsSchema: JSONSchemaProps = objectSchema(settings)

/** What is in order by the schema has the type: this does not compile when one of the two is changed alone. */
export function asSettings(valid: JsonObject): Settings {
  const read: ReadObject<typeof settings> = valid as unknown as ReadObject<typeof settings>
  return read
}
