/** The section of one operator: where it comes from, how far it is trusted, what it may use and when it runs. */
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
} from '../../operator/field.ts'
import { duration, memory, optionalReference, titled } from './setting-fields.ts'

export interface OperatorSettings {
  readonly enabled: boolean
  readonly paused: boolean
  /** `./file.ts#export` or `package#export`. Left out: it is built in, or was given on the command line. */
  readonly from?: string
  /** It is a program that keeps the operator contract: in whatever language. Instead of `from`. */
  readonly program?: ProgramSettings
  readonly isolation: 'inline' | 'worker' | 'process'
  /** Where its level cannot be enforced it runs all the same, and says so. */
  readonly allowUnenforced: boolean
  /** Origins that it may call from where it is isolated. */
  readonly outside: readonly string[]
  /** As whom it writes. */
  readonly identity: IdentitySettings
  /** Left out: everywhere. */
  readonly namespaces?: readonly string[]
  /** Names of `clusters` or of `placement.hosted`, each served apart. Left out: as `placement` says, once. */
  readonly clusters?: readonly string[]
  readonly gates: GateSettings
  readonly budgets: BudgetSettings
  /** As the operator declares it, with its defaults where the operator is known. */
  readonly config: unknown
}

/** A program that is run for an operator; docs/contract.md tells what it has to answer. */
export interface ProgramSettings {
  /** `./file` from the folder of the configuration, `/file`, or a name in PATH. */
  readonly command: string
  /** Before the words of the contract. */
  readonly args: readonly string[]
  /** All that it gets, beside PATH. Never shown. */
  readonly env: Readonly<Record<string, string>>
  /** Where it starts, from the folder of the configuration. It may read a folder that is named here. */
  readonly folder: string
  /** Files and folders that it may read beside those that it is made of. */
  readonly readable: readonly string[]
  /** Of each of its processes, and of all together where there is a control group. */
  readonly memory: string
  /** The longest that one run may take. */
  readonly timeout: string
  /** After so long it is run even if nothing changed. */
  readonly resync: string
  /** Left out: all. */
  readonly controllers?: readonly string[]
  /** It may reach the user-workload cluster and what `outside` lists, by a proxy. */
  readonly live: boolean
}

export interface IdentitySettings {
  /** `namespace/name`. Left out: as the manager itself. */
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

/** The most it may use. */
export interface BudgetSettings {
  readonly memory: string
  /** In mebibytes. 0: whatever it takes. */
  readonly cacheMi: number
  /** 0: as many as the server allows. */
  readonly requestsPerMinute: number
  readonly runTimeout: string
}

const gates = {
  debounce: duration('0s', 'How long the input must be quiet before a run.'),
  debounceMax: duration('1s', 'The longest wait after the first change, however busy the input.'),
  coolDown: duration('0s', 'The least time between two runs for one object.'),
  changesPerMinute: integer({ minimum: 1, default: 6000, description: 'The changes an operator may make a minute.' }),
  burst: integer({ minimum: 1, default: 1000, description: 'The changes that it may save up.' }),
  concurrency: integer({ minimum: 1, maximum: 1000, default: 8, description: 'Runs of the operator at once.' }),
  ageing: duration('10s', 'How long a retry waits until it is as urgent as a change, and a resync as a retry.'),
} satisfies Fields

const budgets = {
  memory: memory('256Mi', 'Of its heap, where it is isolated; beyond that it is ended and started again.'),
  cacheMi: integer({
    minimum: 0,
    default: 0,
    description: 'Mebibytes that may be cached on its behalf; with more it waits. 0 leaves it open.',
  }),
  requestsPerMinute: integer({
    minimum: 0,
    default: 0,
    description: 'Requests it may make a minute; 0 leaves it to the server.',
  }),
  runTimeout: duration('5m', 'The longest that one run may take, where it is isolated.'),
} satisfies Fields

const program = {
  command: titled(
    'a file that begins with ./, ../ or /, or a name in PATH',
    string({
      pattern: String.raw`^(\.{0,2}/.+|[^/ ]+)$`,
      maxLength: 4096,
      description: 'The program: a file from the folder of the configuration, or a name in PATH.',
    }),
  ),
  args: list(string(), {
    default: [],
    description: 'Words before those of the contract. Everybody on the machine can read them.',
  }),
  env: map(string({ format: 'password' }), {
    default: {},
    description: 'Its environment, all of it but PATH. Values are never shown.',
  }),
  folder: string({
    default: '.',
    minLength: 1,
    description: 'Where it starts, from the folder of the configuration. Another folder than that it may read.',
  }),
  readable: list(string({ minLength: 1 }), {
    default: [],
    description:
      'Files and folders that it may read beside the files it is made of, from the folder of the configuration.',
  }),
  memory: memory('1Gi', 'Of each of its processes, and of all together where control groups can be made.'),
  timeout: duration('30s', 'The longest that one run may take; then it is ended with all that it has started.'),
  resync: duration('10m', 'After so long it is run even if nothing that it reads has changed.'),
  controllers: optional(
    list(string({ pattern: '^[^ ,]+$' }), { description: 'Those of its controllers that run. Left out: all.' }),
  ),
  live: boolean({
    default: false,
    description: 'It runs live: with a kubeconfig to the user-workload cluster, and a proxy to what outside lists.',
  }),
} satisfies Fields

const identity = {
  serviceAccount: optionalReference('As whom it writes. Left out: as the manager itself.'),
  by: oneOf(['impersonation', 'token'], {
    default: 'impersonation',
    description: 'How: by impersonating the account, or with a token that is minted for it.',
  }),
} satisfies Fields

const origin: Field<string> = titled(
  'an origin such as https://app.example.com',
  string({ pattern: '^https?://[^ /?#]+$' }),
)

const operator = {
  enabled: boolean({ default: true, description: 'Whether it runs at all.' }),
  paused: boolean({ default: false, description: 'It is loaded and its caches are filled, but nothing runs.' }),
  from: titled(
    'a file that begins with ./, ../ or /, or a package',
    optional(
      string({
        pattern: String.raw`^[^ #]+(#[A-Za-z_$][A-Za-z0-9_$]*)?$`,
        description: 'Where it is loaded from: ./file.ts or a package, #NAME for one of several exports.',
      }),
    ),
  ),
  program: optional(object(program, { description: 'A program that keeps the operator contract, instead of from.' })),
  isolation: oneOf(['inline', 'worker', 'process'], {
    default: 'inline',
    description: 'How far it is trusted: in this thread, in one of its own, in a process of its own.',
  }),
  allowUnenforced: boolean({ default: false, description: 'Run it even where its isolation cannot be enforced.' }),
  outside: list(origin, { default: [], description: 'Origins that it may call from where it is isolated.' }),
  identity: object(identity, { default: {} }),
  namespaces: optional(
    list(string({ minLength: 1, maxLength: 63 }), { description: 'Where it looks. Left out: everywhere.' }),
  ),
  clusters: optional(
    list(string({ minLength: 1, maxLength: 63 }), {
      description: 'Clusters that it serves, each apart. Left out: as placement says, once.',
    }),
  ),
  gates: object(gates, { default: {} }),
  budgets: object(budgets, { default: {} }),
  config: anything({ default: {}, description: 'Its own settings: what it declares.' }),
} satisfies Fields

/** Does not compile when the type and the schema go different ways. */
export const operatorField: Field<OperatorSettings, unknown> = object(operator)
