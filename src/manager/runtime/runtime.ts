/**
 * The runtime: the long-running manager of one replica. It makes the running operators match the settings: operators
 * start, move between replicas and stop as settings and replicas change, independently of each other, and failed starts
 * are retried.
 *
 *     settings ──▶ assignments ──those of this replica──▶ supervisor ──▶ manager ──within its term──▶ clusters
 *
 * With leader election, every replica fills its caches and the leader runs: another takes over within a retry period.
 * With sharding, each replica caches and runs its share only.
 */
import type { Clock } from '../../clock/clock.ts'
import { type Random, systemRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { FieldValidation } from '../../client/client.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { Log } from '../logging/log-line.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Operator } from '../../operator/operator.ts'
import { gatesOf, leaseTimesOf, taskOptionsOf } from '../config/options-of.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import type { PodPlace } from '../config/pod-layer.ts'
import { type LeaseSettings, localCluster, type Settings } from '../config/settings.ts'
import { describeFinding, type Finding, type Quarantined } from '../findings/finding.ts'
import { defaultHealth, type HealthOptions, healthReport, type HealthReport } from '../observability/health.ts'
import { electLeader, type Election } from '../leases/election.ts'
import { joinShards, type Shards } from '../leases/shards.ts'
import { leaderTerm, shardTerm, type Term } from '../leases/term.ts'
import type { LoadedOperator } from '../loading/loader.ts'
import { createManager, type Manager, type ManagerOptions } from '../hosting/manager.ts'
import type { LeaseReport } from '../observability/report.ts'
import type { GateOptions } from '../gates/gate-options.ts'
import type { LaneState } from '../schedule/lane.ts'
import { createTaskRunner } from '../tasks/task-runner.ts'
import type { Quarantine } from '../watchdog/quarantine.ts'
import { type Clusters, createClusters, type ClustersOptions, type ClusterPlacement, type Reached } from './clusters.ts'
import { createEndings, type Endings } from './shutdown-stack.ts'
import { createAssignedWebhooks, type AssignedWebhooks } from './assigned-webhooks.ts'
import { filterAssignments } from './assignment-filter.ts'
import { isSameAssignment, type Assignment, assignmentsOf } from './assignment.ts'
import { createSupervisor, type AssignmentState } from './supervisor.ts'
import { messageText } from '../config/message-text.ts'
import { shareLoads } from './shared-loads.ts'
import { untilAborted } from './until-aborted.ts'

export interface RuntimeOptions extends Pick<
  ManagerOptions,
  'metrics' | 'live' | 'webhooks' | 'observer' | 'meter' | 'heartbeats'
> {
  readonly settings: Settings
  /** Loads an operator of the settings; called again after each restart of the operator. */
  readonly load: (name: string, settings: OperatorSettings) => Promise<LoadedOperator>
  /** The cluster of the leases, and of the Secrets with kubeconfigs of other clusters. */
  readonly local: Reached
  readonly reach: ClustersOptions['reach']
  /** Unique to this process, and valid as part of an object name. */
  readonly identity: string
  /** The Pod of this replica: Leases of its own are garbage-collected with it. @default none */
  readonly pod?: PodPlace['pod'] | undefined
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: Log
  readonly health?: HealthOptions
  /** Receives the ledger of each reconcile, with the operator's name in this manager. */
  readonly onLedger?: (ledger: Ledger, as: string) => void
  readonly onFinding?: (finding: Finding, as: string) => void
  /** Operators that must not run in this thread. @default none */
  readonly quarantine?: Quarantine
}

export interface Runtime {
  readonly manager: Manager
  readonly clusters: Clusters
  /** Applies new settings. Those that cannot change in a running process keep their values: see `changesBetween`. */
  reconfigure(settings: Settings): Promise<void>
  /** All assignments and their states. */
  assignments(): readonly AssignedOperator[]
  readonly isLeader: boolean
  leases(): readonly LeaseReport[]
  /** From these informer reports, or new ones. `configuration`: why the latest configuration is not in force. */
  health(reports?: ReturnType<Clusters['reports']>, configuration?: string): HealthReport
  /** Resolves when every start has succeeded or failed at least once. */
  settled(): Promise<void>
  /** Waits for reconciles in progress, then releases the leases. */
  stop(): Promise<void>
}

export interface AssignedOperator {
  readonly id: string
  readonly operator: string
  /** `elsewhere`: another replica runs it. */
  readonly state: AssignmentState | 'elsewhere'
  readonly lane: LaneState | undefined
}

const turnMs = 1000

export function startRuntime(options: RuntimeOptions): Runtime {
  const { clock = systemClock, random = systemRandom, log = () => undefined, identity, load } = options
  const { metrics, live, webhooks, observer, onLedger, onFinding, quarantine } = options
  /** The settings at the start of the process: leases cannot change later. */
  const first = options.settings
  let settings = first
  const logProblem = (msg: string, error: unknown, more: JsonObject = {}): void =>
    log({ level: 'warn', msg, ...more, error: messageText(error) })
  const clusters = createClusters({
    clock,
    random,
    local: options.local,
    reach: options.reach,
    onStale: (cluster, resource, reason) =>
      log({
        level: 'warn',
        msg: 'Cache is stale',
        cluster,
        resource: formatResource(resource),
        error: reason,
      }),
  })
  const { client, cache } = clusters.local
  const tasks = createTaskRunner({
    clock,
    ...taskOptionsOf(first.tasks, (error) => logProblem('Result of a task was not stored', error)),
    onEnd: (...ended) => metrics?.task(...ended),
  })
  const manager = createManager({
    client,
    cache,
    clock,
    log,
    tasks,
    concurrency: settings.concurrency,
    ...(metrics && { metrics }),
    ...(live && { live }),
    ...(observer && { observer }),
    meter: options.meter,
    heartbeats: options.heartbeats,
  })
  const assignedWebhooks = webhooks && createAssignedWebhooks(webhooks)
  const sharedLoad = shareLoads<LoadedOperator>(({ operator, section }) => load(operator, section))
  const election = elect()
  const shards = share()
  let isLeading = election === undefined
  let isStopped = false
  const stopping = new AbortController()
  const filtered = filterAssignments(quarantine, () => settings, stopping.signal)

  /** Assignments that run isolated. */
  const isolated = new Set<string>()
  const supervisor = createSupervisor<Assignment, Endings>({
    clock,
    start,
    async end(id, started) {
      await started.close()
      log({ msg: 'Operator stopped', operator: id })
    },
    isSame: isSameAssignment,
    adjust(id, _, after) {
      manager.regate(id, gatesIn(after.section))
      applyPause(after)
    },
    onProblem: (id, error, retryMs) =>
      log({
        level: 'warn',
        msg: 'Operator failed',
        operator: id,
        error: messageText(error),
        ...(retryMs !== undefined && { retryAfterMs: retryMs }),
      }),
  })
  const webhookSupervisor =
    assignedWebhooks &&
    createSupervisor<Assignment, Endings>({
      clock,
      start: async (_, assignment, signal) => await serveWebhooks(assignment, assignedWebhooks, signal),
      async end(id, started) {
        // While the assignment is in the settings, another replica runs it and API servers call its webhooks: a
        // stopping replica keeps the registration. An unreachable cluster must not block the stop.
        if (!isStopped && !assignmentsOf(settings).has(id))
          await untilAborted(assignedWebhooks.drop(id), stopping.signal).catch((error: unknown) => {
            if (!isStopped) throw error
          })
        await started.close()
      },
      isSame: isSameAssignment,
      adjust: () => undefined,
      onProblem: (id, error, retryMs) => {
        log({
          level: 'warn',
          msg: 'Webhooks are not served by this replica',
          operator: id,
          error: messageText(error),
          ...(retryMs !== undefined && { retryAfterMs: retryMs }),
        })
      },
    })

  /** All initial assignments have been started. */
  let wasUp = false
  let turnAt = clock.now()
  let turn = clock.after(turnMs, nextTurn)
  function nextTurn(): void {
    metrics?.loopLag(Math.max(clock.now() - turnAt - turnMs, 0))
    turnAt = clock.now()
    turn = clock.after(turnMs, nextTurn)
  }

  function elect(): Election | undefined {
    const { leaderElect, resourceName: name, resourceNamespace: namespace, ...times } = first.leaderElection
    if (!leaderElect) return undefined
    let lastLeader: string | undefined
    return electLeader({
      client,
      clock,
      random,
      identity,
      lease: { namespace, name },
      ...leaseTimesOf(times),
      onChange({ isLeader, leader }) {
        log({ msg: isLeader ? 'This replica leads' : 'This replica stands by', leader: leader ?? '', isLeader })
        if (leader !== undefined && leader !== lastLeader) metrics?.leaderChange(`${namespace}/${name}`)
        lastLeader = leader ?? lastLeader
        if (isLeader) takeOver().catch((error: unknown) => isStopped || logProblem('Taking over failed', error))
        else {
          isLeading = false
          manager.pause(undefined, 'standby')
        }
      },
      onProblem: (error) => logProblem('Lease cannot be renewed', error, { lease: `${namespace}/${name}` }),
    })
  }

  /** The former leader may have been hung by an operator that stands by in this thread: read the quarantine first. */
  async function takeOver(): Promise<void> {
    if (quarantine) while (!(await readQuarantine())) await clock.sleep(turnMs, stopping.signal)
    if (isStopped || !election?.isLeader()) return
    isLeading = true
    const dangerous = [...filtered.isolated().keys()].filter((id) => !isolated.has(id))
    for (const id of manager.lanes().keys()) if (!dangerous.includes(id)) manager.resume(id, 'standby')
    if (dangerous.length > 0) await applyAssignments()
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
      pod: options.pod,
      ...leaseTimesOf(times),
      onProblem: (error) => logProblem('Leases cannot be renewed', error, { lease: `${namespace}/${name}` }),
    })
    joined.onChange(() => settle())
    return joined
  }

  function termOf(id: string): { readonly term?: Term; readonly writeTimeoutMs?: number } {
    if (election) return { term: leaderTerm(election, clock), writeTimeoutMs: spareMs(first.leaderElection) }
    if (shards) return { term: shardTerm(shards, id, clock), writeTimeoutMs: spareMs(first.sharding) }
    return {}
  }

  async function start(id: string, assignment: Assignment, signal: AbortSignal): Promise<Endings> {
    const { section } = assignment
    const endings = createEndings()
    try {
      if (!filtered.isRead) await untilAborted(filtered.ensureRead(), signal)
      if (filtered.isolated().has(id) !== (assignment.quarantined !== undefined)) {
        // The settings have changed, and this start is cancelled.
        applyAssignments().catch((error: unknown) => logProblem('Assignments were not applied', error))
        signal.throwIfAborted()
      }
      const { operator, run, host } = await loadOperator(assignment, signal, endings)
      if (assignment.quarantined) {
        isolated.add(id)
        endings.add(() => void isolated.delete(id))
      } else if (section.isolation === 'inline' && !host) await quarantine?.admit(id, assignment.operator, section)
      const { cluster, own, placement, kubeconfig } = await openClusters(operator, assignment, signal, endings)
      signal.throwIfAborted()
      const added = manager.add(operator, {
        as: id,
        cluster,
        gates: gatesIn(section),
        config: section.config as Readonly<Record<string, unknown>>,
        ...(section.namespaces && { namespaces: section.namespaces }),
        ...(run && { run }),
        ...(host && { host, placement, kubeconfig }),
        ...(assignedWebhooks && { webhooks: assignedWebhooks.of(assignment, own) }),
        ...(onLedger && { onLedger: (ledger) => onLedger(ledger, id) }),
        ...(onFinding && { onFinding: (finding) => onFinding(finding, id) }),
        ...termOf(id),
        fieldValidation: fieldValidationFor,
        ...(!isLeading && { paused: 'standby' }),
      })
      if (manager.lanes().has(id)) {
        endings.add(async () => {
          // A failed start has removed the operator already.
          if (manager.lanes().has(id)) await manager.remove(id)
        })
        // It may have been paused while it was loading.
        applyPause(assignmentsOf(settings).get(id) ?? assignment)
      }
      if (assignment.quarantined) reportQuarantined(id, assignment.quarantined)
      await untilAborted(added, signal)
      log({ msg: 'Operator started', operator: id })
      return endings
    } catch (error) {
      await endings.close()
      throw error
    }
  }

  async function loadOperator(assignment: Assignment, signal: AbortSignal, endings: Endings): Promise<LoadedOperator> {
    try {
      const loaded = await untilAborted(sharedLoad(assignment), signal, (late) => late.close?.())
      endings.add(() => loaded.close?.())
      return loaded
    } catch (error) {
      if (!assignment.quarantined || signal.aborted) throw error
      // The quarantine entry may have been removed meanwhile.
      settle().catch((problem: unknown) => logProblem('Assignments were not applied', problem))
      const why = describeFinding(assignment.quarantined)
      throw new MusterError(
        managerErrors.OperatorQuarantined,
        `${why} That is not possible here: ${messageText(error)}`,
        {
          cause: error,
        },
      )
    }
  }

  function reportQuarantined(id: string, finding: Quarantined): void {
    log({ level: 'warn', msg: describeFinding(finding), operator: id, finding: finding.kind })
    metrics?.find(finding)
    onFinding?.(finding, id)
    void quarantine?.announce(finding)
  }

  async function openClusters(
    operator: Operator,
    { settings: wanted, at }: Assignment,
    signal: AbortSignal,
    endings: Endings,
  ): Promise<ClusterPlacement> {
    const place = await untilAborted(clusters.open(operator, wanted, at), signal, (late) => late.close())
    endings.add(() => place.close())
    return place
  }

  /** Serves webhooks that API servers may call on any replica, whichever runs the operator. */
  async function serveWebhooks(
    assignment: Assignment,
    served: AssignedWebhooks,
    signal: AbortSignal,
  ): Promise<Endings> {
    const endings = createEndings()
    try {
      const { operator } = await loadOperator(assignment, signal, endings)
      if (operator.webhooks.length + operator.conversions.length === 0) {
        await endings.close()
        return createEndings()
      }
      const { own } = await openClusters(operator, assignment, signal, endings)
      signal.throwIfAborted()
      await untilAborted(served.serve(assignment, operator, own), signal)
      return endings
    } catch (error) {
      await endings.close()
      throw error
    }
  }

  function applyPause({ id, section, settings: { paused } }: Assignment): void {
    if (paused || section.paused) manager.pause(id)
    else manager.resume(id)
  }

  /** First of all, since pausing an operator is urgent. It is resumed after everything else is up to date. */
  function pauseAtOnce(): void {
    const lanes = manager.lanes()
    for (const { id, section, settings: wanted } of assignmentsOf(settings).values()) {
      if (lanes.has(id) && (wanted.paused || section.paused)) manager.pause(id)
    }
  }

  /** Resolves when operators that this replica no longer runs have stopped. */
  async function settle(): Promise<void> {
    // If the last read failed, each start reads the record by itself.
    if (filtered.isRead && quarantine) await readQuarantine()
    await applyAssignments()
  }

  /** Whether the record could be read. */
  async function readQuarantine(): Promise<boolean> {
    try {
      await filtered.read()
      return true
    } catch (error) {
      if (!isStopped) logProblem('Assignments were not applied', error)
      return false
    }
  }

  async function applyAssignments(): Promise<void> {
    if (isStopped) return
    const all = filtered.all()
    const ours = new Map([...all].filter(([id]) => !shards || shards.owns(id)))
    const ended = supervisor.setDesired(ours)
    // At once and not after the restart: the operator would run until then.
    for (const id of manager.lanes().keys()) if (ours.has(id)) applyPause(ours.get(id)!)
    if (webhookSupervisor) {
      // External programs have no webhooks.
      const answered = new Map([...all].filter(([, { section }]) => section.program === undefined))
      webhookSupervisor
        .setDesired(answered)
        .catch((error: unknown) => logProblem('Assignments were not applied', error))
    }
    await ended
  }

  settle().catch((error: unknown) => logProblem('Assignments were not applied', error))
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
    assignments() {
      const { states } = supervisor
      const lanes = manager.lanes()
      return [...assignmentsOf(settings).values()].map(({ id, operator }) => ({
        id,
        operator,
        state: states.get(id) ?? 'elsewhere',
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
    health(reports = clusters.reports(), configuration) {
      const { states } = supervisor
      const lanes = manager.lanes()
      const starting = [...states].filter(([id, state]) => state === 'starting' && !lanes.has(id)).map(([id]) => id)
      // Operators that are added later do not make the manager unready.
      wasUp ||= starting.length === 0
      return healthReport(
        {
          now: clock.now(),
          informers: reports.flatMap(([name, informers]) => (name === localCluster ? informers : [])),
          elsewhere: reports.filter(([name]) => name !== localCluster),
          starting: wasUp ? [] : starting,
          started: [...states.values()].filter((state) => state !== 'failed').length,
          failed: [...supervisor.failures].map(([id, error]) => [id, messageText(error)]),
          quarantined: [...filtered.isolated().values()].map(describeFinding),
          configuration,
          runs: manager.runs(),
          turnAt,
        },
        options.health ?? defaultHealth,
      )
    },
    settled: () => supervisor.settled(),
    async stop() {
      isStopped = true
      stopping.abort()
      turn.cancel()
      await Promise.all([supervisor.stop(), webhookSupervisor?.stop()])
      await Promise.all([election?.release(), shards?.leave()])
      await manager.stop()
      await tasks.close()
      await clusters.close()
    },
  }
}

/** An external program reconciles everything at once: there is one key. */
function gatesIn({ gates, budgets, program }: OperatorSettings): GateOptions {
  return { ...gatesOf(gates, budgets), ...(program && { concurrency: 1 }) }
}

/** The longest that a write may take before another replica may hold the lease. */
function spareMs(settings: LeaseSettings): number {
  const { leaseDurationMs, renewDeadlineMs } = leaseTimesOf(settings)
  return leaseDurationMs - renewDeadlineMs
}

/**
 * Server-side apply matches the object with the schema of its kind in any case, and refuses unknown fields of built-in
 * kinds. Field validation would make the server decode the body a second time.
 */
function fieldValidationFor(resource: Resource): FieldValidation | undefined {
  return builtinResource(resource) ? 'Ignore' : undefined
}
