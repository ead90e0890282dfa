/**
 * A resident: the manager as it runs for months. It is told its settings, and from then on what stands is what they want:
 * operators start, move and end as settings and replicas come and go, each on its own, and what cannot be started is tried
 * again.
 *
 *     settings ──▶ postings ──those that are this replica's──▶ roster ──▶ manager ──within its term──▶ clusters
 *
 * With leader election, every replica fills its caches and one works: the others take over within a retry period. With
 * sharding, each replica has its share alone, in memory, too.
 */
import type { Clock } from '../../clock/clock.ts'
import { type Random, systemRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { FieldValidation } from '../../client/client.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { MusterError } from '../../kube/errors.ts'
import type { Log } from '../logging/log-line.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Operator } from '../../operator/operator.ts'
import { gatesOf, leaseTimesOf } from '../config/options-of.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import { type LeaseSettings, localCluster, type Settings } from '../config/settings.ts'
import { runReconcile, type RunReconcile } from '../run/run-reconcile.ts'
import { describeFinding, type Finding, type Quarantined } from '../findings/finding.ts'
import { defaultHealth, type HealthOptions, healthReport, type HealthReport } from '../observability/health.ts'
import { electLeader, type Election } from '../leases/election.ts'
import { joinShards, type Shards } from '../leases/shards.ts'
import { leaderTerm, shardTerm, type Term } from '../leases/term.ts'
import type { LoadedOperator } from '../loading/loader.ts'
import { createManager, type Manager, type ManagerOptions } from '../hosting/manager.ts'
import type { LeaseReport } from '../observability/report.ts'
import type { GateOptions, LaneState } from '../schedule/scheduler.ts'
import type { Quarantine } from '../watchdog/quarantine.ts'
import { type Clusters, createClusters, type ClustersOptions, type ClusterPlacement, type Reached } from './clusters.ts'
import { createEndings, type Endings } from './shutdown-stack.ts'
import { createAssignedWebhooks, type AssignedWebhooks } from './assigned-webhooks.ts'
import { filterAssignments } from './assignment-filter.ts'
import { isSameAssignment, type Assignment, assignmentsOf } from './assignment.ts'
import { createSupervisor, type Stand } from './supervisor.ts'
import { messageText } from '../config/message-text.ts'
import { shareLoads } from './shared-loads.ts'
import { untilAborted } from './until-aborted.ts'

export interface RuntimeOptions extends Pick<ManagerOptions, 'metrics' | 'live' | 'webhooks' | 'observer' | 'board'> {
  readonly settings: Settings
  /** Brings an operator of the settings, each time anew: it may be asked for again. */
  readonly load: (name: string, settings: OperatorSettings) => Promise<LoadedOperator>
  /** Where leases are, and Secrets of other clusters. */
  readonly local: Reached
  readonly reach: ClustersOptions['reach']
  /** Of this process alone, and fit to be part of a name. */
  readonly identity: string
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: Log
  readonly health?: HealthOptions
  /** Everything about each run, with the name that the operator has here. */
  readonly onLedger?: (ledger: Ledger, as: string) => void
  readonly onFinding?: (finding: Finding, as: string) => void
  /** Around whoever drives. */
  readonly around?: (run: RunReconcile) => RunReconcile
  /** Who must not have the thread of all. @default nobody is kept from it */
  readonly quarantine?: Quarantine
}

export interface Runtime {
  readonly manager: Manager
  readonly clusters: Clusters
  /** What is in force from now on. What cannot be changed in a running process stays as it was: see `changesBetween`. */
  reconfigure(settings: Settings): Promise<void>
  /** Everything that is to stand, and how it does. */
  posts(): readonly AssignedOperator[]
  readonly isLeader: boolean
  leases(): readonly LeaseReport[]
  /** By these reports, or new ones. */
  health(reports?: ReturnType<Clusters['reports']>): HealthReport
  /** Resolves when every operator has been started, or could not be. */
  settled(): Promise<void>
  /** Lets what is under way finish, and then lets others lead. */
  stop(): Promise<void>
}

export interface AssignedOperator {
  readonly id: string
  readonly operator: string
  /** `elsewhere`: another replica's. */
  readonly stand: Stand | 'elsewhere'
  readonly lane: LaneState | undefined
}

const turnMs = 1000

export function startRuntime(options: RuntimeOptions): Runtime {
  const { clock = systemClock, random = systemRandom, log = () => undefined, identity, load } = options
  const { metrics, live, webhooks, observer, onLedger, onFinding, quarantine, around = (run) => run } = options
  /** What was settled when the process started: leases cannot be changed under way. */
  const first = options.settings
  let settings = first
  const clusters = createClusters({
    clock,
    random,
    local: options.local,
    reach: options.reach,
    onStale: (cluster, resource, reason) => log({ cluster, resource: formatResource(resource), problem: reason }),
  })
  const { client, cache } = clusters.local
  const manager = createManager({
    client,
    cache,
    clock,
    log,
    concurrency: settings.concurrency,
    ...(metrics && { metrics }),
    ...(live && { live }),
    ...(observer && { observer }),
    board: options.board,
  })
  const posted = webhooks && createAssignedWebhooks(webhooks)
  const sharedLoad = shareLoads<LoadedOperator>(({ operator, section }) => load(operator, section))
  const election = elect()
  const shards = share()
  let isLeading = election === undefined
  let isStopped = false
  const stopping = new AbortController()
  const judged = filterAssignments(quarantine, () => settings, stopping.signal)

  /** Those that run apart by now. */
  const apart = new Set<string>()
  const roster = createSupervisor<Assignment, Endings>({
    clock,
    start,
    async end(id, standing) {
      await standing.close()
      log({ operator: id, ended: true })
    },
    isSame: isSameAssignment,
    adjust(id, _, after) {
      manager.regate(id, gatesIn(after.section))
      pauseAsWanted(after)
    },
    onProblem: (id, error, retryMs) =>
      log({ operator: id, problem: messageText(error), ...(retryMs !== undefined && { retryAfterMs: retryMs }) }),
  })
  const answering =
    posted &&
    createSupervisor<Assignment, Endings>({
      clock,
      start: async (_, posting, signal) => await answerFor(posting, posted, signal),
      async end(id, standing) {
        // While it is wanted somebody works it, and API servers go on asking: whoever stops here leaves that as it is.
        // A cluster that is away keeps nobody from stopping.
        if (!isStopped && !assignmentsOf(settings).has(id))
          await untilAborted(posted.drop(id), stopping.signal).catch((error: unknown) => {
            if (!isStopped) throw error
          })
        await standing.close()
      },
      isSame: isSameAssignment,
      adjust: () => undefined,
      onProblem: (id, error, retryMs) => {
        const problem = `its webhooks are not answered here: ${messageText(error)}`
        log({ operator: id, problem, ...(retryMs !== undefined && { retryAfterMs: retryMs }) })
      },
    })

  /** Everything wanted at first has been under way. */
  let wasUp = false
  let turnAt = clock.now()
  let turn = clock.after(turnMs, nextTurn)
  function nextTurn(): void {
    turnAt = clock.now()
    turn = clock.after(turnMs, nextTurn)
  }

  function elect(): Election | undefined {
    const { leaderElect, resourceName: name, resourceNamespace: namespace, ...times } = first.leaderElection
    if (!leaderElect) return undefined
    return electLeader({
      client,
      clock,
      random,
      identity,
      lease: { namespace, name },
      ...leaseTimesOf(times),
      onChange({ isLeader, leader }) {
        log({ leader: leader ?? '', isLeader })
        if (isLeader) takeOver().catch((error: unknown) => isStopped || log({ problem: messageText(error) }))
        else {
          isLeading = false
          manager.pause(undefined, 'standby')
        }
      },
      onProblem: (error) => log({ problem: `the lease ${namespace}/${name}: ${messageText(error)}` }),
    })
  }

  /** Whoever led before may have been stopped by an operator that stands ready here, in this thread. */
  async function takeOver(): Promise<void> {
    if (quarantine) while (!(await looked())) await clock.sleep(turnMs, stopping.signal)
    if (isStopped || !election?.isLeader()) return
    isLeading = true
    const dangerous = [...judged.apart().keys()].filter((id) => !apart.has(id))
    for (const id of manager.lanes().keys()) if (!dangerous.includes(id)) manager.resume(id, 'standby')
    if (dangerous.length > 0) await bring()
  }

  function share(): Shards | undefined {
    const { enabled, group: name, namespace, weight, ...times } = first.sharding
    if (!enabled) return undefined
    const joined = joinShards({
      client,
      clock,
      random,
      identity,
      weight,
      group: { namespace, name },
      ...leaseTimesOf(times),
      onProblem: (error) => log({ problem: `the leases ${namespace}/${name}: ${messageText(error)}` }),
    })
    joined.onChange(() => settle())
    return joined
  }

  function termOf(id: string): { readonly term?: Term; readonly writeTimeoutMs?: number } {
    if (election) return { term: leaderTerm(election, clock), writeTimeoutMs: spareMs(first.leaderElection) }
    if (shards) return { term: shardTerm(shards, id, clock), writeTimeoutMs: spareMs(first.sharding) }
    return {}
  }

  async function start(id: string, posting: Assignment, signal: AbortSignal): Promise<Endings> {
    const { section } = posting
    const endings = createEndings()
    try {
      if (!judged.isKnown) await untilAborted(judged.known(), signal)
      if (judged.apart().has(id) !== (posting.quarantined !== undefined)) {
        // It is wanted otherwise by now, and this start is given up.
        bring().catch((error: unknown) => log({ problem: messageText(error) }))
        signal.throwIfAborted()
      }
      const { operator, run = runReconcile, host } = await loading(posting, signal, endings)
      if (posting.quarantined) {
        apart.add(id)
        endings.add(() => void apart.delete(id))
      } else if (section.isolation === 'inline' && !host) await quarantine?.admit(id, posting.operator, section)
      const { cluster, own, placement, kubeconfig } = await opening(operator, posting, signal, endings)
      signal.throwIfAborted()
      const added = manager.add(operator, {
        as: id,
        cluster,
        gates: gatesIn(section),
        config: section.config as Readonly<Record<string, unknown>>,
        ...(section.namespaces && { namespaces: section.namespaces }),
        run: around(run),
        ...(host && { host, placement, kubeconfig }),
        ...(posted && { webhooks: posted.of(posting, own) }),
        ...(onLedger && { onLedger: (ledger) => onLedger(ledger, id) }),
        ...(onFinding && { onFinding: (finding) => onFinding(finding, id) }),
        ...termOf(id),
        fieldValidation: lookedForOnce,
        ...(!isLeading && { paused: 'standby' }),
      })
      if (manager.lanes().has(id)) {
        endings.add(async () => {
          // One that could not be added has gone by itself.
          if (manager.lanes().has(id)) await manager.remove(id)
        })
        // It may have been paused while it was loaded.
        pauseAsWanted(assignmentsOf(settings).get(id) ?? posting)
      }
      if (posting.quarantined) tellQuarantined(id, posting.quarantined)
      await untilAborted(added, signal)
      log({ operator: id, started: true })
      return endings
    } catch (error) {
      await endings.close()
      throw error
    }
  }

  async function loading(posting: Assignment, signal: AbortSignal, endings: Endings): Promise<LoadedOperator> {
    try {
      const loaded = await untilAborted(sharedLoad(posting), signal, (late) => late.close?.())
      endings.add(() => loaded.close?.())
      return loaded
    } catch (error) {
      if (!posting.quarantined || signal.aborted) throw error
      // Somebody may take its entry away meanwhile.
      settle().catch((problem: unknown) => log({ problem: messageText(problem) }))
      const why = describeFinding(posting.quarantined)
      throw new MusterError('OperatorQuarantined', `${why} That cannot be had here: ${messageText(error)}`, {
        cause: error,
      })
    }
  }

  function tellQuarantined(id: string, finding: Quarantined): void {
    log({ operator: id, finding: finding.kind, message: describeFinding(finding) })
    metrics?.find(finding)
    onFinding?.(finding, id)
    void quarantine?.announce(finding)
  }

  async function opening(
    operator: Operator,
    { settings: wanted, at }: Assignment,
    signal: AbortSignal,
    endings: Endings,
  ): Promise<ClusterPlacement> {
    const place = await untilAborted(clusters.open(operator, wanted, at), signal, (late) => late.close())
    endings.add(() => place.close())
    return place
  }

  /** What any replica may be asked about by API servers, whoever works it. */
  async function answerFor(posting: Assignment, served: AssignedWebhooks, signal: AbortSignal): Promise<Endings> {
    const endings = createEndings()
    try {
      const { operator } = await loading(posting, signal, endings)
      if (operator.webhooks.length + operator.conversions.length === 0) {
        await endings.close()
        return createEndings()
      }
      const { own } = await opening(operator, posting, signal, endings)
      signal.throwIfAborted()
      await untilAborted(served.serve(posting, operator, own), signal)
      return endings
    } catch (error) {
      await endings.close()
      throw error
    }
  }

  function pauseAsWanted({ id, section, settings: { paused } }: Assignment): void {
    if (paused || section.paused) manager.pause(id)
    else manager.resume(id)
  }

  /** Before anything is asked or loaded: whoever pauses an operator has a reason. It goes on when all else is as it should be. */
  function pauseAtOnce(): void {
    const lanes = manager.lanes()
    for (const { id, section, settings: wanted } of assignmentsOf(settings).values()) {
      if (lanes.has(id) && (wanted.paused || section.paused)) manager.pause(id)
    }
  }

  /** Resolves when what is not ours any more has ended. */
  async function settle(): Promise<void> {
    // Who is started looks for himself where nobody knows.
    if (judged.isKnown && quarantine) await looked()
    await bring()
  }

  /** Whether the record could be read. */
  async function looked(): Promise<boolean> {
    try {
      await judged.look()
      return true
    } catch (error) {
      if (!isStopped) log({ problem: messageText(error) })
      return false
    }
  }

  async function bring(): Promise<void> {
    if (isStopped) return
    const all = judged.all()
    const ours = new Map([...all].filter(([id]) => !shards || shards.owns(id)))
    const ended = roster.want(ours)
    // At once, and not when it has been started: it would run until then.
    for (const id of manager.lanes().keys()) if (ours.has(id)) pauseAsWanted(ours.get(id)!)
    if (answering) {
      // A program has none.
      const answered = new Map([...all].filter(([, { section }]) => section.program === undefined))
      answering.want(answered).catch((error: unknown) => log({ problem: messageText(error) }))
    }
    await ended
  }

  settle().catch((error: unknown) => log({ problem: messageText(error) }))
  return {
    manager,
    clusters,
    async reconfigure(next) {
      if (isStopped) return
      settings = next
      manager.resize(next.concurrency)
      pauseAtOnce()
      await settle()
    },
    posts() {
      const { stands } = roster
      const lanes = manager.lanes()
      return [...assignmentsOf(settings).values()].map(({ id, operator }) => ({
        id,
        operator,
        stand: stands.get(id) ?? 'elsewhere',
        lane: lanes.get(id),
      }))
    },
    get isLeader() {
      return isLeading
    },
    leases() {
      const { resourceNamespace, resourceName } = first.leaderElection
      const { namespace, group } = first.sharding
      return [
        ...(election ? [{ name: `${resourceNamespace}/${resourceName}`, isHeld: election.isLeader() }] : []),
        ...(shards
          ? [{ name: `${namespace}/${group}`, isHeld: shards.members.some((one) => one.identity === identity) }]
          : []),
      ]
    },
    health(reports = clusters.reports()) {
      const { stands } = roster
      const lanes = manager.lanes()
      const starting = [...stands].filter(([id, stand]) => stand === 'starting' && !lanes.has(id)).map(([id]) => id)
      // Who comes later is no reason to be taken out of service.
      wasUp ||= starting.length === 0
      return healthReport(
        {
          now: clock.now(),
          feeds: reports.flatMap(([name, feeds]) => (name === localCluster ? feeds : [])),
          elsewhere: reports.filter(([name]) => name !== localCluster),
          starting: wasUp ? [] : starting,
          standing: [...stands.values()].filter((stand) => stand !== 'failed').length,
          failed: [...roster.failures].map(([id, error]) => [id, messageText(error)]),
          warned: [...judged.apart().values()].map(describeFinding),
          runs: manager.runs(),
          turnAt,
        },
        options.health ?? defaultHealth,
      )
    },
    settled: () => roster.settled(),
    async stop() {
      isStopped = true
      stopping.abort()
      turn.cancel()
      await Promise.all([roster.stop(), answering?.stop()])
      await Promise.all([election?.release(), shards?.leave()])
      await manager.stop()
      await clusters.close()
    },
  }
}

/** A program looks at everything at once: there is one run. */
function gatesIn({ gates, budgets, program }: OperatorSettings): GateOptions {
  return { ...gatesOf(gates, budgets), ...(program && { concurrency: 1 }) }
}

/** What a write may take, at most, before somebody else may have the right. */
function spareMs(settings: LeaseSettings): number {
  const { leaseDurationMs, renewDeadlineMs } = leaseTimesOf(settings)
  return leaseDurationMs - renewDeadlineMs
}

/**
 * What is applied is matched with the schema of its kind in any case, and a field that a built-in kind does not have is
 * refused. A server that is to look for unknown fields besides reads the whole body once more.
 */
function lookedForOnce(resource: Resource): FieldValidation | undefined {
  return builtinResource(resource) ? 'Ignore' : undefined
}
