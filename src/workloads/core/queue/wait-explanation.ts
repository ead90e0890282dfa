/** Why a workload waits, and behind whom: asked for, never kept up to date. */
import { chargeOptions } from './flavors.ts'
import { policiesOf } from './preemption.ts'
import type { WaitReason } from './queue-decisions.ts'
import { optionsOf, type QueueState, reasonOf, stopOf } from './queue-state.ts'
import { compareInQueue, countAhead, makeClass, type Waiting, type WorkloadClass } from './workload-class.ts'

export function explainWait(state: QueueState, waiting: Waiting, now: number): WaitReason | undefined {
  const { workload, until } = waiting
  const { claims, quota } = state
  if (workload.held) return { kind: 'Held' }
  const claim = claims.get(workload.id)
  if (claim?.isEviction) return { kind: 'Preempting', victims: claim.leavers.size }
  if (claim)
    return { kind: 'AwaitingEnds', running: claim.leavers.size, ...(claim.at !== undefined && { at: claim.at }) }
  // One that pauses says what it would wait for without the pause.
  const home = waiting.home ?? (until > now ? withoutPause(state, waiting) : undefined)
  if (!home) return undefined
  const options = optionsOf(state, home)
  if (home.isStopped) return { kind: 'QueueStopped', queue: home.queue }
  if ('kind' in options) return options
  let first: WaitReason | undefined
  for (const [index, option] of options.entries()) {
    const reason = reasonOf(state, home, index, option)
    if (!reason) {
      first = undefined
      break
    }
    first ??= detailed(state, reason, option.groups)
  }
  if (first) return first
  if (!waiting.home) return { kind: 'BackingOff', until }
  if (policiesOf(quota, home.queue).strategy !== 'StrictFIFO') return undefined
  const [head] = aheadOf(state, waiting, now, 1)
  return head && { kind: 'BehindHead', head: head.workload.id }
}

function withoutPause(state: QueueState, waiting: Waiting): WorkloadClass {
  const { quota } = state
  const { queue, quotas = quota ? [queue] : [], groups } = waiting.workload
  const options = chargeOptions(quotas, groups, quota)
  const home = makeClass('', waiting, quotas)
  const isStopped = stopOf(state, home.stop, quotas) !== undefined
  return { ...home, options, optionsAt: quota?.version ?? -1, isStopped }
}

function detailed({ nodes, claims }: QueueState, reason: WaitReason, groups: WorkloadClass['groups']): WaitReason {
  if (reason.kind !== 'InsufficientNodes') return reason
  const [claim] = claims.all()
  if (claim) {
    const trial = nodes!.trial()
    for (const { holds } of claims.all()) trial.free(holds)
    if (trial.hasRoom(groups)) return { kind: 'Reserved', by: claim.waiting.workload.id }
  }
  return { ...reason, ...nodes!.shortage(groups[reason.group]!) }
}

export function positionOf(state: QueueState, waiting: Waiting, now: number): number {
  let ahead = 0
  for (const { members } of state.byQueue.get(waiting.workload.queue) ?? []) ahead += countAhead(members, waiting, now)
  for (const one of claimants(state, waiting)) if (compareInQueue(one, waiting, now) < 0) ahead++
  return ahead + 1
}

/** The first ones first. */
export function aheadOf(state: QueueState, waiting: Waiting, now: number, most: number): readonly Waiting[] {
  const all: Waiting[] = claimants(state, waiting).filter((one) => compareInQueue(one, waiting, now) < 0)
  for (const { members } of state.byQueue.get(waiting.workload.queue) ?? [])
    all.push(...members.slice(0, Math.min(most, countAhead(members, waiting, now))))
  return all.toSorted((a, b) => compareInQueue(a, b, now)).slice(0, most)
}

/** Those of its queue for which room is kept: they are in no class. */
function claimants({ claims }: QueueState, { workload }: Waiting): Waiting[] {
  return [...claims.all()].map((claim) => claim.waiting).filter((one) => one.workload.queue === workload.queue)
}
