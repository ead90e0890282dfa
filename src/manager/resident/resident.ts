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
import type { JsonObject } from '../../kube/json.ts'
import { formatResource } from '../../kube/kind.ts'
import type { Ledger } from '../../operator/ledger.ts'
import type { Operator } from '../../operator/operator.ts'
import { gatesOf, leaseTimesOf } from '../config/options-of.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import type { LeaseSettings, Settings } from '../config/settings.ts'
import { drive, type Drive } from '../drive.ts'
import type { Finding } from '../findings/finding.ts'
import { defaultHealth, type HealthOptions, healthReport, type HealthReport } from '../health.ts'
import { electLeader, type Election } from '../leases/election.ts'
import { joinShards, type Shards } from '../leases/shards.ts'
import { leaderTerm, shardTerm, type Term } from '../leases/term.ts'
import { createManager, type Manager, type ManagerOptions } from '../manager.ts'
import type { LeaseReport } from '../report.ts'
import type { LaneState } from '../scheduler.ts'
import { type Clusters, createClusters, type ClustersOptions, type Reached } from './clusters.ts'
import { createPostedWebhooks, type PostedWebhooks } from './posted-webhooks.ts'
import { isSamePost, type Posting, postingsOf } from './posting.ts'
import { createRoster, type Stand } from './roster.ts'

/** An operator, ready to be hosted. */
export interface Loaded {
  readonly operator: Operator
  /** Where its reconciles run. @default in this thread */
  readonly run?: Drive
  close?(): Promise<void>
}

export interface ResidentOptions extends Pick<ManagerOptions, 'metrics' | 'live' | 'webhooks' | 'observer'> {
  readonly settings: Settings
  /** Brings an operator of the settings, each time anew: it may be asked for again. */
  readonly load: (name: string, settings: OperatorSettings) => Promise<Loaded>
  /** Where leases are, and Secrets of other clusters. */
  readonly local: Reached
  readonly reach: ClustersOptions['reach']
  /** Of this process alone, and fit to be part of a name. */
  readonly identity: string
  readonly clock?: Clock
  readonly random?: Random
  readonly log?: (line: JsonObject) => void
  readonly health?: HealthOptions
  /** Everything about each run, with the name that the operator has here. */
  readonly onLedger?: (ledger: Ledger, as: string) => void
  readonly onFinding?: (finding: Finding, as: string) => void
  /** Around whoever drives. */
  readonly around?: (run: Drive) => Drive
}

export interface Resident {
  readonly manager: Manager
  readonly clusters: Clusters
  /** What is in force from now on. What cannot be changed in a running process stays as it was: see `changesBetween`. */
  reconfigure(settings: Settings): Promise<void>
  /** Everything that is to stand, and how it does. */
  posts(): readonly Post[]
  readonly isLeader: boolean
  leases(): readonly LeaseReport[]
  health(): HealthReport
  /** Resolves when every operator has been started, or could not be. */
  settled(): Promise<void>
  /** Lets what is under way finish, and then lets others lead. */
  stop(): Promise<void>
}

export interface Post {
  readonly id: string
  readonly operator: string
  /** `elsewhere`: another replica's. */
  readonly stand: Stand | 'elsewhere'
  readonly lane: LaneState | undefined
}

const turnMs = 1000

export function startResident(options: ResidentOptions): Resident {
  const { clock = systemClock, random = systemRandom, log = () => undefined, identity, load } = options
  const { metrics, live, webhooks, observer, onLedger, onFinding, around = (run) => run } = options
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
  })
  const posted = webhooks && createPostedWebhooks(webhooks)
  const election = elect()
  const shards = share()
  let isLeading = election === undefined

  const roster = createRoster<Posting, Loaded>({
    clock,
    start,
    async end(id, loaded) {
      await manager.remove(id)
      await loaded.close?.()
      log({ operator: id, ended: true })
    },
    adjust(_, before, after) {
      if (!isSamePost(before, after)) return false
      manager.regate(after.id, gatesOf(after.section.gates, after.section.budgets))
      pauseAsWanted(after)
      return true
    },
    onProblem: (id, error, retryMs) =>
      log({ operator: id, problem: textOf(error), ...(retryMs !== undefined && { retryAfterMs: retryMs }) }),
  })

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
        isLeading = isLeader
        if (isLeader) manager.resume(undefined, 'standby')
        else manager.pause(undefined, 'standby')
      },
      onProblem: (error) => log({ problem: `the lease ${namespace}/${name}: ${textOf(error)}` }),
    })
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
      onProblem: (error) => log({ problem: `the leases ${namespace}/${name}: ${textOf(error)}` }),
    })
    joined.onChange(() => settle())
    return joined
  }

  function termOf(id: string): { readonly term?: Term; readonly writeTimeoutMs?: number } {
    if (election) return { term: leaderTerm(election, clock), writeTimeoutMs: spareMs(first.leaderElection) }
    if (shards) return { term: shardTerm(shards, id, clock), writeTimeoutMs: spareMs(first.sharding) }
    return {}
  }

  async function start(id: string, posting: Posting, signal: AbortSignal): Promise<Loaded> {
    const { section } = posting
    const loaded = await load(posting.operator, section)
    try {
      const { operator, run = drive } = loaded
      const cluster = await clusters.clusterFor(operator, posting.settings, posting.at)
      signal.throwIfAborted()
      const added = manager.add(operator, {
        as: id,
        cluster,
        gates: gatesOf(section.gates, section.budgets),
        config: section.config as Readonly<Record<string, unknown>>,
        ...(section.namespaces && { namespaces: section.namespaces }),
        run: around(run),
        ...(posted && { webhooks: posted.of(posting, cluster) }),
        ...(onLedger && { onLedger: (ledger) => onLedger(ledger, id) }),
        ...(onFinding && { onFinding: (finding) => onFinding(finding, id) }),
        ...termOf(id),
        ...(!isLeading && { paused: 'standby' }),
      })
      pauseAsWanted(posting)
      try {
        await untilAborted(added, signal)
      } catch (error) {
        await manager.remove(id)
        throw error
      }
      log({ operator: id, started: true })
      return loaded
    } catch (error) {
      await loaded.close?.()
      throw error
    }
  }

  function pauseAsWanted({ id, section, settings: { paused } }: Posting): void {
    if (paused || section.paused) manager.pause(id)
    else manager.resume(id)
  }

  /** Resolves when what is not ours any more has ended. */
  async function settle(): Promise<void> {
    const all = postingsOf(settings)
    const ours = new Map([...all].filter(([id]) => !shards || shards.owns(id)))
    const others = [...all.values()].filter(({ id }) => !ours.has(id))
    const ended = roster.want(ours)
    if (posted) {
      for (const posting of others) void answerFor(posting, posted)
      posted.keep(new Set(all.keys())).catch((error: unknown) => log({ problem: textOf(error) }))
    }
    await ended
  }

  /** What another replica works, and API servers may ask this one about. */
  async function answerFor(posting: Posting, served: PostedWebhooks): Promise<void> {
    const { id, operator: name, section } = posting
    // Webhooks of isolated operators are refused where they are hosted.
    if (section.isolation !== 'inline') return
    try {
      const { operator } = await load(name, section)
      await served.serve(posting, operator, await clusters.clusterFor(operator, posting.settings, posting.at))
    } catch (error) {
      log({ operator: id, problem: `its webhooks are not answered here: ${textOf(error)}` })
    }
  }

  void settle()
  return {
    manager,
    clusters,
    async reconfigure(next) {
      settings = next
      manager.resize(next.concurrency)
      await settle()
    },
    posts() {
      const { stands } = roster
      const lanes = manager.lanes()
      return [...postingsOf(settings).values()].map(({ id, operator }) => ({
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
    health: () =>
      healthReport(
        { now: clock.now(), feeds: clusters.reports().flatMap(([, feeds]) => feeds), runs: manager.runs(), turnAt },
        options.health ?? defaultHealth,
      ),
    settled: () => roster.settled(),
    async stop() {
      turn.cancel()
      await roster.stop()
      await Promise.all([election?.release(), shards?.leave()])
      await manager.stop()
      await clusters.close()
    },
  }
}

/** What a write may take, at most, before somebody else may have the right. */
function spareMs(settings: LeaseSettings): number {
  const { leaseDurationMs, renewDeadlineMs } = leaseTimesOf(settings)
  return leaseDurationMs - renewDeadlineMs
}

async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
