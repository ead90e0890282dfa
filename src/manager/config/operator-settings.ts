/** The section of one operator: its code, isolation, identity, limits and gates. */
import {
  anything,
  boolean,
  type Field,
  type Fields,
  integer,
  list,
  map,
  object,
  oneOf,
  optional,
  string,
} from '../../operator/kind/field.ts'
import { duration, memory, optionalReference, titled } from './setting-fields.ts'

export interface OperatorSettings {
  readonly enabled: boolean
  readonly paused: boolean
  /** `./file.ts#export` or `package#export`. Omitted: it is built in, or given on the command line. */
  readonly from?: string
  /** An external program that implements the operator contract, in any language. Instead of `from`. */
  readonly program?: ProgramSettings
  readonly isolation: 'inline' | 'worker' | 'process'
  /** Runs the operator even where its isolation level cannot be enforced, with a warning. */
  readonly allowUnenforced: boolean
  /** Origins that it may call while isolated. */
  readonly outside: readonly string[]
  /** The account of its requests. */
  readonly identity: IdentitySettings
  /** Omitted: all. */
  readonly namespaces?: readonly string[]
  /**
   * Names in `clusters` or `placement.hosted`, each with an instance of the operator. Omitted: one instance, as in
   * `placement`.
   */
  readonly clusters?: readonly string[]
  readonly gates: GateSettings
  readonly budgets: BudgetSettings
  /** As the operator declares it, with its defaults where the operator is known. */
  readonly config: unknown
  /** The name of another operator, whose `config` counts for this one too. */
  readonly configFrom?: string
}

/** An external program; docs/contract.md describes its protocol. */
export interface ProgramSettings {
  /** `./file` relative to the folder of the configuration, `/file`, or a name in PATH. */
  readonly command: string
  /** Before the arguments of the contract. */
  readonly args: readonly string[]
  /** Its environment, besides PATH. Never shown. */
  readonly env: Readonly<Record<string, string>>
  /** Its working directory, relative to the folder of the configuration. It may read it. */
  readonly folder: string
  /** Further files and folders that it may read. */
  readonly readable: readonly string[]
  /** Limit of each of its processes, and of all together where there is a control group. */
  readonly memory: string
  /** Time limit of one run. */
  readonly timeout: string
  /** Runs it after this time even if nothing has changed. */
  readonly resync: string
  /** Omitted: all. */
  readonly controllers?: readonly string[]
  /** It may reach the user-workload cluster and the origins in `outside`, through a proxy. */
  readonly live: boolean
}

export interface IdentitySettings {
  /** `namespace/name`. Omitted: the manager's own account. */
  readonly serviceAccount?: string
  readonly by: 'impersonation' | 'token'
}

/** When an operator's keys may run. */
export interface GateSettings {
  readonly debounce: string
  readonly debounceMax: string
  readonly coolDown: string
  readonly changesPerMinute: number
  readonly burst: number
  readonly concurrency: number
  readonly ageing: string
}

/** Limits of an operator. */
export interface BudgetSettings {
  readonly memory: string
  /** In mebibytes. 0: no limit. */
  readonly cacheMi: number
  /** 0: no limit of our own. */
  readonly requestsPerMinute: number
  readonly runTimeout: string
}

const gates = {
  debounce: duration('0s', 'How long the input must be quiet before a reconcile.'),
  debounceMax: duration('1s', 'The longest wait after the first change, however busy the input.'),
  coolDown: duration('0s', 'The minimum time between two reconciles of one object.'),
  changesPerMinute: integer({ minimum: 1, default: 6000, description: 'Rate limit: changes per minute.' }),
  burst: integer({ minimum: 1, default: 1000, description: 'Burst of the rate limit.' }),
  concurrency: integer({
    minimum: 1,
    maximum: 1000,
    default: 8,
    description: 'Concurrent reconciles of the operator.',
  }),
  ageing: duration('10s', 'How long a retry waits until it is as urgent as a change, and a resync as a retry.'),
} satisfies Fields

const budgets = {
  memory: memory('256Mi', 'Heap limit, if isolated; beyond that the operator is restarted.'),
  cacheMi: integer({
    minimum: 0,
    default: 0,
    description: 'Mebibytes that may be cached for it; beyond that it is held. 0: no limit.',
  }),
  requestsPerMinute: integer({
    minimum: 0,
    default: 0,
    description: 'Requests per minute; 0: no limit.',
  }),
  runTimeout: duration('5m', 'Time limit of one reconcile, if isolated.'),
} satisfies Fields

const program = {
  command: titled(
    'a file that begins with ./, ../ or /, or a name in PATH',
    string({
      pattern: String.raw`^(\.{0,2}/.+|[^/ ]+)$`,
      maxLength: 4096,
      description: 'The program: a file relative to the folder of the configuration, or a name in PATH.',
    }),
  ),
  args: list(string(), {
    default: [],
    description: 'Arguments before those of the contract. Every user of the machine can read them.',
  }),
  env: map(string({ format: 'password' }), {
    default: {},
    description: 'Its environment, besides PATH. Values are never shown.',
  }),
  folder: string({
    default: '.',
    minLength: 1,
    description:
      'Its working directory, relative to the folder of the configuration; readable if it is another folder.',
  }),
  readable: list(string({ minLength: 1 }), {
    default: [],
    description: 'Further files and folders that it may read, relative to the folder of the configuration.',
  }),
  memory: memory(
    '1Gi',
    'Memory limit of each of its processes, and of all together where control groups can be created.',
  ),
  timeout: duration('30s', 'Time limit of one run; then the program and all its children are killed.'),
  resync: duration('10m', 'Runs it after this time even if no input has changed.'),
  controllers: optional(
    list(string({ pattern: '^[^ ,]+$' }), { description: 'The controllers to run. Omitted: all.' }),
  ),
  live: boolean({
    default: false,
    description: 'Runs it with a kubeconfig for the user-workload cluster, and a proxy to the origins in outside.',
  }),
} satisfies Fields

const identity = {
  serviceAccount: optionalReference('The account of its requests. Omitted: the manager’s own.'),
  by: oneOf(['impersonation', 'token'], {
    default: 'impersonation',
    description: 'By impersonating the account, or with a token that is minted for it.',
  }),
} satisfies Fields

const origin: Field<string> = titled(
  'an origin such as https://app.example.com',
  string({ pattern: '^https?://[^ /?#]+$' }),
)

const operator = {
  enabled: boolean({ default: true, description: 'Whether it runs.' }),
  paused: boolean({
    default: false,
    description: 'It is loaded and its caches are filled, but it does not reconcile.',
  }),
  from: titled(
    'a file that begins with ./, ../ or /, or a package',
    optional(
      string({
        pattern: String.raw`^[^ #]+(#[A-Za-z_$][A-Za-z0-9_$]*)?$`,
        description: 'Its module: ./file.ts or a package, #NAME for one of several exports.',
      }),
    ),
  ),
  program: optional(
    object(program, { description: 'A program that implements the operator contract, instead of from.' }),
  ),
  isolation: oneOf(['inline', 'worker', 'process'], {
    default: 'inline',
    description: 'Where its code runs: in the shared thread, a thread of its own, or a process of its own.',
  }),
  allowUnenforced: boolean({ default: false, description: 'Runs it even where its isolation cannot be enforced.' }),
  outside: list(origin, { default: [], description: 'Origins that it may call while isolated.' }),
  identity: object(identity, { default: {} }),
  namespaces: optional(
    list(string({ minLength: 1, maxLength: 63 }), { description: 'Namespaces that it watches. Omitted: all.' }),
  ),
  clusters: optional(
    list(string({ minLength: 1, maxLength: 63 }), {
      description: 'Clusters that it serves, with one instance each. Omitted: one instance, as in placement.',
    }),
  ),
  gates: object(gates, { default: {} }),
  budgets: object(budgets, { default: {} }),
  config: anything({ default: {}, description: 'The settings that the operator declares.' }),
  configFrom: optional(
    string({
      minLength: 1,
      maxLength: 63,
      description: 'Another operator, whose config counts for this one too, instead of its own.',
    }),
  ),
} satisfies Fields

/** Does not compile when the type and the schema differ. */
export const operatorField: Field<OperatorSettings, unknown> = object(operator)
