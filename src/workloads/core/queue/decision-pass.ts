/**
 * One decision: all that starts and all that has to leave now.
 *
 * Queues take turns. In each turn the first workload of a queue is considered: it starts, or others are evicted for it, or room is kept
 * for it, or it waits. A queue whose first workload stays within its quota comes before one that borrows, so that nothing starts only to
 * be evicted for an owner of the quota in the same moment.
 */
import type { Claim } from './claims.ts'
import type { ChargeOption } from './flavors.ts'
import type { NodeAssignment } from '../nodes/node-table.ts'
import { findVictims, mayPreempt, policiesOf, replacementKey } from './preemption.ts'
import type { WorkloadStart, WorkloadEviction, QueueDecisions, WaitReason } from './queue-decisions.ts'
import {
  endRunning,
  enterClass,
  evict,
  leaveClass,
  optionsOf,
  type QueueState,
  reasonOf,
  recharge,
  start,
  stopOf,
} from './queue-state.ts'
import { holdHeads } from './queue-heads.ts'
import { createTurns, type QueueTurn } from './queue-turns.ts'
import { endOf } from './queued-workload.ts'
import { findRoom } from './room-search.ts'
import { occupy, type Running } from './running-set.ts'
import { compareOrder, makeWaiting, type Waiting, type WorkloadClass } from './workload-class.ts'

/** Running workloads that the searches of one decision look at, at most; the others are searched a second later. */
const mostWork = 20_000
const searchPauseMs = 1000
/** So often the order is worked out anew in one decision, at most. */
const mostRounds = 100

interface Pass {
  readonly now: number
  readonly starts: WorkloadStart[]
  readonly evictions: WorkloadEviction[]
  again: number
  work: number
  /** Running workloads by the time of their end, once it is needed. */
  byEnd: readonly Running[] | undefined
  /** What was to start gives way to another workload before it has started: the order is worked out anew. */
  isReordered: boolean
}

export function decideAll(state: QueueState, now: number): QueueDecisions {
  const pass: Pass = { now, starts: [], evictions: [], again: Infinity, work: 0, byEnd: undefined, isReordered: false }
  wake(state, now)
  rechargeAll(state)
  drain(state, pass)
  placePending(state)
  restoreClaims(state, pass)
  serveClaims(state, pass)
  yieldClaims(state, pass)
  for (let round = 0; round === 0 || pass.isReordered; round++) {
    if (round === mostRounds) {
      pass.again = now
      break
    }
    pass.isReordered = false
    pass.again = Math.min(pass.again, holdHeads(state, now))
    considerAll(state, pass)
  }
  // In one decision a start can still be taken back.
  if (state.options.awaitsConfirmation)
    for (const { workload } of pass.starts) state.running.get(workload.id)!.isConfirmed = false
  for (let next = state.delayed.peek(); next; next = state.delayed.peek()) {
    if (isDelayed(state, next)) break
    state.delayed.pop()
  }
  const again = Math.min(pass.again, state.delayed.peek()?.until ?? Infinity)
  return { starts: pass.starts, evictions: pass.evictions, ...(again !== Infinity && { again }) }
}

function isDelayed(
  { waiting: all, claims }: QueueState,
  { waiting, until }: { readonly waiting: Waiting; readonly until: number },
): boolean {
  const { id } = waiting.workload
  return all.get(id) === waiting && waiting.until === until && !waiting.home && !claims.get(id)
}

function wake(state: QueueState, now: number): void {
  for (let next = state.delayed.peek(); next && next.until <= now; next = state.delayed.peek()) {
    state.delayed.pop()
    if (isDelayed(state, next)) enterClass(state, next.waiting, now)
  }
}

/** A quota that has changed may have other resources and flavors. */
function rechargeAll(state: QueueState): void {
  const { quota, running } = state
  if (!quota || state.chargedAt === quota.version) return
  state.chargedAt = quota.version
  state.replaced.clear()
  const charged = [...running.all()]
  for (const one of charged) recharge(state, one, one.workload)
}

/** A queue that is drained keeps nothing running. */
function drain(state: QueueState, { evictions }: Pass): void {
  const { running, quota } = state
  const drained = new Map<string, boolean>()
  const isDrained = (node: string): boolean => {
    const known = drained.get(node) ?? quota?.node(node)?.stop === 'HoldAndDrain'
    drained.set(node, known)
    return known
  }
  for (const one of running.all()) {
    const { workload, charges, leaving, isConfirmed } = one
    if (leaving || !isConfirmed || (workload.stop !== 'HoldAndDrain' && !charges.some(({ node }) => isDrained(node))))
      continue
    evict(state, one, { reason: 'QueueStopped' })
    evictions.push({ id: workload.id, reason: 'QueueStopped' })
  }
}

/** Room for the pods of running workloads that are not there yet, as after a restart. */
function placePending({ nodes, unplaced, ...state }: QueueState): void {
  for (const one of unplaced) {
    const assignments = nodes ? nodes.place(one.pending) : []
    if (!assignments) continue
    occupy({ ...state, nodes }, assignments, 1)
    one.reserved = [...one.reserved, ...assignments]
    one.pending = []
    unplaced.delete(one)
  }
}

/** Changes when something may fit that did not, or when other victims are there. */
function tagOf({ nodes, quota, running }: QueueState): string {
  return `${nodes?.growth}/${quota?.version}/${running.version}`
}

/** After a restart, those that leave say for whom. */
function restoreClaims(state: QueueState, pass: Pass): void {
  if (state.leaversOf.size === 0) return
  const claimants = [...state.leaversOf].flatMap((id) => state.waiting.get(id) ?? [])
  state.leaversOf.clear()
  for (const waiting of claimants.toSorted((a, b) => compareOrder(a, b, pass.now))) {
    const { id } = waiting.workload
    if (!waiting.home || state.claims.get(id)) continue
    const options = optionsOf(state, waiting.home)
    const leavers = new Set(state.running.all().filter(({ leaving, awaitedBy }) => leaving?.by === id && !awaitedBy))
    for (const option of 'kind' in options ? [] : options) {
      const plan = findRoom(state, option, leavers, () => true)
      if (!plan) continue
      leaveClass(state, waiting)
      state.claims.add({ waiting, option, assignments: plan.assignments, leavers, isEviction: true, at: undefined })
      break
    }
  }
}

/** Starts those whose room is free now. */
function serveClaims(state: QueueState, pass: Pass): void {
  const { claims, quota, nodes } = state
  const ordered = [...claims.all()].toSorted((a, b) => compareOrder(a.waiting, b.waiting, pass.now))
  for (const claim of ordered) {
    const { waiting, option, isEviction, at, leavers } = claim
    const isOverdue = at !== undefined && at <= pass.now && leavers.size > 0
    if (tagOf(state) === claim.triedAt && !isOverdue) continue
    const [, version] = claim.triedAt.split('/')
    claims.remove(claim)
    const isStopped =
      stopOf(
        state,
        waiting.workload.stop,
        option.charges.map(({ node }) => node),
      ) !== undefined
    // A quota that has changed may have other flavors: it is searched anew, and those that leave for it already are found first.
    const isChanged = claim.triedAt !== '' && version !== `${quota?.version}`
    if (isStopped || isChanged) {
      enterClass(state, waiting, pass.now)
      continue
    }
    const assignments = quota?.shortage(option.charges) ? undefined : nodes ? nodes.place(option.groups) : []
    if (assignments) admit(state, pass, waiting, option, assignments)
    else if (isOverdue || (leavers.size === 0 && !othersLeave(state, option))) enterClass(state, waiting, pass.now)
    else if (!isEviction && mayPreempt(state, state.running, state.options, waiting.workload, option))
      enterClass(state, waiting, pass.now)
    else claims.add(claim).triedAt = tagOf(state)
  }
  for (const { at, isEviction } of claims.all())
    if (!isEviction && at !== undefined) pass.again = Math.min(pass.again, at)
}

/** Whether its quota is short only of what others in the same tree still use who leave: a claim may have used what was left for this one. */
function othersLeave({ quota }: QueueState, { charges }: ChargeOption): boolean {
  return (
    quota !== undefined &&
    quota.shortage(charges, 'now') !== undefined &&
    quota.shortage(charges, 'planned') === undefined
  )
}

/** A reservation gives way to a workload ahead of it that would fit without it. */
function yieldClaims(state: QueueState, { now }: Pass): void {
  const { claims, classes } = state
  const reservations = [...claims.all()].filter(({ isEviction }) => !isEviction)
  for (const claim of reservations) {
    const ahead = [...classes.values()].filter(
      (home) => compareOrder(home.members[0]!, claim.waiting, now) < 0 && !fits(state, home),
    )
    if (ahead.length === 0) continue
    claims.remove(claim)
    if (ahead.some((home) => fits(state, home))) enterClass(state, claim.waiting, now)
    else claims.add(claim).triedAt = tagOf(state)
  }
}

function fits(state: QueueState, home: WorkloadClass): boolean {
  const options = optionsOf(state, home)
  if (home.isStopped || 'kind' in options) return false
  return options.some((option, index) => !reasonOf(state, home, index, option))
}

function considerAll(state: QueueState, pass: Pass): void {
  const { byQueue, options, quota, claims } = state
  const reserved = new Set(
    [...claims.all()].filter(({ isEviction }) => !isEviction).flatMap(({ option }) => treesOf(state, option)),
  )
  const starving = new Map<string, WorkloadClass>()
  const turns: QueueTurn[] = []
  for (const [queue, classes] of byQueue) {
    const isStrict = policiesOf(quota, queue).strategy === 'StrictFIFO'
    const considered: WorkloadClass[] = []
    const claimants = isStrict ? [...claims.all()].filter(({ waiting }) => waiting.workload.queue === queue) : []
    for (const home of classes) {
      // Room is kept for the first one of a strict queue: that is no reason to pass it.
      if (claimants.some(({ waiting }) => compareOrder(waiting, home.members[0]!, pass.now) < 0)) continue
      if (fits(state, home)) {
        considered.push(home)
        continue
      }
      if (home.isStopped) continue
      const tree = starvingIn(state, pass, home, reserved)
      const other = tree === undefined ? undefined : starving.get(tree)
      if (tree !== undefined && (!other || compareOrder(home.members[0]!, other.members[0]!, pass.now) < 0))
        starving.set(tree, home)
      if (isStrict || options.backoffMs > 0 || mayMakeRoom(state, pass, home)) considered.push(home)
    }
    if (considered.length > 0) turns.push({ queue, isStrict, classes: considered })
  }
  for (const home of starving.values()) {
    const turn = turns.find(({ queue }) => queue === home.queue)
    if (!turn) turns.push({ queue: home.queue, isStrict: false, classes: [home] })
    else if (!turn.classes.includes(home)) turn.classes.push(home)
  }
  const reservable = new Set(starving.values())
  const order = createTurns(state, turns, pass.now)
  for (let home = order.next(); home; home = order.next()) {
    const outcome = consider(state, pass, home, reservable)
    if (pass.isReordered) return
    if (outcome === 'started') order.again()
    else if (outcome === 'claimed') order.skip(home.members.length > 0)
    else {
      backOff(state, pass, home, order.isStrict)
      order.skip(false)
    }
  }
}

/** The tree in which a class waits so long that room is to be kept for it. */
function starvingIn(
  state: QueueState,
  pass: Pass,
  home: WorkloadClass,
  reserved: ReadonlySet<string>,
): string | undefined {
  const { options, nodes, quota } = state
  if (options.reserveAfterMs === Infinity || 'kind' in home.options) return undefined
  const due = home.members[0]!.workload.since + options.reserveAfterMs
  if (due > pass.now) {
    pass.again = Math.min(pass.again, due)
    return undefined
  }
  if (home.hopelessAt === `${nodes?.version}/${quota?.version}`) return undefined
  const trees = treesOf(state, home.options[0]!)
  return trees.some((tree) => reserved.has(tree)) ? undefined : trees.join('\n')
}

function treesOf({ quota }: QueueState, { charges }: ChargeOption): readonly string[] {
  return charges.length === 0 ? [''] : charges.map(({ node }) => quota?.rootOf(node) ?? '')
}

/** Whether it is worth a turn though it does not fit. */
function mayMakeRoom(state: QueueState, pass: Pass, home: WorkloadClass): boolean {
  const options = optionsOf(state, home)
  if ('kind' in options) return false
  if (claimBehind(state, home, pass.now)) return true
  const { workload } = home.members[0]!
  if (!options.some((option) => mayPreempt(state, state.running, state.options, workload, option))) return false
  return home.searchedAt !== searchTag(state, home) || pass.now >= home.searchAgain
}

function searchTag(state: QueueState, home: WorkloadClass): string {
  return `${tagOf(state)}/${home.members[0]!.workload.id}`
}

function consider(
  state: QueueState,
  pass: Pass,
  home: WorkloadClass,
  reservable: Set<WorkloadClass>,
): 'started' | 'claimed' | 'waits' {
  const options = optionsOf(state, home)
  if ('kind' in options) return 'waits'
  const { whenCanBorrow, whenCanPreempt } = policiesOf(state.quota, home.quotas[0] ?? '')
  let borrowing: number | undefined
  for (const [index, option] of options.entries()) {
    const reason = reasonOf(state, home, index, option)
    if (!reason) {
      const isLast = index === options.length - 1
      if (whenCanBorrow === 'TryNextFlavor' && !isLast && option.charges.some((one) => state.quota!.wouldBorrow(one)))
        borrowing ??= index
      else if (admitFirst(state, pass, home, index, option)) return 'started'
    } else if (backfill(state, pass, home, option, reason)) return 'started'
    else if (whenCanPreempt === 'MayStopSearch' && preempt(state, pass, home, option)) return 'claimed'
  }
  if (borrowing !== undefined && admitFirst(state, pass, home, borrowing, options[borrowing]!)) return 'started'
  if (whenCanPreempt !== 'MayStopSearch')
    for (const option of options) if (preempt(state, pass, home, option)) return 'claimed'
  if (pass.work <= mostWork) home.searchedAt = searchTag(state, home)
  if (!reservable.has(home)) return 'waits'
  reservable.delete(home)
  return reserve(state, pass, home, options) ? 'claimed' : 'waits'
}

function admitFirst(state: QueueState, pass: Pass, home: WorkloadClass, index: number, option: ChargeOption): boolean {
  const assignments = state.nodes ? state.nodes.place(option.groups) : []
  if (assignments) admit(state, pass, home.members[0]!, option, assignments)
  else home.failedAt[index] = state.nodes!.growth
  return assignments !== undefined
}

function admit(
  state: QueueState,
  { starts, now }: Pass,
  waiting: Waiting,
  option: ChargeOption,
  assignments: readonly NodeAssignment[],
  claim?: Claim,
): void {
  start(state, waiting, option, assignments, now, claim)
  starts.push({ workload: waiting.workload, assignments, flavors: option.flavors })
}

/** The claim whose room a class could use, since it ends before. */
function claimBehind({ claims }: QueueState, { durationMs }: WorkloadClass, now: number): Claim | undefined {
  if (durationMs === undefined) return undefined
  let first: Claim | undefined
  for (const claim of claims.all()) {
    if (claim.isEviction || claim.at === undefined || now + durationMs > claim.at) return undefined
    if (!first || claim.at < first.at!) first = claim
  }
  return first
}

/** Starts in room that is kept for another, if it ends before that one could start. */
function backfill(
  state: QueueState,
  pass: Pass,
  home: WorkloadClass,
  option: ChargeOption,
  reason: WaitReason,
): boolean {
  const claim = claimBehind(state, home, pass.now)
  if (!claim || reason.kind === 'InsufficientQuota') return false
  if (state.quota?.shortage(option.charges, 'now')) return false
  const trial = state.nodes?.trial()
  for (const { holds } of state.claims.all()) trial?.free(holds)
  const assignments = trial ? trial.place(option.groups) : []
  if (!assignments) return false
  admit(state, pass, home.members[0]!, option, assignments, claim)
  return true
}

function preempt(state: QueueState, pass: Pass, home: WorkloadClass, option: ChargeOption): boolean {
  const waiting = home.members[0]!
  const { workload } = waiting
  if (home.searchedAt === searchTag(state, home) && pass.now < home.searchAgain) return false
  if (!mayPreempt(state, state.running, state.options, workload, option)) return false
  if (pass.work > mostWork) {
    pass.again = Math.min(pass.again, pass.now + searchPauseMs)
    return false
  }
  const { plan, work, again } = findVictims(
    state,
    state.running,
    { ...state.options, replaced: state.replaced },
    workload,
    option,
    pass.now,
  )
  pass.work += work
  home.searchAgain = again
  pass.again = Math.min(pass.again, again)
  if (!plan || plan.leavers.length === 0) return false
  const leavers = new Set(plan.leavers.map(([victim]) => victim))
  const isStarting = pass.starts.some(({ workload: one }) => leavers.has(state.running.get(one.id)!))
  if (isStarting && pass.evictions.length > 0) {
    // An eviction may rest on what would be taken back.
    pass.again = pass.now
    return false
  }
  for (const [victim, reason] of plan.leavers) {
    if (state.options.fairSharing) state.replaced.add(replacementKey(workload.id, victim.workload.id))
    if (takeBack(state, pass, victim)) leavers.delete(victim)
    else if (!victim.leaving) {
      evict(state, victim, { reason, by: workload.id })
      pass.evictions.push({ id: victim.workload.id, reason, by: workload.id })
    }
  }
  if (leavers.size === 0) admit(state, pass, waiting, option, plan.assignments)
  else {
    leaveClass(state, waiting)
    state.claims.add({ waiting, option, assignments: plan.assignments, leavers, isEviction: true, at: undefined })
  }
  return true
}

/** A workload that this decision was to start waits again: it is no victim. */
function takeBack(state: QueueState, pass: Pass, victim: Running): boolean {
  const at = pass.starts.findIndex(({ workload }) => workload.id === victim.workload.id)
  if (at === -1) return false
  const [started] = pass.starts.splice(at, 1)
  endRunning(state, victim)
  const waiting = makeWaiting(started!.workload, state.options.dynamicPriority)
  state.waiting.set(started!.workload.id, waiting)
  enterClass(state, waiting, pass.now)
  pass.isReordered = true
  return true
}

/** Keeps room for a workload that would starve: that of those which end first. */
function reserve(state: QueueState, pass: Pass, home: WorkloadClass, options: readonly ChargeOption[]): boolean {
  pass.byEnd ??= state.running.all().toSorted((a, b) => compareEnds(a, b, pass.now))
  const waiting = home.members[0]!
  const candidates = pass.byEnd.filter(
    (one) => state.running.get(one.workload.id) === one && one.awaitedBy === undefined,
  )
  for (const option of options) {
    const plan = findRoom(state, option, candidates, () => true)
    if (!plan || plan.leavers.length === 0) continue
    const leavers = new Set(plan.leavers.map(([one]) => one))
    let at: number | undefined = 0
    for (const one of leavers) {
      const end = knownEnd(one, pass.now)
      at = at === undefined || end === undefined ? undefined : Math.max(at, end)
    }
    leaveClass(state, waiting)
    state.claims.add({ waiting, option, assignments: plan.assignments, leavers, isEviction: false, at })
    if (at !== undefined) pass.again = Math.min(pass.again, at)
    return true
  }
  home.hopelessAt = `${state.nodes?.version}/${state.quota?.version}`
  pass.again = Math.min(pass.again, pass.now + searchPauseMs)
  return false
}

/** Undefined also for what runs longer than declared. */
function knownEnd({ workload, leaving }: Running, now: number): number | undefined {
  const end = leaving ? undefined : endOf(workload)
  return end === undefined || end <= now ? undefined : end
}

/** Those that leave already, then those with the earliest end, then those that have run longest. */
function compareEnds(a: Running, b: Running, now: number): number {
  const [first, second] = [a, b].map((one) => (one.leaving ? -Infinity : (knownEnd(one, now) ?? Infinity)))
  if (first !== second) return first! < second! ? -1 : 1
  return a.startedAt - b.startedAt || (a.workload.id < b.workload.id ? -1 : 1)
}

/** Only the one that does not fit is held back; in a strict queue nothing may pass it. */
function backOff(state: QueueState, { now }: Pass, { members }: WorkloadClass, isStrict: boolean): void {
  const { backoffMs } = state.options
  if (backoffMs <= 0 || isStrict) return
  const waiting = members[0]!
  leaveClass(state, waiting)
  waiting.until = now + backoffMs
  enterClass(state, waiting, now)
}
