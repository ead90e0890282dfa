/** The state of the queue: who waits, who runs, and what is kept for whom. */
import { chargeOptions, type ChargeOption } from './flavors.ts'
import { createHeap, type Heap } from '../../../manager/schedule/priority-queue.ts'
import { createClaims, type Claim, type Claims } from './claims.ts'
import type { NodeAssignment } from '../nodes/node-table.ts'
import { charge, createRunningSet, occupy, type Room, type Running, type RunningSet } from './running-set.ts'
import type { WaitReason } from './queue-decisions.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { NodeCharge } from '../quota/quota-tree.ts'
import { addMember, classKey, makeClass, removeMember, type Waiting, type WorkloadClass } from './workload-class.ts'

export interface QueueOptions {
  /** Priority grows by the slope while a workload waits. @default true */
  readonly dynamicPriority?: boolean
  /** A workload that does not fit is not considered again for so long. @default 0 */
  readonly backoffMs?: number
  /** The first one of a queue stays the first for so long, whatever comes later. @default 0 */
  readonly headOfLineHoldingMs?: number
  /** Workloads without quota evict those of lower priority; with quota its policies say it. @default false */
  readonly preemption?: boolean
  /** The queue that borrows the smallest share comes first. @default false */
  readonly fairSharing?: boolean
  /** A workload that has waited so long for room has room kept for it. @default 300_000 */
  readonly reserveAfterMs?: number
  /** A start is carried out when `restore` says so, and is not taken back before. @default false */
  readonly awaitsConfirmation?: boolean
}

export interface QueueState extends Room {
  readonly options: Required<QueueOptions>
  readonly waiting: Map<string, Waiting>
  readonly classes: Map<string, WorkloadClass>
  readonly byQueue: Map<string, Set<WorkloadClass>>
  readonly running: RunningSet
  readonly claims: Claims
  /** The first one of each queue, and since when. */
  readonly heads: Map<string, { readonly waiting: Waiting; readonly since: number }>
  /** Those that are not considered yet, by time. An entry that is out of date is skipped. */
  readonly delayed: Heap<{ readonly waiting: Waiting; readonly until: number }>
  /** Running workloads with pods that have no room yet. */
  readonly unplaced: Set<Running>
  /** Waiting workloads for which others leave, as restored, until a decision has seen them. */
  readonly leaversOf: Set<string>
  /**
   * Who took whose place since a workload has ended or capacity has changed. By fair shares and by priority within a queue at once, three
   * workloads could take each other's place for ever: each takes that of another one once.
   */
  readonly replaced: Set<string>
  /** The version of the quota that running workloads are charged by. */
  chargedAt: number
}

export function createQueueState(room: Room, options: QueueOptions): QueueState {
  return {
    ...room,
    options: {
      dynamicPriority: true,
      backoffMs: 0,
      headOfLineHoldingMs: 0,
      preemption: false,
      fairSharing: false,
      reserveAfterMs: 300_000,
      awaitsConfirmation: false,
      ...options,
    },
    waiting: new Map(),
    classes: new Map(),
    byQueue: new Map(),
    running: createRunningSet(),
    claims: createClaims(room),
    heads: new Map(),
    delayed: createHeap((a, b) => a.until < b.until),
    unplaced: new Set(),
    leaversOf: new Set(),
    replaced: new Set(),
    chargedAt: 0,
  }
}

/** Puts a waiting workload where it is considered, or keeps it back until its time. */
export function enterClass(state: QueueState, waiting: Waiting, now: number): void {
  const { workload } = waiting
  if (workload.held) return
  if (waiting.until > now) {
    state.delayed.push({ waiting, until: waiting.until })
    return
  }
  const quotas = quotasOf(state, waiting)
  const key = classKey(waiting, quotas)
  let home = state.classes.get(key)
  if (!home) {
    home = makeClass(key, waiting, quotas)
    state.classes.set(key, home)
    const own = state.byQueue.get(home.queue) ?? new Set()
    state.byQueue.set(home.queue, own.add(home))
    watch(state, home, 1)
  }
  waiting.home = home
  addMember(home, waiting)
}

/** Takes a waiting workload out of its class. */
export function leaveClass(state: QueueState, waiting: Waiting): void {
  const { home } = waiting
  if (!home) return
  removeMember(home, waiting)
  waiting.home = undefined
  if (home.members.length > 0) return
  state.classes.delete(home.key)
  const own = state.byQueue.get(home.queue)
  own?.delete(home)
  if (own?.size === 0) state.byQueue.delete(home.queue)
  watch(state, home, -1)
}

function quotasOf({ quota }: Room, { workload }: Pick<Waiting, 'workload'>): readonly string[] {
  return workload.quotas ?? (quota ? [workload.queue] : [])
}

/** The shapes of all its options are counted as long as a class waits. */
function watch(state: QueueState, home: WorkloadClass, factor: 1 | -1): void {
  if (factor === 1) {
    home.options = chargeOptions(home.quotas, home.groups, state.quota)
    home.optionsAt = state.quota?.version ?? 0
    home.failedAt = []
    home.isStopped = stopOf(state, home.stop, home.quotas) !== undefined
  }
  if ('kind' in home.options) return
  for (const { groups } of home.options)
    for (const { shape } of groups)
      if (factor === 1) state.nodes?.watch(shape)
      else state.nodes?.forget(shape)
}

export function optionsOf(state: QueueState, home: WorkloadClass): readonly ChargeOption[] | WaitReason {
  if (state.quota && home.optionsAt !== state.quota.version) {
    const before = { ...home }
    watch(state, home, 1)
    watch(state, before, -1)
  }
  return home.options
}

/** Whether starts are stopped, by the workload or by a node of its quota. */
export function stopOf({ quota }: Room, stop: WorkloadClass['stop'], quotas: readonly string[]): WorkloadClass['stop'] {
  let strictest = stop === 'None' ? undefined : stop
  for (const name of quotas) {
    const own = quota?.node(name)?.stop
    if (own === 'HoldAndDrain' || (own === 'Hold' && strictest !== 'HoldAndDrain')) strictest = own
  }
  return strictest
}

/** Why an option does not fit; undefined if it does, as far as each group alone can tell. */
export function reasonOf(
  state: QueueState,
  home: WorkloadClass,
  index: number,
  option: ChargeOption,
): WaitReason | undefined {
  const { quota, nodes, claims } = state
  const shortage = option.charges.length > 0 ? quota?.shortage(option.charges) : undefined
  if (shortage) {
    const [claim] = claims.all()
    if (claim && !quota!.shortage(option.charges, 'now')) return { kind: 'Reserved', by: claim.waiting.workload.id }
    const { node, resource: key, requested, available } = shortage
    const colon = key.indexOf(':')
    return {
      kind: 'InsufficientQuota',
      queue: node,
      resource: key.slice(colon + 1),
      ...(colon > 0 && { flavor: key.slice(0, colon) }),
      requested,
      available,
    }
  }
  if (!nodes) return undefined
  for (const [group, { shape, count }] of option.groups.entries()) {
    const room = nodes.room(shape)
    // Which resource is short is worked out when it is asked for.
    if (room < count)
      return { kind: 'InsufficientNodes', group, pods: count, room, resource: '', requested: 0, available: 0 }
  }
  return home.failedAt[index] === nodes.growth ? { kind: 'InsufficientNodesTogether' } : undefined
}

/** A waiting workload starts. `isPlanned`: it stays in the plan; otherwise it uses the room of a claim until it ends. */
export function start(
  state: QueueState,
  waiting: Waiting,
  { charges, flavors }: ChargeOption,
  assignments: readonly NodeAssignment[],
  now: number,
  claim?: Claim,
): void {
  const workload = { ...waiting.workload, startedAt: now }
  state.waiting.delete(workload.id)
  leaveClass(state, waiting)
  const running: Running = {
    workload,
    startedAt: now,
    charges,
    flavors,
    pods: [],
    reserved: assignments,
    pending: [],
    leaving: undefined,
    isPlanned: claim === undefined,
    awaitedBy: undefined,
    isConfirmed: true,
  }
  state.running.add(running)
  if (claim) {
    charge(state, charges, 1, 'now')
    state.claims.join(claim, running, assignments)
  } else {
    charge(state, charges, 1)
    occupy(state, assignments, 1)
  }
}

/** A running workload has gone, with all that it has. */
export function endRunning(state: QueueState, running: Running): void {
  state.running.remove(running)
  state.unplaced.delete(running)
  charge(state, running.charges, -1, 'now')
  if (running.isPlanned) charge(state, running.charges, -1, 'planned')
  occupy(state, running.pods, -1)
  occupy(state, running.reserved, -1)
  state.claims.noteLeaver(running, true)
}

/** A running workload has to leave: from here on it is not part of the plan. */
export function evict(state: QueueState, running: Running, leaving: NonNullable<Running['leaving']>): void {
  running.leaving = leaving
  if (!running.isPlanned) return
  running.isPlanned = false
  charge(state, running.charges, -1, 'planned')
}

/** What a running workload is charged: by its flavors, as far as its queue has them. */
export function chargesOf(
  state: Room,
  workload: QueuedWorkload,
  flavors: ChargeOption['flavors'] | undefined,
): readonly NodeCharge[] {
  const quotas = quotasOf(state, { workload })
  const options = chargeOptions(quotas, workload.groups, state.quota)
  if (!('kind' in options)) return (options.find((option) => hasFlavors(option, flavors)) ?? options[0]!).charges
  // Its queue is not there, or has no flavor for it any more: it counts again when there is one.
  const amounts = new Map<string, number>()
  for (const { shape, count } of workload.groups)
    for (const [resource, amount] of shape.requests)
      if (resource !== 'pods') amounts.set(resource, (amounts.get(resource) ?? 0) + amount * count)
  return quotas.map((node) => ({ node, amounts }))
}

function hasFlavors(option: ChargeOption, flavors: ChargeOption['flavors'] = []): boolean {
  return option.flavors.every((own, group) =>
    [...own].every(([resource, flavor]) => flavors[group]?.get(resource) === flavor),
  )
}

/** A running workload is charged anew: it has changed, or the quota has. */
export function recharge(state: QueueState, running: Running, workload: QueuedWorkload): void {
  state.running.remove(running)
  charge(state, running.charges, -1, 'now')
  if (running.isPlanned) charge(state, running.charges, -1, 'planned')
  running.workload = workload
  running.charges = chargesOf(state, workload, running.flavors)
  charge(state, running.charges, 1, 'now')
  if (running.isPlanned) charge(state, running.charges, 1, 'planned')
  state.running.add(running)
}
