/** Turns a measurement of a blocked thread into a finding. */
import type { HeldThread } from '../threads/thread-watch.ts'
import { type Blocking, whoOf } from './finding.ts'

/** Undefined when no operator's code was running: then the manager itself or the machine was slow. */
export function blockingOf({ ms, by }: HeldThread, now: number): Blocking | undefined {
  const [first, ...others] = by
  if (!first) return undefined
  const { place, step } = first
  return { kind: 'blocking', ...place, step, heldMs: ms, or: others.map((other) => whoOf(other.place)), at: now }
}
