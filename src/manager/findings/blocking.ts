/** From a thread that was held to who is told to have held it. */
import type { HeldThread } from '../threads/thread-watch.ts'
import { type Blocking, whoOf } from './finding.ts'

/** Nothing, where no operator's code was under way: then it was the manager's own work, or the machine's. */
export function blockingOf({ ms, by }: HeldThread, now: number): Blocking | undefined {
  const [first, ...others] = by
  if (!first) return undefined
  const { place, step } = first
  return { kind: 'blocking', ...place, step, heldMs: ms, or: others.map((other) => whoOf(other.place)), at: now }
}
