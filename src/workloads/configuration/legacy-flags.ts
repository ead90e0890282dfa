/**
 * The command lines of MCAD, InstaScale and the CodeFlare operator, as tables: which flags there are, which environment variables set
 * their defaults, and which setting each has become. Flags are written as in Go: one dash or two, `--flag value` or `--flag=value`.
 */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { inWorkloads, type SettingOrigin, type SettingsDraft } from './settings-draft.ts'

export type LegacyProgram = 'mcad' | 'instascale' | 'codeflare'

interface LegacyFlag {
  readonly type: 'boolean' | 'integer' | 'string'
  /** The environment variable that it defaults to. */
  readonly variable?: string
  /** What it has become; left out: nothing, for a reason. */
  carry(draft: SettingsDraft, value: string, origin: SettingOrigin): void
}

type Carry = LegacyFlag['carry']

/** A value of the flag's type as this setting. */
function setting(type: LegacyFlag['type'], ...path: readonly string[]): Pick<LegacyFlag, 'type' | 'carry'> {
  return {
    type,
    carry: (draft, value, origin) =>
      draft.set(path, type === 'integer' ? Number(value) : type === 'boolean' ? isTrue(value) : value, origin),
  }
}

const mcad = (type: LegacyFlag['type'], name: string, variable: string): LegacyFlag => ({
  ...setting(type, ...inWorkloads('mcad', name)),
  variable,
})

const address =
  (part: 'metrics' | 'health'): Carry =>
  (draft, value, origin) =>
    draft.setAddress([part], value, origin)

/** Without a counterpart; a value that means "off" is not worth a note. */
const gone =
  (why: string): Carry =>
  (draft, value, origin) => {
    if (value !== '' && value !== 'false') draft.note(origin, why)
  }

const severalClusters = 'one manager serves several clusters otherwise: see clusters and placement'
const oneQuota = 'quota comes from QuotaSubtrees and from queues of Kueue'
const logTo = 'the log goes to standard error; its format is logging.format'

const levels = new Map([
  ['debug', 'debug'],
  ['info', 'info'],
  ['warn', 'warn'],
  ['error', 'error'],
  ['panic', 'error'],
])

const zap: Readonly<Record<string, LegacyFlag>> = {
  'zap-devel': { type: 'boolean', carry: gone('development logs do not differ: see logging.format') },
  'zap-encoder': {
    type: 'string',
    carry: (draft, value, origin) => draft.set(['logging', 'format'], value === 'console' ? 'text' : value, origin),
  },
  'zap-log-level': {
    type: 'string',
    // A number is a verbosity: more than info.
    carry: (draft, value, origin) =>
      draft.set(['logging', 'level'], levels.get(value) ?? (/^\d+$/.test(value) ? 'debug' : value), origin),
  },
  'zap-stacktrace-level': { type: 'string', carry: gone('errors are logged with their cause') },
  'zap-time-encoding': { type: 'string', carry: gone('times are milliseconds, or RFC 3339 in text') },
}

const klog: Readonly<Record<string, LegacyFlag>> = {
  v: {
    type: 'integer',
    carry: (draft, value, origin) => draft.set(['logging', 'level'], Number(value) >= 4 ? 'debug' : 'info', origin),
  },
  logtostderr: { type: 'boolean', carry: () => undefined },
  alsologtostderr: { type: 'boolean', carry: () => undefined },
  stderrthreshold: { type: 'string', carry: gone(logTo) },
  log_dir: { type: 'string', carry: gone(logTo) },
  log_file: { type: 'string', carry: gone(logTo) },
  vmodule: { type: 'string', carry: gone(logTo) },
}

const kubeconfig: LegacyFlag = setting('string', 'clientConnection', 'kubeconfig')

export const legacyFlags: Readonly<Record<LegacyProgram, Readonly<Record<string, LegacyFlag>>>> = {
  mcad: {
    master: { type: 'string', carry: gone('the address of the API server comes from the kubeconfig') },
    kubeconfig,
    scheduler: setting('string', ...inWorkloads('appwrapper', 'schedulerName')),
    dispatcher: { type: 'boolean', variable: 'DISPATCHER_MODE', carry: gone(severalClusters) },
    agentconfigs: { type: 'string', variable: 'DISPATCHER_AGENT_CONFIGS', carry: gone(severalClusters) },
    dynamicpriority: mcad('boolean', 'dynamicPriority', 'DYNAMICPRIORITY'),
    preemption: mcad('boolean', 'preemption', 'PREEMPTION'),
    backofftime: mcad('integer', 'backoffTime', 'BACKOFFTIME'),
    headoflineholdingtime: mcad('integer', 'headOfLineHoldingTime', 'HEADOFLINEHOLDINGTIME'),
    quotaEnabled: mcad('boolean', 'quotaEnabled', 'QUOTA_ENABLED'),
    quotaURL: { type: 'string', variable: 'QUOTA_REST_URL', carry: gone(oneQuota) },
    'secure-port': { type: 'integer', carry: gone('metrics are served over HTTP on metrics.port') },
    healthProbeListenAddr: { type: 'string', carry: address('health') },
    dispatchResourceReservationTimeout: mcad(
      'integer',
      'dispatchResourceReservationTimeout',
      'DISPATCH_RESOURCE_RESERVATION_TIMEOUT',
    ),
    externalDispatch: {
      type: 'boolean',
      variable: 'EXTERNAL_DISPATCH',
      carry: gone('there are no external dispatchers'),
    },
    ...klog,
  },
  instascale: {
    kubeconfig,
    'metrics-bind-address': { type: 'string', carry: address('metrics') },
    'health-probe-bind-address': { type: 'string', carry: address('health') },
    'leader-elect': setting('boolean', 'leaderElection', 'leaderElect'),
    'configmap-namespace': { type: 'string', carry: gone(configMapReason()) },
    'configs-namespace': { type: 'string', carry: gone(configMapReason()) },
    'ocm-secret-namespace': {
      type: 'string',
      carry: (draft, value, origin) =>
        draft.set(inWorkloads('instascale', 'ocmSecretRef'), { namespace: value, name: ocmSecret }, origin),
    },
    ...zap,
  },
  codeflare: { kubeconfig, ...zap },
}

/** The Secret of InstaScale with the token. */
export const ocmSecret = 'instascale-ocm-secret'

function configMapReason(): string {
  return 'the ConfigMap instascale-config is not followed: muster migrate codeflare carries it over'
}

export interface CommandLine {
  readonly program: LegacyProgram
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whose command line it is: `Deployment kube-system/mcad`. @default the flags, or the environment, of the program */
  readonly owner?: string
}

/**
 * `refuse` is called for flags that are unknown, or whose value is not valid. @default it throws
 * @throws UnknownFlag, InvalidFlag
 */
export function readLegacyFlags(
  { program, argv, environment, owner }: CommandLine,
  draft: SettingsDraft,
  refuse: (problem: MusterError) => void = raise,
): void {
  const flags = legacyFlags[program]
  for (const [name, flag] of Object.entries(flags)) {
    const value = flag.variable === undefined ? undefined : environment[flag.variable]
    if (value === undefined || value === '') continue
    const origin = { object: owner ?? `environment of ${program}`, field: flag.variable! }
    if (isValid(flag, value)) flag.carry(draft, value, origin)
    else draft.note(origin, `"${value}" is not ${article(flag.type)}: --${name} keeps its default, as before`)
  }
  for (const [name, value] of readFlags(program, argv, refuse)) {
    const flag = flags[name]!
    if (isValid(flag, value)) flag.carry(draft, value, { object: owner ?? `flags of ${program}`, field: `--${name}` })
    else refuse(new MusterError(flagErrors.InvalidFlag, `--${name} ${value}: it must be ${article(flag.type)}.`))
  }
}

function raise(problem: MusterError): never {
  throw problem
}

function readFlags(
  program: LegacyProgram,
  argv: readonly string[],
  refuse: (problem: MusterError) => void,
): ReadonlyMap<string, string> {
  const flags = legacyFlags[program]
  const values = new Map<string, string>()
  for (let at = 0; at < argv.length; at++) {
    const [, name = '', given] = /^--?([A-Za-z][\w-]*)(?:=([^]*))?$/.exec(argv[at]!) ?? []
    if (!Object.hasOwn(flags, name)) {
      refuse(unknownFlag(program, argv[at]!, name))
      continue
    }
    // As in Go, a flag that is true or false takes its value only after "=".
    if (given !== undefined || flags[name]!.type === 'boolean') values.set(name, given ?? 'true')
    else if (at + 1 < argv.length) values.set(name, argv[++at]!)
    else refuse(new MusterError(flagErrors.InvalidFlag, `--${name} needs a value.`))
  }
  return values
}

function unknownFlag(program: LegacyProgram, word: string, name: string): MusterError {
  if (name === '')
    return new MusterError(flagErrors.InvalidFlag, `"${word}": ${program} takes flags, such as --kubeconfig FILE.`)
  const near = nearest(name, Object.keys(legacyFlags[program]))
  const guess = near === undefined ? '' : ` Did you mean "--${near}"?`
  return new MusterError(flagErrors.UnknownFlag, `${program} has no flag "--${name}".${guess}`)
}

function isValid({ type }: LegacyFlag, value: string): boolean {
  if (type === 'boolean') return /^(?:1|0|t|f|true|false)$/i.test(value)
  return type === 'string' || /^[+-]?\d{1,15}$/.test(value)
}

function isTrue(value: string): boolean {
  return /^(?:1|t|true)$/i.test(value)
}

function article(type: LegacyFlag['type']): string {
  return { boolean: 'true or false', integer: 'an integer', string: 'text' }[type]
}
