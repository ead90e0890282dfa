/**
 * The scorecard: the golden rules of operators, checked by behaviour. Each rule has test clusters of its own, so that
 * rules are independent, and returns its evidence.
 */
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type Live, originOf } from '../../operator/live.ts'
import type { Operator } from '../../operator/operator.ts'
import type { SimulatedWorld } from '../environment/world.ts'
import { access, refusalsIn } from './access.ts'
import {
  type Examination,
  type RuleFinding,
  openExamination,
  type Result,
  type Rule,
  Unexamined,
} from './examination.ts'
import type { LoadOperator } from './scorecard-cluster.ts'
import { finalizes, follows } from './cr-changes.ts'
import { drift, foreign } from './ownership.ts'
import { schema, status } from './reporting.ts'
import { samplesOf } from './sample.ts'
import { crash, idempotent, quiet, restart } from './stability.ts'

/** In the order of the report. The last rule evaluates the requests of all others. */
export const rules: readonly Rule[] = [
  schema,
  status,
  idempotent,
  quiet,
  drift,
  foreign,
  follows,
  finalizes,
  restart,
  crash,
  access,
]

interface ScorecardOptions {
  /** Loads the operator anew: a restart must find an empty memory. */
  readonly load: LoadOperator
  /** The CRs and the objects that they need. @default one CR of each kind, made from its schema */
  readonly sample?: readonly UntypedObject[] | undefined
  /** Simulates scheduler, kubelets and workload controllers. @default true */
  readonly workloads?: boolean
  /** The simulated outside. @default none: no container runs, and the network is not used */
  readonly live?: ((world: SimulatedWorld) => Live) | undefined
  /** How long the operator is observed at rest, in virtual time. @default a day */
  readonly restMs?: number
  /** Called after each rule. */
  readonly onLine?: (line: ScorecardLine) => void
}

export interface ScorecardLine extends RuleFinding {
  readonly rule: string
  readonly asks: string
}

export interface Scorecard {
  readonly operator: string
  readonly lines: readonly ScorecardLine[]
  readonly level: CapabilityLevel
  /** No rule failed. */
  readonly passed: boolean
  /** The number of calls outside that had no answer. */
  readonly unanswered: number
}

/** The reason to skip a rule that an operator breaks while it waits for its application. */
export const noAnswer = 'cannot be told, since no application answers here'

const dayMs = 24 * 3600_000

/** @throws NoSample */
export async function scorecard(options: ScorecardOptions): Promise<Scorecard> {
  const { load, workloads = true, restMs = dayMs, onLine = () => undefined } = options
  const operator = await load()
  let unanswered = 0
  const live = options.live ?? (() => silence(() => unanswered++))
  const examination = await openExamination({
    load,
    workloads,
    live,
    restMs,
    sample: options.sample ?? samplesOf(operator),
  })
  const hasApplication = operator.controllers.some(({ options: { application } }) => application !== undefined)
  const obstacle = await blockingRule(examination)
  const lines: ScorecardLine[] = []
  for (const rule of rules) {
    const { name, asks } = rule
    const isMoot = obstacle !== undefined && rule !== obstacle && rule !== schema && rule !== access
    const before = unanswered
    const found = isMoot ? skipped(`nothing can be told: see ${obstacle.name}`) : await run(rule, examination)
    // An operator may rightly wait for an application that is not simulated.
    const waits = !options.live && (unanswered > before || hasApplication)
    const isUntold = found.result === 'failed' && waits && rule !== access
    const finding = isUntold ? skipped(`${noAnswer}: ${found.evidence}`) : found
    const line = { rule: name, asks, ...finding }
    lines.push(line)
    onLine(line)
  }
  const hasTold = examination.requests.some(({ method, resource }) => method !== 'GET' && resource?.plural === 'events')
  return {
    operator: operator.name,
    lines,
    level: levelOf(operator, lines, hasTold),
    passed: lines.every(({ result }) => result !== 'failed'),
    unanswered,
  }
}

function silence(onCall: () => void): Live {
  const refuse = (error: MusterError): Promise<never> => {
    onCall()
    return Promise.reject(error)
  }
  return {
    available: true,
    exec: (pod) =>
      refuse(new MusterError(clientErrors.ExecFailed, `Pod ${pod.name}: no container runs in an examination.`)),
    http: ({ url }) =>
      refuse(new MusterError(clientErrors.Unreachable, `${originOf(url)}: there is no network in an examination.`)),
  }
}

/** The failure that makes other rules meaningless: missing rights, or never at rest. */
async function blockingRule(examination: Examination): Promise<Rule | undefined> {
  const cluster = await examination.fresh()
  try {
    await cluster.begin()
    if (!(await cluster.rest())) return quiet
  } finally {
    await examination.closeAll()
  }
  return refusalsIn(examination.requests).length > 0 ? access : undefined
}

async function run(rule: Rule, examination: Examination): Promise<RuleFinding> {
  try {
    return await rule.run(examination)
  } catch (error) {
    if (error instanceof Unexamined) return skipped(error.message)
    throw error
  } finally {
    await examination.closeAll()
  }
}

function skipped(evidence: string): RuleFinding {
  return { result: 'skipped', evidence }
}

interface CapabilityLevel {
  /** 0: below level I. */
  readonly level: 0 | 1 | 2 | 3
  readonly name: string
  /** What is missing for the next level. */
  readonly next: string
}

const names = ['none', 'I: basic install', 'II: seamless upgrades', 'III: full life cycle'] as const

/** The rules for each level, in addition to those of the levels below. */
const shownBy: readonly (readonly Rule[])[] = [
  [schema, status, idempotent, quiet, restart, access],
  [follows, drift, foreign, crash, finalizes],
]

/**
 * The capability level, as far as behaviour can show it. Level III requires backup, restore and failover, of which only
 * a declared life cycle is visible; levels IV (metrics, alerts, dashboards) and V (tuning) are not visible, and never
 * claimed.
 */
function levelOf(operator: Operator, lines: readonly ScorecardLine[], hasTold: boolean): CapabilityLevel {
  const good: ReadonlySet<Result> = new Set(['passed', 'warned'])
  const resultOf = new Map(lines.map(({ rule, result }) => [rule, result]))
  for (const [index, needed] of shownBy.entries()) {
    const lacking = needed.filter(({ name }) => !good.has(resultOf.get(name) ?? 'failed'))
    if (lacking.length > 0) {
      const isUntold = lacking.every(({ name }) => resultOf.get(name) === 'skipped')
      return {
        level: index as 0 | 1,
        name: isUntold && index === 0 ? 'unknown' : names[index]!,
        next: `${isUntold ? 'not examined' : 'lacks'}: ${lacking.map(({ name }) => name).join(', ')}`,
      }
    }
  }
  if (!operator.controllers.some(({ options }) => options.application)) {
    return {
      level: 2,
      name: names[2],
      next: 'no life cycle is declared, and backup, restore or fail-over are not seen',
    }
  }
  const events = hasTold ? 'Events are told, but' : 'no Events are told, and'
  return { level: 3, name: names[3], next: `${events} metrics, alerts and dashboards cannot be seen by a run` }
}
