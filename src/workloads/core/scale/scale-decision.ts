/**
 * The node scaler's decision: how many machines each pool should have, for which workload each machine is, and why a workload gets
 * none. A function of what is stored on workloads, pools and machines, and of the time: after a crash it decides the same.
 *
 * A machine that was added goes one way: for the workload that waits for it, then to the next one that waits for the like of it, and
 * if there is none, after the grace time, away. It counts towards the maximum from the write that adds it to the write that
 * removes it, so that the maximum holds for all pools and workloads together.
 */
import { assignMachines } from './machine-choice.ts'
import { compareWaiting, type ScaledWorkload } from './node-demand.ts'
import {
  added,
  claimed,
  poolDraft,
  failedSince,
  give,
  handOver,
  idleCount,
  type NodePool,
  type PoolDraft,
  releaseMachines,
  spareCount,
  takeBack,
  takeIdle,
} from './node-pool.ts'
import { choosePools, createNodeNeeds, createPendingNodes, type NodeNeeds, type PoolChoice } from './pool-choice.ts'
import { concludePool } from './scale-in.ts'
import {
  askAgain,
  type NewPool,
  type PoolDecision,
  type Round,
  type ScaleSettings,
  type WorkloadDecision,
} from './scale-round.ts'

export interface ScaleDecision {
  /** Pools that are to be written. */
  readonly pools: ReadonlyMap<string, PoolDecision>
  /** Workloads that wait for nodes. */
  readonly workloads: ReadonlyMap<string, WorkloadDecision>
  /** When time alone changes the decision. */
  readonly again: number | undefined
}

const mostDoublings = 4

export function decideScaling(
  workloads: Iterable<ScaledWorkload>,
  pools: Iterable<NodePool>,
  settings: ScaleSettings,
  now: number,
  /** What it remembers is used in the next decision. */
  needs: NodeNeeds = createNodeNeeds(),
): ScaleDecision {
  const drafts = [...pools]
    .filter(({ isLeaving }) => !isLeaving)
    .toSorted((a, b) => Number(isPattern(a)) - Number(isPattern(b)) || compare(a.name, b.name) || compare(a.id, b.id))
    .map(poolDraft)
  // What is taken back counts until that is stored.
  const stored = drafts.reduce((sum, { pool }) => sum + added(pool.record), 0)
  const holders = new Set(drafts.flatMap(({ claims }) => claims.map(({ workload }) => workload)))
  const round: Round = {
    holders,
    hasSpare: false,
    workloads: new Map([...workloads].map((one) => [one.id, one])),
    drafts,
    settings,
    now,
    pending: createPendingNodes(),
    needs,
    decided: new Map(),
    served: new Set(),
    budget: settings.maxScaleout - stored,
    isBlocked: false,
    again: Infinity,
  }
  for (const draft of drafts) {
    trimToReplicas(draft, round)
    reviewClaims(draft, round)
  }
  coolPatterns(drafts)
  round.hasSpare = drafts.some((draft) => spareCount(draft) > 0)
  const waiting = [...round.workloads.values()].filter(({ phase }) => phase === 'waiting').toSorted(compareWaiting)
  countPending(waiting, round)
  for (const workload of waiting) serve(workload, round)
  const decisions = new Map(
    drafts.flatMap((draft) => {
      const decision = concludePool(draft, round)
      return decision ? [[draft.pool.id, decision] as const] : []
    }),
  )
  return { pools: decisions, workloads: round.decided, again: round.again === Infinity ? undefined : round.again }
}

/** A pool that is there comes before one that would be made. */
function isPattern({ sort }: NodePool): boolean {
  return sort === 'pattern'
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** A person took machines away that had been added: whose they were is decided here, and the pool is left alone for a while. */
function trimToReplicas(draft: PoolDraft, round: Round): void {
  let excess = claimed(draft) + idleCount(draft) - draft.replicas
  if (excess <= 0) return
  excess -= takeIdle(draft, excess)
  const rank = ({ workload }: { readonly workload: string }): number =>
    round.workloads.get(workload)?.phase === 'running' ? 1 : 0
  for (const { workload, count } of draft.claims.toSorted((a, b) => rank(a) - rank(b) || b.since - a.since)) {
    takeBack(draft, workload, Math.min(count, excess))
    excess -= Math.min(count, excess)
    if (excess === 0) break
  }
  draft.notBefore = Math.max(draft.notBefore, round.now + round.settings.coolDownMs)
}

/** Claims of workloads that need no nodes any more, and machines that fail or take too long. */
function reviewClaims(draft: PoolDraft, round: Round): void {
  const { now, settings, workloads } = round
  const { of } = assignMachines(draft.pool.machines, draft)
  for (const { workload: id, count, since } of draft.claims) {
    const workload = workloads.get(id)
    const machines = of(id)
    if (!workload || workload.phase === 'other') {
      releaseMachines(draft, id, count, now)
      continue
    }
    if (workload.phase === 'running') {
      const isElsewhere = workload.isSettled && machines.length > 0 && !machines.some(({ users }) => users.includes(id))
      if (!isElsewhere) continue
      if (now >= workload.since + settings.settleMs) releaseMachines(draft, id, count, now)
      else askAgain(round, workload.since + settings.settleMs)
      continue
    }
    giveUpOn(draft, id, count, since, round)
    for (const { users, isReady } of machines) {
      // Another workload took the machine: it is for that one from now on, and this one gets another.
      const user = users.find((other) => other !== id && workloads.get(other)?.phase === 'running')
      if (!isReady || user === undefined || users.includes(id)) continue
      const other = workloads.get(user)!
      const at = Math.max(other.since, since) + settings.settleMs
      if (now < at) {
        askAgain(round, at)
        continue
      }
      takeBack(draft, id, 1)
      give(draft, { workload: user, namespace: other.namespace, name: other.name }, 1, now)
    }
  }
}

/** Machines that failed, or are not ready in time, are given up; the pool cools down. */
function giveUpOn(draft: PoolDraft, id: string, count: number, since: number, round: Round): void {
  const { now, settings } = round
  const machines = assignMachines(draft.pool.machines, draft).of(id)
  const ready = machines.filter(({ isReady, failure }) => isReady && failure === undefined).length
  const failures = machines.filter(({ failure }) => failure !== undefined).length
  const isLate = now >= since + settings.machineTimeoutMs
  const lost = isLate ? count - ready : failures
  if (ready < count && !isLate) askAgain(round, since + settings.machineTimeoutMs)
  if (lost > 0) {
    releaseMachines(draft, id, lost, failedSince)
    draft.failures += 1
    draft.notBefore = now + settings.coolDownMs * 2 ** Math.min(draft.failures - 1, mostDoublings)
  } else if (ready === count && draft.failures > 0) draft.failures = 0
}

/** What failed for one pool would fail for the next one that is made after the same pattern. */
function coolPatterns(drafts: readonly PoolDraft[]): void {
  const until = new Map<string, number>()
  for (const { pool, notBefore } of drafts)
    if (pool.pattern !== undefined) until.set(pool.pattern, Math.max(until.get(pool.pattern) ?? 0, notBefore))
  for (const draft of drafts) if (draft.pool.sort === 'pattern') draft.notBefore = until.get(draft.pool.id) ?? 0
}

/** Nodes that are being added for workloads without named instance types have room for others, too. */
function countPending(
  waiting: readonly ScaledWorkload[],
  { drafts, workloads, pending, served, now, settings }: Round,
): void {
  const isOpen = (one: ScaledWorkload | undefined): one is ScaledWorkload =>
    one?.instances === 'inferred' &&
    (one.phase === 'waiting' || (one.phase === 'running' && now < one.since + settings.settleMs))
  const holders = new Set<ScaledWorkload>()
  for (const { pool, claims } of drafts)
    for (const { workload, count } of claims) {
      const holder = workloads.get(workload)
      if (!isOpen(holder)) continue
      // What cannot be judged is taken to be enough.
      if (!pool.template) served.add(holder.id)
      else pending.add(pool.template, count)
      holders.add(holder)
    }
  for (const holder of holders) if (holder.phase === 'running') pending.take(holder.groups)
  // Those that nodes are added for take them before others do.
  for (const holder of waiting) if (holders.has(holder) && pending.take(holder.groups)) served.add(holder.id)
}

/** One workload that waits for nodes. */
function serve(workload: ScaledWorkload, round: Round): void {
  const { decided, served, pending, drafts } = round
  const { id, instances, groups } = workload
  if (instances === 'inferred') {
    if (served.has(id)) decided.set(id, progress(workload, drafts))
    else if (pending.take(groups)) decided.set(id, { reason: 'SharesNodes', message: sharingMessage, create: [] })
    else decided.set(id, serveInferred(workload, round))
    return
  }
  decided.set(id, instances.size === 0 ? noInstanceTypes : serveNamed(workload, instances, round))
}

const sharingMessage = 'Nodes that are being added for other workloads have room for it, too.'
const noInstanceTypes: WorkloadDecision = {
  reason: 'NoInstanceTypes',
  message: 'It names no instance types, and none are inferred for it: no machines are added.',
  create: [],
}

/** Nodes of any pool that its pods fit. */
function serveInferred(workload: ScaledWorkload, round: Round): WorkloadDecision {
  const { settings, needs, now } = round
  const { id, groups } = workload
  // Too few machines of several pools: it gets enough of one, and those of it again that this one has.
  if (round.holders.has(id)) {
    for (const draft of round.drafts)
      for (const claim of draft.claims) if (claim.workload === id) releaseMachines(draft, id, claim.count, now)
    round.hasSpare = true
  }
  if (round.isBlocked && !round.hasSpare) return limitReached(settings)
  const options = round.drafts.flatMap((draft) => {
    const { template } = draft.pool
    return template && mayServe(draft, id) ? [{ draft, template }] : []
  })
  const byId = new Map(options.map(({ draft }) => [draft.pool.id, draft]))
  const choose = (room: (draft: PoolDraft) => number): readonly PoolChoice[] | undefined =>
    choosePools(
      groups,
      options.flatMap(({ draft, template }) => {
        const left = room(draft)
        return left > 0 ? [{ id: draft.pool.id, template, room: left }] : []
      }),
      needs,
    )
  const take = (choice: readonly PoolChoice[]): WorkloadDecision =>
    fulfil(
      workload,
      choice.map((each) => ({ draft: byId.get(each.id)!, count: each.count })),
      round,
    )
  // Machines that are there cost nothing more.
  const spare = choose(spareCount)
  if (spare) return take(spare)
  if (round.isBlocked) return limitReached(settings)
  const room = (draft: PoolDraft): number => headroom(draft) + spareCount(draft)
  const isOpen = (draft: PoolDraft): boolean => draft.notBefore <= now
  const open = (draft: PoolDraft): number => (isOpen(draft) ? room(draft) : spareCount(draft))
  // A pool of larger machines may do with as many as are ever added.
  const choice = choose((draft) => Math.min(open(draft), settings.maxScaleout)) ?? choose(open)
  if (choice) return take(choice)
  const later = choose(room)
  if (!later)
    return { reason: 'NoMatchingPool', message: 'Its pods fit the nodes of no pool that can grow.', create: [] }
  return unavailable(
    options.map(({ draft }) => draft),
    round,
  )
}

function limitReached({ maxScaleout }: ScaleSettings, count?: number): WorkloadDecision {
  const need = count === undefined ? 'It needs more machines' : `It needs ${machinesOf(count)} more`
  return {
    reason: 'MaxScaleoutReached',
    message: `${need}; all pools together may be given ${maxScaleout} (instascale.maxScaleoutAllowed).`,
    create: [],
  }
}

/** Machines of the instance types that it names. */
function serveNamed(
  workload: ScaledWorkload,
  instances: Exclude<ScaledWorkload['instances'], 'inferred'>,
  round: Round,
): WorkloadDecision {
  const { drafts, now } = round
  const { id } = workload
  const missing = new Map(instances)
  for (const draft of drafts) {
    const count = draft.claims.find((claim) => claim.workload === id)?.count ?? 0
    if (count === 0) continue
    const type = draft.pool.instanceType ?? ''
    const left = (missing.get(type) ?? 0) - count
    if (left < 0) {
      releaseMachines(draft, id, -left, now)
      round.hasSpare = true
    }
    missing.set(type, Math.max(0, left))
  }
  const shares: Share[] = []
  for (const [type, count] of missing) {
    if (count === 0) continue
    const matching = drafts.filter((draft) => draft.pool.instanceType === type && mayServe(draft, id))
    if (matching.length === 0)
      return { reason: 'NoMatchingPool', message: `There is no pool of machines of the type ${type}.`, create: [] }
    const left = share(shares, matching, count, now)
    if (left === 0) continue
    const isCooling = share([], matching, count, Infinity) === 0
    return isCooling
      ? unavailable(matching, round)
      : {
          reason: 'NoMatchingPool',
          message: `It needs ${machinesOf(count)} of the type ${type}, and its pools may have ${count - left} more.`,
          create: [],
        }
  }
  if (shares.length === 0) return progress(workload, drafts)
  return fulfil(workload, shares, round)
}

interface Share {
  readonly draft: PoolDraft
  readonly count: number
}

/** Spreads machines over pools: idle machines first, then in the order of the pools; how many find no place. */
function share(shares: Share[], pools: readonly PoolDraft[], count: number, now: number): number {
  let left = count
  const spare = new Map<PoolDraft, number>()
  for (const draft of pools) {
    const here = Math.min(left, spareCount(draft))
    left -= here
    if (here > 0) spare.set(draft, here)
  }
  for (const draft of pools) {
    const here = draft.notBefore <= now ? Math.min(left, headroom(draft)) : 0
    left -= here
    const total = here + (spare.get(draft) ?? 0)
    if (total > 0) shares.push({ draft, count: total })
  }
  return left
}

/** Gives the workload its machines, all or none: idle ones first, then new ones. */
function fulfil(workload: ScaledWorkload, shares: readonly Share[], round: Round): WorkloadDecision {
  const { now, settings, pending } = round
  const fresh = shares.reduce((sum, { draft, count }) => sum + Math.max(0, count - spareCount(draft)), 0)
  if (fresh > settings.maxScaleout) return exceeding(fresh, settings)
  if (fresh > 0 && (round.isBlocked || fresh > round.budget)) {
    round.isBlocked = true
    return limitReached(settings, fresh)
  }
  round.budget -= fresh
  const to = { workload: workload.id, namespace: workload.namespace, name: workload.name }
  const create: NewPool[] = []
  for (const { draft, count } of shares) {
    const { id, sort, instanceType, template } = draft.pool
    if (template && workload.instances === 'inferred') pending.add(template, count)
    const left = count - handOver(draft, to, count, now)
    if (left === 0) continue
    if (sort === 'pattern') create.push({ pattern: id, instanceType, count: left })
    else {
      draft.replicas += left
      give(draft, to, left, now)
    }
  }
  if (workload.instances === 'inferred') pending.take(workload.groups)
  askAgain(round, now + settings.machineTimeoutMs)
  return { reason: 'ScalingOut', message: addedMessage(shares), create }
}

function addedMessage(shares: readonly Share[]): string {
  return `Machines are added or handed over: ${shares.map(({ draft, count }) => `${count} of ${draft.pool.name}`).join(', ')}.`
}

function progress({ id }: ScaledWorkload, drafts: readonly PoolDraft[]): WorkloadDecision {
  const shares = drafts.flatMap((draft) => {
    const count = draft.claims.find(({ workload }) => workload === id)?.count ?? 0
    return count > 0 ? [{ draft, count }] : []
  })
  const isReady = shares.every(({ draft, count }) => {
    const machines = assignMachines(draft.pool.machines, draft).of(id)
    return machines.filter((machine) => machine.isReady).length >= count
  })
  return isReady
    ? { reason: 'NodesReady', message: 'The nodes that were added for it are ready.', create: [] }
    : { reason: 'ScalingOut', message: addedMessage(shares), create: [] }
}

/** A pool that was made for a workload serves one at a time. */
function mayServe({ pool, claims }: PoolDraft, workload: string): boolean {
  return pool.sort !== 'own' || claims.every((claim) => claim.workload === workload)
}

function headroom({ pool, replicas }: PoolDraft): number {
  return Math.max(0, pool.max - (pool.sort === 'pattern' ? 0 : replicas))
}

function unavailable(pools: readonly PoolDraft[], round: Round): WorkloadDecision {
  const cooling = pools.filter(({ notBefore }) => notBefore > round.now)
  for (const { notBefore } of cooling) askAgain(round, notBefore)
  const names = cooling.map(({ pool }) => pool.name).join(', ')
  return {
    reason: 'PoolsUnavailable',
    message: `Pools that failed or were scaled in by hand are left alone for a while: ${names}.`,
    create: [],
  }
}

function exceeding(count: number, { maxScaleout }: ScaleSettings): WorkloadDecision {
  return {
    reason: 'ExceedsMaxScaleout',
    message: `It needs ${machinesOf(count)}, and no more than ${maxScaleout} are ever added (instascale.maxScaleoutAllowed).`,
    create: [],
  }
}

function machinesOf(count: number): string {
  return count === 1 ? '1 machine' : `${count} machines`
}
