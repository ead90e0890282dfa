/**
 * The activity of a manager: what each operator did recently and what it costs, collected as it happens and reported as
 * one {@link ManagerReport}. Its size per operator is bounded. The owner of the manager connects it (`onLedger`,
 * `onFinding`, `observer`) and samples it regularly: the cost of memory grows with time.
 */
import type { InformerReport } from '../../cache/shared-cache.ts'
import type { Clock } from '../../clock/clock.ts'
import { cutText } from '../../kube/text/hidden-text.ts'
import { formatResource } from '../../kube/kind.ts'
import type { Controller } from '../../operator/controller.ts'
import type { Operator } from '../../operator/operator.ts'
import { doneIn, type Ledger, outcomeOf } from '../../operator/ledger.ts'
import {
  addEvents,
  addReconcile,
  type Cost,
  noCost,
  noProcessCost,
  type ProcessUsage,
  sampleMemory,
  sampleProcess,
} from './cost.ts'
import { describeFinding, describeObject, type Finding } from '../findings/finding.ts'
import type { HealthReport } from './health.ts'
import type {
  ControllerSummary,
  RunSummary,
  InformerSummary,
  FindingSummary,
  LeaseReport,
  ConfigurationReport,
  AssignmentReport,
  ManagerReport,
  CoLocatedWorkload,
  OperatorReport,
  OperatorState,
} from './report.ts'
import type { LaneObserver, LaneState } from '../schedule/lane.ts'

export interface Activity extends LaneObserver {
  /** A reconcile has ended. `as`: the operator's name in this manager. @default its own name */
  note(ledger: Ledger, as?: string): void
  find(finding: Finding, as?: string): void
  /** Samples caches and process usage; a few times a minute is enough. */
  sample(input: ActivityInput): void
  /** Takes a sample as well. */
  report(input: ActivityInput): ManagerReport
}

/** State that cannot be collected from callbacks. */
export interface ActivityInput {
  readonly lanes: ReadonlyMap<string, LaneState>
  /** The operators of the lanes. @default unknown: the report names no controllers */
  readonly operators?: ReadonlyMap<string, Pick<Operator, 'controllers'>>
  /** Of all clusters. */
  readonly informers: readonly InformerReport[]
  /** Of the cluster of one operator, where there are several. @default all */
  readonly informersOf?: (lane: string) => readonly InformerReport[]
  /** `processUsage()` of `process-usage.ts`; without it, the process costs nothing. */
  readonly usage?: ProcessUsage
  readonly health?: HealthReport
  readonly leases?: readonly LeaseReport[]
  readonly assignments?: readonly AssignmentReport[]
  readonly configuration?: ConfigurationReport | undefined
  readonly replica?: string
  /** What else runs in this process: `an embedded cluster`. */
  readonly coLocated?: CoLocatedWorkload
}

interface Kept {
  cost: Cost
  recentRuns: readonly RunSummary[]
  findings: readonly FindingSummary[]
  found: number
  /** CRs whose last reconcile failed, and until when that is reported. */
  readonly failing: Map<string, number>
}

const mostRecentRuns = 20
const mostFindings = 20
const mostWords = 300
/** Longest message of a finding. */
const mostEvidence = 1000
const mostFields = 20
const mostFailing = 1000
/**
 * The deletion of a CR is not reported here: a failure that does not repeat within this time after its retry was due is
 * dropped.
 */
const forgetMs = 600_000

export function createActivity({ clock }: { readonly clock: Clock }): Activity {
  const since = clock.now()
  const operators = new Map<string, Kept>()
  let processCost = noProcessCost(since)

  const of = (name: string): Kept => {
    const known = operators.get(name)
    if (known) return known
    const made: Kept = { cost: noCost(clock.now()), recentRuns: [], findings: [], found: 0, failing: new Map() }
    operators.set(name, made)
    return made
  }

  const sample = ({ lanes, informers, informersOf = () => informers, usage }: ActivityInput): void => {
    const now = clock.now()
    for (const name of lanes.keys()) {
      const kept = of(name)
      // An operator that serves several clusters is called `memcached@west` here; caches know it by its own name.
      kept.cost = sampleMemory(kept.cost, informersOf(name), name.split('@', 1)[0]!, now)
    }
    const watches = informers.reduce((sum, informer) => sum + informer.watches, 0)
    processCost = sampleProcess(processCost, usage, watches, now)
  }

  return {
    note(ledger, as = ledger.operator) {
      const kept = of(as)
      kept.cost = addReconcile(kept.cost, ledger)
      // A conflict is no failure worth reporting: the reconcile is retried.
      if (ledger.failure?.retry === 'conflict') return
      const now = clock.now()
      const { key, failure, requeueAfterMs = 0 } = ledger
      kept.failing.delete(key)
      if (failure && kept.failing.size < mostFailing) kept.failing.set(key, now + requeueAfterMs + forgetMs)
      const run = runSummaryOf(ledger, now)
      if (run) kept.recentRuns = remember(kept.recentRuns, run)
    },
    find(finding, as = finding.operator) {
      const kept = of(as)
      kept.found++
      kept.findings = [findingSummary(finding), ...kept.findings].slice(0, mostFindings)
    },
    added(lane, cause) {
      if (cause !== 'change') return
      const kept = of(lane)
      kept.cost = addEvents(kept.cost, 1)
    },
    started: () => undefined,
    ended: () => undefined,
    sample,
    report(input) {
      sample(input)
      const {
        lanes,
        operators: hosted,
        informers,
        health,
        leases = [],
        assignments,
        configuration,
        replica,
        coLocated,
      } = input
      return {
        version: 1,
        at: clock.now(),
        since,
        ...(replica !== undefined && { replica }),
        isReady: health?.isReady ?? true,
        problems: health?.problems ?? [],
        ...(configuration && { configuration }),
        operators: [...lanes]
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, lane]) => operatorReport(name, { lane, operator: hosted?.get(name) }, of(name), clock.now())),
        informers: informers.map(informerSummary),
        leases,
        ...(assignments && { assignments }),
        process: processCost,
        ...(coLocated !== undefined && { coLocated }),
      }
    },
  }
}

function findingSummary(finding: Finding): FindingSummary {
  const { at, kind, controller, key } = finding
  const reported = { at, kind, message: cut(describeFinding(finding), mostEvidence), controller, key }
  if (finding.kind !== 'hotLoop' && finding.kind !== 'conflict') return reported
  return {
    ...reported,
    object: describeObject(finding.object),
    fields: finding.fields.slice(0, mostFields).map((field) => cut(field)),
    ...(finding.kind === 'conflict' && { with: finding.with.slice(0, mostFields).map((name) => cut(name)) }),
  }
}

/** Undefined when the reconcile did nothing worth reporting. */
function runSummaryOf(ledger: Ledger, now: number): RunSummary | undefined {
  const { controller, key, failure, waiting, startedAt, effort } = ledger
  const done = doneIn(ledger)
  const outcome = outcomeOf(ledger)
  if (outcome === 'success' && done.length === 0) return undefined
  const why = failure ? `${failure.reason}: ${failure.message}` : waiting
  const at = effort?.endedAt ?? now
  return {
    at,
    ...(effort && { id: effort.id }),
    controller,
    key,
    outcome,
    done,
    ...(why !== undefined && { why: cut(why) }),
    tookMs: at - startedAt,
    times: 1,
  }
}

/** A repetition increases a count instead of displacing earlier entries. */
function remember(recentRuns: readonly RunSummary[], run: RunSummary): readonly RunSummary[] {
  const [last, ...rest] = recentRuns
  const isSame =
    last?.key === run.key &&
    last.outcome === run.outcome &&
    last.why === run.why &&
    last.done.join() === run.done.join()
  return isSame ? [{ ...run, times: last.times + 1 }, ...rest] : [run, ...recentRuns].slice(0, mostRecentRuns)
}

interface Hosted {
  readonly lane: LaneState
  readonly operator: Pick<Operator, 'controllers'> | undefined
}

function operatorReport(name: string, { lane, operator }: Hosted, kept: Kept, now: number): OperatorReport {
  const { waiting, running, runs, later, concurrency, heldBy } = lane
  const ages = runs.map(({ since }) => Math.max(now - since, 0))
  const { cost, recentRuns, findings, found, failing } = kept
  for (const [key, until] of failing) if (until < now) failing.delete(key)
  return {
    name,
    state: stateOf(lane, failing.size),
    ...(operator && { controllers: operator.controllers.map(controllerSummary) }),
    failing: failing.size,
    waiting,
    running,
    runningMs: { all: ages.reduce((sum, age) => sum + age, 0), longest: Math.max(0, ...ages) },
    later,
    concurrency,
    heldBy,
    recentRuns,
    findings: { total: found, latest: findings },
    cost,
  }
}

function controllerSummary({ name, kind: { group, kind }, options: { embeds } }: Controller): ControllerSummary {
  return { name, group, kind, ...(embeds && { embeds: embeds.label }) }
}

function stateOf({ isPaused, isStandby, running, waiting }: LaneState, failing: number): OperatorState {
  if (isPaused) return isStandby ? 'standby' : 'paused'
  if (running > 0) return 'working'
  if (failing > 0) return 'failing'
  return waiting > 0 ? 'waiting' : 'idle'
}

function informerSummary({ resource, freshness, watches, objects, bytes, consumers }: InformerReport): InformerSummary {
  const { state, since, reason } = freshness
  return {
    resource: formatResource(resource),
    state,
    since,
    ...(reason !== undefined && { reason: cut(reason) }),
    watches,
    objects,
    bytes,
    consumers: consumers.length,
  }
}

function cut(words: string, most = mostWords): string {
  return cutText(words, most)
}
