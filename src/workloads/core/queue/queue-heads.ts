/** The first workload of a queue stays the first for a while, so that it is not bumped again and again by what comes later. */
import type { QueueState } from './queue-state.ts'
import { addMember, compareOrder, removeMember, type Waiting } from './workload-class.ts'

/** @returns when the first of these times ends */
export function holdHeads({ options, heads, byQueue }: QueueState, now: number): number {
  const holdMs = options.headOfLineHoldingMs
  if (holdMs <= 0) return Infinity
  let again = Infinity
  for (const queue of heads.keys()) if (!byQueue.has(queue)) heads.delete(queue)
  for (const [queue, classes] of byQueue) {
    const known = heads.get(queue)
    if (known?.waiting.home && now < known.since + holdMs) {
      again = Math.min(again, known.since + holdMs)
      continue
    }
    if (known) pin(known.waiting, false)
    let head: Waiting | undefined
    for (const { members } of classes) if (!head || compareOrder(members[0]!, head, now) < 0) head = members[0]!
    // One that has had its time is not held again.
    if (!head || head === known?.waiting) continue
    heads.set(queue, { waiting: head, since: now })
    pin(head, true)
    again = Math.min(again, now + holdMs)
  }
  return again
}

function pin(waiting: Waiting, isPinned: boolean): void {
  const { home } = waiting
  if (home) removeMember(home, waiting)
  waiting.isPinned = isPinned
  if (home) addMember(home, waiting)
}
