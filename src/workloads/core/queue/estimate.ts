/**
 * When a waiting workload starts: what runs ends as declared, and what is ahead of it in its queue starts as soon as it fits.
 *
 * An estimate is worked out when it is asked for, on a copy of what is free. It is unknown if a workload that has to end first does not
 * declare when. Arrivals, evictions and the workloads of other queues are not foreseen.
 */
import { charge, heldNodes } from './running-set.ts'
import { createHeap } from '../../../manager/schedule/priority-queue.ts'
import type { ChargeOption } from './flavors.ts'
import type { NodeAssignment } from '../nodes/node-table.ts'
import { policiesOf } from './preemption.ts'
import { optionsOf, type QueueState } from './queue-state.ts'
import { endOf } from './queued-workload.ts'
import type { NodeCharge } from '../quota/quota-tree.ts'
import { aheadOf } from './wait-explanation.ts'
import type { Waiting, WorkloadClass } from './workload-class.ts'

/** So many ahead, and ends of so many running workloads, are looked at. */
const mostAhead = 100
const mostEnds = 5000

interface End {
  readonly at: number
  readonly charges: readonly NodeCharge[]
  readonly assignments: readonly NodeAssignment[]
}

export function estimateStart(state: QueueState, waiting: Waiting, now: number): number | undefined {
  const claim = state.claims.get(waiting.workload.id)
  if (claim) return claim.at
  const { home } = waiting
  if (!home) return undefined
  optionsOf(state, home)
  if (home.isStopped) return undefined
  const ahead = aheadOf(state, waiting, now, mostAhead + 1).filter(
    (one) => one.home && !('kind' in optionsOf(state, one.home)),
  )
  if (ahead.length > mostAhead) return undefined
  const isStrict = policiesOf(state.quota, home.queue).strategy === 'StrictFIFO'
  const trial = state.nodes?.trial()
  const undo: (readonly [charges: readonly NodeCharge[], factor: 1 | -1])[] = []
  const ends = createHeap<End>((a, b) => a.at < b.at)
  for (const one of state.running.all()) {
    const at = one.leaving || !one.isPlanned ? undefined : endOf(one.workload)
    // What runs longer than declared may end at any time.
    if (at !== undefined && at > now) ends.push({ at, charges: one.charges, assignments: heldNodes(one) })
  }

  /** Starts a workload in the estimate. */
  const begin = (one: WorkloadClass, at: number): boolean => {
    const options = optionsOf(state, one)
    for (const option of 'kind' in options ? [] : options) {
      const assignments = place(option)
      if (!assignments) continue
      charge(state, option.charges, 1, 'planned')
      undo.push([option.charges, -1])
      trial?.free(assignments, -1)
      if (one.durationMs !== undefined) ends.push({ at: at + one.durationMs, charges: option.charges, assignments })
      return true
    }
    return false
  }
  const place = ({ charges, groups }: ChargeOption): readonly NodeAssignment[] | undefined =>
    state.quota?.shortage(charges, 'planned') ? undefined : trial ? trial.place(groups) : []

  try {
    let left = [...ahead, waiting]
    for (let [at, count] = [now, 0]; count < mostEnds; count++) {
      const rest: Waiting[] = []
      for (const one of left) {
        const isBlocked = isStrict && rest.length > 0
        if (isBlocked || !begin(one.home!, at)) rest.push(one)
        else if (one === waiting) return at
      }
      left = rest
      const next = ends.pop()
      if (!next) return undefined
      at = next.at
      charge(state, next.charges, -1, 'planned')
      undo.push([next.charges, 1])
      trial?.free(next.assignments)
    }
    return undefined
  } finally {
    for (const [charges, factor] of undo.toReversed()) charge(state, charges, factor, 'planned')
  }
}
