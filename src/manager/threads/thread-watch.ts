/**
 * Detects which operator blocks the thread. Operators at the level `inline` share one thread, and code that does not
 * yield cannot be stopped: but it can be detected and named.
 *
 * Each step of a run leaves a mark, and so does a heartbeat while any run is in progress. Two marks that are much
 * further apart than a heartbeat mean that the thread was blocked in between, by the run that left the first one. If
 * the first one was a heartbeat, code that resumed from an await blocked it: then all runs that were awaiting are
 * named.
 *
 * An endless loop leaves no second mark. For that, another thread reads the last mark from a table in shared memory: see `watchdog/`.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { ThreadMarks } from '../../operator/author-code.ts'
import { type HeartbeatTable, noSlot } from './heartbeat-table.ts'

/** Operator code that runs in this thread. */
export interface ThreadPosition {
  readonly operator: string
  readonly controller: string
  /** Of the CR: `namespace/name`. */
  readonly key: string
}

/** The thread was blocked. */
export interface HeldThread {
  readonly ms: number
  /** The runs that caused it, with their steps. Several: one of them did. None: no operator code was running. */
  readonly by: readonly Culprit[]
}

export interface Culprit {
  readonly place: ThreadPosition
  readonly step: string
}

interface ThreadWatchOptions {
  readonly clock: Clock
  /** How long the thread may be blocked. @default 2000 */
  readonly heldMs?: number
  readonly onHeld: (held: HeldThread) => void
  /** Shared memory for the marks, for another thread. @default none */
  readonly heartbeats?: HeartbeatTable | undefined
}

export interface ThreadWatch {
  /** A run begins. `isLoading`: it loads a module, which cannot yield. */
  enter(place: ThreadPosition, isLoading?: boolean): RunMarks
}

/** The marks of one run. */
export interface RunMarks extends ThreadMarks {
  /** Its writes are being executed, which is not its code. */
  outside(): void
  leave(): void
}

interface Entered {
  readonly place: ThreadPosition
  readonly slot: number
  step: string
  /** Whether its code may hold the thread: it runs, or awaits. */
  isInside: boolean
}

const beatMs = 250

export function createThreadWatch({ clock, heldMs = 2000, onHeld, heartbeats }: ThreadWatchOptions): ThreadWatch {
  const entered = new Set<Entered>()
  let last: { readonly at: number; readonly by: Entered | undefined } = { at: clock.now(), by: undefined }
  let beat: Timer | undefined

  const mark = (by: Entered | undefined): void => {
    const now = clock.now()
    const ms = now - last.at
    if (ms >= heldMs) {
      const suspects = last.by ? [last.by] : [...entered].filter(({ isInside }) => isInside)
      onHeld({ ms, by: suspects.map(({ place, step }) => ({ place, step })) })
    }
    last = { at: now, by }
    heartbeats?.mark(by?.slot ?? noSlot)
  }

  const nextBeat = (): void => {
    beat = clock.after(beatMs, () => {
      mark(undefined)
      nextBeat()
    })
  }

  return {
    enter(place, isLoading) {
      const slot = heartbeats?.enter(place, isLoading) ?? noSlot
      const it: Entered = { place, slot, step: '', isInside: false }
      if (entered.size === 0) {
        // There was no heartbeat while nothing ran: the time before does not count.
        last = { at: clock.now(), by: undefined }
        nextBeat()
      }
      entered.add(it)
      return {
        at(step) {
          // The time before belongs to the run that left the last mark.
          mark(it)
          it.step = step
          it.isInside = true
          heartbeats?.inside(slot, step)
        },
        away: () => mark(undefined),
        back() {
          // An isolated run never held this thread.
          if (it.step === '') return
          mark(it)
          it.isInside = true
          heartbeats?.inside(slot, it.step)
        },
        outside() {
          mark(undefined)
          it.isInside = false
          heartbeats?.outside(slot)
        },
        leave() {
          mark(undefined)
          heartbeats?.leave(slot)
          entered.delete(it)
          if (entered.size === 0) beat?.cancel()
        },
      }
    },
  }
}
