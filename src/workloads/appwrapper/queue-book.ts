/** What the queue knows, and what it has decided: AppWrappers as workloads of the admission queue, with their charges and their pods. */
import type { Pod } from '../../kube/kinds.ts'
import { parseTime } from '../../kube/units/duration.ts'
import type { DecisionBatch } from '../../operator/coordinator/coordinator.ts'
import {
  backoffTimeMs,
  minimumRunMs,
  queueSettings,
  quotaSettings,
  reservationMs,
} from '../configuration/queue-settings.ts'
import type { WorkloadsSettings } from '../configuration/workloads-config.ts'
import { createAdmissionQueue } from '../core/queue/admission-queue.ts'
import { createNodeTable, type NodeTable, type PodGroup } from '../core/nodes/node-table.ts'
import type { Life, QueueDecision } from '../core/phases/phases.ts'
import type { WaitReason } from '../core/queue/queue-decisions.ts'
import type { QueuedWorkload } from '../core/queue/queued-workload.ts'
import { createQuotaTree, type QuotaTree } from '../core/quota/quota-tree.ts'
import type { QuotaCharge } from '../quota/quota-model.ts'
import { createQuotaTracker, type QuotaTracker } from '../quota/quota-tracker.ts'
import type { AppWrapperObject } from './appwrapper.ts'
import { placementsOf } from './flavor-placement.ts'
import { ownManager } from './labels.ts'
import { lifeOf } from './life-status.ts'
import { createQueuePods, type QueuePods } from './queue-pods.ts'
import { evictionText, waitingText } from './wait-text.ts'
import { demandIn } from './wrapped-pods.ts'

interface Entry {
  object: AppWrapperObject
  /** Undefined: its pods cannot be worked out. It starts, and fails with the reason. */
  groups: readonly PodGroup[] | undefined
  /** Equal for those that wait for the same. */
  classKey: string
  /** `started`: decided, and the status does not say it yet. `refused`: its quota cannot be worked out. */
  state: 'new' | 'waiting' | 'refused' | 'started' | 'running'
  /** Its decision is one of its phase, and stands until that changes. */
  leaves: boolean
}

/** Reasons to wait that are worked out again in one decision; the others follow a second later. */
const mostReasons = 20
const mostPositions = 200
const sweepMs = 1000

export class QueueBook {
  readonly nodes: NodeTable = createNodeTable()
  readonly quota: QuotaTracker
  readonly #tree: QuotaTree = createQuotaTree()
  readonly #queue: ReturnType<typeof createAdmissionQueue>
  readonly #pods: QueuePods = createQueuePods(this.nodes)
  readonly #minimumRunMs: number
  readonly #backoffMs: number
  readonly #reservationMs: number
  readonly #entries = new Map<string, Entry>()
  readonly #decided = new Map<string, QueueDecision>()
  /** AppWrappers that have changed, and those whose pods have. */
  readonly #dirty = new Set<string>()
  readonly #moved = new Set<string>()
  /** Waiting AppWrappers whose reasons may be other ones by now. */
  readonly #stale = new Set<string>()
  readonly #fresh = new Set<string>()
  readonly #over = new Set<string>()
  /** Decisions that follow from the AppWrapper itself, not reported yet. */
  readonly #pending = new Map<string, QueueDecision>()
  /** When room for pods that are not there is given up. */
  readonly #reservedUntil = new Map<string, number>()
  /** No reservation ends before. */
  #nextEnd = Infinity
  #now = 0
  #quotaVersion = -1
  #hasNews = false

  constructor(settings: WorkloadsSettings) {
    this.quota = createQuotaTracker(quotaSettings(settings))
    this.#backoffMs = backoffTimeMs(settings.mcad)
    this.#queue = createAdmissionQueue(this.nodes, this.#tree, {
      ...queueSettings(settings.mcad),
      awaitsConfirmation: true,
    })
    this.#minimumRunMs = minimumRunMs(settings.mcad)
    this.#reservationMs = reservationMs(settings.mcad)
  }

  takeAppWrapper({ metadata: { uid = '' } }: AppWrapperObject, object: AppWrapperObject | undefined): void {
    const known = this.#entries.get(uid)
    this.#hasNews = true
    if (!object) {
      if (known) this.#drop(uid)
      return
    }
    if (!known) this.#entries.set(uid, { object, groups: groupsOf(object), classKey: '', state: 'new', leaves: false })
    else {
      if (known.object.spec !== object.spec) known.groups = groupsOf(object)
      known.object = object
    }
    this.#dirty.add(uid)
  }

  takePod(uid: string, pod: Pod | undefined): void {
    const owner = this.#pods.take(uid, pod)
    if (owner !== undefined) this.#moved.add(owner)
    this.#hasNews = true
  }

  decide(now: number): DecisionBatch<QueueDecision> {
    const changed = new Map<string, QueueDecision | undefined>()
    this.#now = now
    this.#takeQuota()
    // Pods that are still to come get their room in one order, whatever order the changes came in.
    for (const uid of sorted(this.#dirty)) this.#place(uid, this.#entries.get(uid)!)
    this.#dirty.clear()
    this.#endReservations()
    for (const uid of sorted(this.#moved)) this.#settle(uid)
    this.#moved.clear()
    for (const uid of this.#over) changed.set(uid, undefined)
    this.#over.clear()
    for (const [uid, decision] of this.#pending) changed.set(uid, decision)
    this.#pending.clear()
    const note = (uid: string, decision: QueueDecision): void => {
      this.#decided.set(uid, decision)
      changed.set(uid, decision)
    }
    const { starts, evictions, again } = this.#queue.decide(now)
    for (const { workload, flavors } of starts) {
      const entry = this.#entries.get(workload.id)
      if (!entry) continue
      entry.state = 'started'
      this.#stale.delete(workload.id)
      const placements = placementsOf(workload.quotas ?? [], flavors, this.#tree)
      note(workload.id, { what: 'start', ...(placements && { placements }) })
    }
    for (const eviction of evictions) {
      const { id, reason } = eviction
      const entry = this.#entries.get(id)
      if (!entry) continue
      entry.leaves = true
      note(id, { what: 'evict', reason, message: evictionText(eviction, this.#nameOf) })
    }
    const sweep = this.#explain(now, note)
    const next = Math.min(again ?? Infinity, sweep, this.#nextEnd)
    return { decisions: changed, ...(next !== Infinity && { again: next }) }
  }

  /** The words for reasons are written when the kind of the reason changes. */
  #explain(now: number, note: (uid: string, decision: QueueDecision) => void): number {
    // A sweep is ended before the next one begins: a decision then costs the same, however many wait.
    if (this.#hasNews && this.#stale.size === 0) {
      this.#hasNews = false
      for (const [uid, { state }] of this.#entries) if (state === 'waiting') this.#stale.add(uid)
    }
    let positions = mostPositions
    const known = new Map<string, WaitReason>()
    const explain = (uid: string): void => {
      this.#stale.delete(uid)
      const before = this.#decided.get(uid)
      // Of a burst only the first ones learn how many are ahead.
      const ahead = positions-- > 0 ? (this.#queue.position(uid, now) ?? 1) - 1 : undefined
      const reason = this.#reasonOf(uid, now, ahead, known)
      const kind = reason?.kind ?? 'Queued'
      if (before?.what === 'wait' && before.reason === kind) return
      const message = reason ? waitingText(reason, ahead ?? 0, this.#nameOf) : 'It is next.'
      note(uid, { what: 'wait', reason: kind, message })
    }
    // The first reason is not kept waiting.
    for (const uid of this.#fresh) if (this.#entries.get(uid)?.state === 'waiting') explain(uid)
    this.#fresh.clear()
    let left = mostReasons
    for (const uid of this.#stale) {
      if (left-- === 0) break
      explain(uid)
    }
    return this.#stale.size > 0 || this.#hasNews ? now + sweepMs : Infinity
  }

  /** What is short is short for all that ask for the same; what is done for one of them concerns the first of the queue. */
  #reasonOf(
    uid: string,
    now: number,
    ahead: number | undefined,
    known: Map<string, WaitReason>,
  ): WaitReason | undefined {
    const { classKey } = this.#entries.get(uid)!
    const shared = ahead === 0 ? undefined : known.get(classKey)
    if (shared) return shared
    const reason = this.#queue.explain(uid, now)
    if (reason && shortages.has(reason.kind)) known.set(classKey, reason)
    return reason
  }

  #takeQuota(): void {
    if (this.quota.version === this.#quotaVersion) return
    this.#quotaVersion = this.quota.version
    this.#tree.setNodes(this.quota.model().pools)
    for (const uid of this.#entries.keys()) this.#dirty.add(uid)
    this.#hasNews = true
  }

  /** Puts an AppWrapper where its status says that it belongs. */
  #place(uid: string, entry: Entry): void {
    const { object, groups } = entry
    const life = lifeOf(object, 0)
    const { metadata, spec } = object
    if (life.isReserved) {
      this.#run(uid, entry, life)
      return
    }
    const isOurs = spec.managedBy === undefined || spec.managedBy === ownManager
    if (life.phase !== 'Suspended' || spec.suspend || metadata.deletionTimestamp !== undefined || !isOurs) {
      this.#leave(uid, entry)
      return
    }
    // Until the status says that it was dispatched, a start stands.
    if (entry.state === 'started') return
    if (entry.state === 'running') this.#leave(uid, entry)
    if (!groups) {
      entry.state = 'started'
      this.#decided.set(uid, { what: 'start' })
      this.#pending.set(uid, { what: 'start' })
      return
    }
    const charge = this.quota.chargeOf(object)
    if (charge.kind === 'Refused') this.#refuse(uid, entry, charge)
    else {
      if (entry.state === 'refused') this.#leave(uid, entry)
      if (entry.state !== 'waiting') this.#fresh.add(uid)
      entry.state = 'waiting'
      entry.classKey = [...charge.pools, ...groups.map(({ shape, count }) => `${count} ${shape.key}`)].join('\n')
      this.#queue.add(this.#workloadOf(object, life, groups, charge))
    }
  }

  #run(uid: string, entry: Entry, life: Life): void {
    const { object, groups } = entry
    const isNew = entry.state !== 'running'
    entry.state = 'running'
    const isLeaving = life.phase === 'Suspending'
    const decision = this.#decided.get(uid)
    if (decision && (decision.what !== 'evict' || isLeaving)) this.#end(uid)
    if (!groups) return
    const charge = this.quota.chargeOf(object)
    // What runs is charged as far as its quota is known.
    const charged = charge.kind === 'Charged' ? charge : unchargeable
    const { placed, pending } = this.#podsOf(uid, groups, life)
    const reason = evictionReasons.get(life.why.reason)
    this.#queue.restore(this.#workloadOf(object, life, groups, charged), {
      pods: placed,
      pending,
      ...(isLeaving && { leaving: { reason: reason ?? 'Preempted' } }),
      ...(life.placements && { flavors: life.placements.map((one) => new Map(Object.entries(one.flavors))) }),
    })
    this.#pods.setKnown(uid, true)
    if (isNew || isLeaving) this.#settle(uid)
  }

  #settle(uid: string): void {
    const entry = this.#entries.get(uid)
    if (!entry?.groups || (entry.state !== 'running' && entry.state !== 'started')) return
    this.#pods.setKnown(uid, true)
    const { placed, pending } = this.#podsOf(uid, entry.groups, lifeOf(entry.object, 0))
    this.#queue.settle(uid, placed, pending)
  }

  /** What leaves gets no pods any more. After the time to reserve, room is with those whose pods come first. */
  #podsOf(uid: string, groups: readonly PodGroup[], life: Life): ReturnType<QueuePods['of']> {
    const { phase, isReserved, deployedAt } = life
    const own = this.#pods.of(uid, groups)
    // Objects that are created anew are dispatched anew.
    const isDispatched = isReserved && phase !== 'Resetting' && deployedAt !== undefined
    const until = isDispatched ? deployedAt + this.#reservationMs : Infinity
    const keeps = phase !== 'Suspending' && this.#now < until
    if (keeps && own.pending.length > 0 && until !== Infinity) {
      this.#reservedUntil.set(uid, until)
      this.#nextEnd = Math.min(this.#nextEnd, until)
    } else this.#reservedUntil.delete(uid)
    return keeps ? own : { ...own, pending: [] }
  }

  #endReservations(): void {
    if (this.#now < this.#nextEnd) return
    this.#nextEnd = Infinity
    for (const [uid, until] of this.#reservedUntil) {
      if (until > this.#now) this.#nextEnd = Math.min(this.#nextEnd, until)
      else {
        this.#reservedUntil.delete(uid)
        this.#moved.add(uid)
        this.#hasNews = true
      }
    }
  }

  #refuse(uid: string, entry: Entry, { reason, message }: Extract<QuotaCharge, { kind: 'Refused' }>): void {
    if (entry.state === 'waiting') this.#queue.remove(uid)
    entry.state = 'refused'
    this.#stale.delete(uid)
    const decision: QueueDecision = { what: 'wait', reason, message }
    const before = this.#decided.get(uid)
    if (before?.what === 'wait' && before.reason === reason) return
    this.#decided.set(uid, decision)
    this.#pending.set(uid, decision)
  }

  /** It neither waits nor runs. */
  #leave(uid: string, entry: Entry): void {
    this.#queue.remove(uid)
    this.#reservedUntil.delete(uid)
    this.#pods.setKnown(uid, false)
    this.#stale.delete(uid)
    this.#end(uid)
    entry.state = 'new'
    entry.leaves = false
  }

  #drop(uid: string): void {
    this.#leave(uid, this.#entries.get(uid)!)
    this.#entries.delete(uid)
    this.#dirty.delete(uid)
  }

  #end(uid: string): void {
    if (this.#decided.delete(uid)) this.#over.add(uid)
    this.#pending.delete(uid)
  }

  readonly #nameOf = (uid: string): string => {
    const metadata = this.#entries.get(uid)?.object.metadata
    return metadata ? `AppWrapper ${metadata.namespace ?? ''}/${metadata.name}` : 'another AppWrapper'
  }

  #workloadOf(
    { spec, metadata, status }: AppWrapperObject,
    life: Life,
    groups: readonly PodGroup[],
    { pools, stop }: Extract<QuotaCharge, { kind: 'Charged' }>,
  ): QueuedWorkload {
    const { priority = 0, prioritySlope = 0, dispatchDuration } = spec.scheduling ?? {}
    const { limit = 0, expected = 0 } = dispatchDuration ?? {}
    const labelled = this.quota.model().priorityOf(metadata.labels ?? {})
    const lastLeave = status?.transitions?.findLast(({ phase }) => phase === 'Suspending')
    const isPausing = life.phase === 'Suspended' && lastLeave !== undefined && pausing.has(lastLeave.reason)
    return {
      id: metadata.uid ?? '',
      queue: pools.at(-1) ?? '',
      quotas: pools,
      priority: labelled ?? priority,
      slope: prioritySlope,
      since: parseTime(metadata.creationTimestamp ?? '') ?? 0,
      groups,
      ...(stop !== 'None' && { stop }),
      minimumRunMs: this.#minimumRunMs,
      ...(isPausing && { notBefore: life.since + this.#backoffMs }),
      ...(life.deployedAt !== undefined && { startedAt: life.deployedAt }),
      ...(limit > 0 && { limitMs: limit * 1000 }),
      ...(expected > 0 && { expectedMs: expected * 1000 }),
    }
  }
}

/** Reasons that say what is short. */
const shortages: ReadonlySet<WaitReason['kind']> = new Set([
  'InsufficientQuota',
  'InsufficientNodes',
  'InsufficientNodesTogether',
  'NoFlavor',
])

function sorted(uids: ReadonlySet<string>): readonly string[] {
  return [...uids].toSorted((a, b) => (a < b ? -1 : 1))
}

const unchargeable = { kind: 'Charged', pools: [], stop: 'None' } as const

const evictionReasons = new Map(
  (['Preempted', 'ReclaimedQuota', 'FairSharing', 'QueueStopped'] as const).map((reason) => [reason as string, reason]),
)

/** After these the same would happen at once. */
const pausing: ReadonlySet<string> = new Set(['MinPodsNotRunning', 'PodsFailedScheduling'])

function groupsOf(object: AppWrapperObject): readonly PodGroup[] | undefined {
  try {
    return demandIn(object)
  } catch {
    return undefined
  }
}
