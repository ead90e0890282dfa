/**
 * What the queue would do next, worked out from lists of objects: of a cluster, or of a directory. The coordinator of the queue takes the
 * objects in and decides, so that a forecast never differs from what the operator does with the same objects.
 *
 * A forecast goes from one declared end of a running AppWrapper to the next. What has no declared end runs for ever, and nothing new
 * arrives: an estimate is a promise of neither.
 */
import type { KubeObject } from '../../kube/object.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import { Pod } from '../../kube/kinds.ts'
import { formatTime, parseTime } from '../../kube/units/duration.ts'
import type { Coordinator } from '../../operator/coordinator/coordinator.ts'
import { AppWrapper, type AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { uidLabel } from '../appwrapper/labels.ts'
import { lifeOf } from '../appwrapper/life-status.ts'
import { queueCoordinator } from '../appwrapper/queue-coordinator.ts'
import { quotaSettings } from '../configuration/queue-settings.ts'
import type { WorkloadsSettings } from '../configuration/workloads-config.ts'
import type { QueueDecision } from '../core/phases/phases.ts'
import type { QuotaProblem } from '../quota/quota-problem.ts'
import { createQuotaTracker, type QuotaTracker } from '../quota/quota-tracker.ts'

interface ForecastSituation {
  readonly objects: readonly ForecastObject[]
  readonly settings: WorkloadsSettings
  readonly now: number
}

interface ForecastObject {
  readonly resource: Resource
  readonly object: KubeObject
}

export interface QueueEntry {
  readonly namespace: string
  readonly name: string
  /** `starts`, `leaves`: the next decision of the queue. */
  readonly state: 'waits' | 'starts' | 'runs' | 'leaves' | 'ended' | 'suspended'
  readonly phase: string
  readonly priority: number
  /** Since when it waits, or since its creation. */
  readonly since: number
  /** The pools that it is charged to: `queue/team-a`; empty: no quota concerns it. */
  readonly quotas: readonly string[]
  /** From 1, among those that wait for the same quota. */
  readonly position?: number
  readonly reason?: string
  readonly message?: string
}

export interface QueueForecast {
  /** Those that run first, then those that wait in the order in which they start. */
  readonly entries: readonly QueueEntry[]
  /** What is wrong with objects of quota. */
  readonly problems: readonly QuotaProblem[]
  /** When it starts, if nothing new arrives. */
  startOf(namespace: string, name: string): StartForecast | undefined
  /** What would happen if this AppWrapper were created now. */
  whatIf(object: AppWrapperObject): StartForecast & { readonly entry: QueueEntry }
}

export interface StartForecast {
  /** Undefined: nothing that is declared says when. */
  readonly at: number | undefined
  /** Those that leave for it, or for those ahead of it. */
  readonly evicted: readonly string[]
  /** AppWrappers that start before it. */
  readonly before: readonly string[]
}

/** Ends that are looked at. */
const mostSteps = 2000
/** Within one moment, starts and evictions follow each other. */
const mostRounds = 100

export function forecastQueue(situation: ForecastSituation): QueueForecast {
  const world = new World(situation)
  const decisions = world.decide(situation.now)
  const entries = entriesOf(world, decisions, situation.now)
  const refOf = (uid: string): string => refText(world.appWrappers.get(uid))
  return {
    entries,
    problems: world.quota.model().problems,
    startOf(namespace, name) {
      const uid = [...world.appWrappers].find(
        ([, { metadata }]) => metadata.namespace === namespace && metadata.name === name,
      )?.[0]
      return uid === undefined ? undefined : startIn(new World(situation), uid, situation.now, refOf)
    },
    whatIf(object) {
      const uid = 'what-if'
      const created: AppWrapperObject = {
        ...object,
        metadata: { ...object.metadata, uid, creationTimestamp: formatTime(situation.now) },
      }
      const { status: _, ...asked } = created
      const extended = { ...situation, objects: [...situation.objects, { resource: AppWrapper, object: asked }] }
      const other = new World(extended)
      const first = entriesOf(other, other.decide(situation.now), situation.now)
      const entry = first.find(
        (one) => one.namespace === object.metadata.namespace && one.name === object.metadata.name,
      )!
      return { entry, ...startIn(new World(extended), uid, situation.now, refOf) }
    },
  }
}

/** The coordinator with its state, and what it has been told. */
class World {
  readonly appWrappers = new Map<string, AppWrapperObject>()
  readonly pods = new Map<string, KubeObject[]>()
  readonly quota: QuotaTracker
  readonly settings: WorkloadsSettings
  readonly #coordinator: Coordinator<QueueDecision> = queueCoordinator()
  readonly #state: unknown
  /** By uid. */
  readonly #decisions = new Map<string, QueueDecision>()

  constructor({ objects, settings }: ForecastSituation) {
    // Who is held back for a while is not the question: what is missing is.
    this.settings = { ...settings, mcad: { ...settings.mcad, backoffTime: 0 } }
    this.quota = createQuotaTracker(quotaSettings(settings))
    this.#state = this.#coordinator.start({ config: this.settings })
    const read = new Set(this.#coordinator.inputs.map(formatResource))
    for (const { resource, object } of objects) {
      this.quota.take({ resource, object })
      const kind = formatResource(resource)
      const { uid = '', labels = {} } = object.metadata
      if (kind === formatResource(AppWrapper)) this.appWrappers.set(uid, object as AppWrapperObject)
      if (kind === formatResource(Pod)) {
        const owner = labels[uidLabel] ?? ''
        const own = this.pods.get(owner) ?? []
        this.pods.set(owner, own)
        own.push(object)
      }
      if (read.has(kind)) this.#coordinator.take(this.#state, { resource, object })
    }
  }

  /** All decisions that stand. */
  decide(now: number): ReadonlyMap<string, QueueDecision> {
    for (const [uid, decision] of this.#coordinator.decide(this.#state, now).decisions)
      if (decision) this.#decisions.set(uid, decision)
      else this.#decisions.delete(uid)
    return this.#decisions
  }

  /** It has ended, with all of its pods. */
  remove(uid: string): void {
    const object = this.appWrappers.get(uid)
    if (!object) return
    this.appWrappers.delete(uid)
    for (const pod of this.pods.get(uid) ?? []) this.#coordinator.take(this.#state, { resource: Pod, before: pod })
    this.#coordinator.take(this.#state, { resource: AppWrapper, before: object })
  }
}

function entriesOf(world: World, decisions: ReadonlyMap<string, QueueDecision>, now: number): readonly QueueEntry[] {
  const all = [...world.appWrappers].map(([uid, object]) => entryOf(world, object, decisions.get(uid), now))
  const waiting = all.filter(({ state }) => state === 'waits' || state === 'starts').toSorted(byOrder)
  const counts = new Map<string, number>()
  const placed = waiting.map((entry): QueueEntry => {
    const key = entry.quotas.join('\n')
    const position = (counts.get(key) ?? 0) + 1
    counts.set(key, position)
    return Object.assign({}, entry, { position })
  })
  const others = all.filter(({ state }) => state !== 'waits' && state !== 'starts')
  const rank = ({ state }: QueueEntry): number => ['leaves', 'runs', 'suspended', 'ended'].indexOf(state)
  const sorted = others.toSorted((a, b) => rank(a) - rank(b) || byOrder(a, b))
  const isActive = ({ state }: QueueEntry): boolean => state === 'leaves' || state === 'runs'
  return [...sorted.filter(isActive), ...placed, ...sorted.filter((entry) => !isActive(entry))]
}

function byOrder(a: QueueEntry, b: QueueEntry): number {
  const [first, second] = [`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`]
  return b.priority - a.priority || a.since - b.since || (first < second ? -1 : 1)
}

function entryOf(world: World, object: AppWrapperObject, decision: QueueDecision | undefined, now: number): QueueEntry {
  const { metadata, spec } = object
  const { phase, isReserved } = lifeOf(object, now)
  const charge = world.quota.chargeOf(object)
  const since = parseTime(metadata.creationTimestamp ?? '') ?? now
  const base = world.quota.model().priorityOf(metadata.labels ?? {}) ?? spec.scheduling?.priority ?? 0
  const slope = world.settings.mcad.dynamicPriority ? (spec.scheduling?.prioritySlope ?? 0) : 0
  const state = stateOf(decision, { phase, isReserved, isSuspended: spec.suspend ?? false })
  const why = decision && decision.what !== 'start' ? decision : undefined
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    state,
    phase,
    priority: base + (slope * Math.max(now - since, 0)) / 1000,
    since,
    quotas: charge.kind === 'Charged' ? charge.pools : [],
    ...(why && { reason: why.reason, message: why.message }),
  }
}

function stateOf(
  decision: QueueDecision | undefined,
  life: { readonly phase: string; readonly isReserved: boolean; readonly isSuspended: boolean },
): QueueEntry['state'] {
  if (decision?.what === 'evict') return 'leaves'
  if (decision?.what === 'start') return 'starts'
  if (decision?.what === 'wait') return 'waits'
  if (life.phase === 'Succeeded' || life.phase === 'Failed') return 'ended'
  return life.isReserved ? 'runs' : 'suspended'
}

/** Goes through declared ends until it starts. */
function startIn(world: World, uid: string, now: number, refOf: (uid: string) => string): StartForecast {
  const evicted = new Set<string>()
  const before: string[] = []
  const ends = new Map<string, number>()
  for (const [other, object] of world.appWrappers) {
    const { isReserved, firstDispatchAt, since } = lifeOf(object, now)
    const duration = durationOf(object)
    if (isReserved && duration !== undefined) ends.set(other, Math.max(now, (firstDispatchAt ?? since) + duration))
  }
  const started = new Set<string>()
  let at = now
  for (let step = 0; step < mostSteps; step++) {
    for (let round = 0; round < mostRounds; round++) {
      const decisions = [...world.decide(at)]
      const leaving = decisions.filter(([other, { what }]) => what === 'evict' && world.appWrappers.has(other))
      for (const [other, { what }] of decisions) {
        if (what !== 'start' || started.has(other)) continue
        started.add(other)
        if (other === uid) return { at, evicted: [...evicted].map(refOf), before: before.map(refOf) }
        before.push(other)
        const duration = durationOf(world.appWrappers.get(other))
        if (duration !== undefined) ends.set(other, at + duration)
      }
      if (leaving.length === 0) break
      for (const [other] of leaving) {
        evicted.add(other)
        ends.delete(other)
        world.remove(other)
      }
    }
    const next = [...ends].reduce<readonly [string, number] | undefined>(
      (first, end) => (first && first[1] <= end[1] ? first : end),
      undefined,
    )
    if (!next) break
    ends.delete(next[0])
    at = Math.max(at, next[1])
    world.remove(next[0])
  }
  return { at: undefined, evicted: [...evicted].map(refOf), before: before.map(refOf) }
}

/** How long it runs, as far as it is declared. */
function durationOf(object: AppWrapperObject | undefined): number | undefined {
  const { limit = 0, expected = 0 } = object?.spec.scheduling?.dispatchDuration ?? {}
  const seconds = expected > 0 ? expected : limit
  return seconds > 0 ? seconds * 1000 : undefined
}

function refText(object: AppWrapperObject | undefined): string {
  return object ? `${object.metadata.namespace ?? ''}/${object.metadata.name}` : ''
}
