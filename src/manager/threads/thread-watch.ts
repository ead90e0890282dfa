/**
 * Who holds the thread. Operators at the level `inline` share one with everybody, and code that does not give it back cannot
 * be stopped: but it can be noticed, and named.
 *
 * Each step of a run leaves a mark, and so does a beat now and then while anything runs. Two marks that are further apart
 * than a beat and a good deal more mean that nobody got the thread in between: whoever left the first had it. Where that
 * was a beat, it was code that had been waiting for something: all that were are named.
 *
 * An endless loop leaves no second mark. For that there is a board, where another thread reads the last one: see `watchdog/`.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { ThreadMarks } from '../../operator/author-code.ts'
import { type MarkBoard, noSeat } from './mark-board.ts'

/** A piece of an operator that runs in this thread. */
export interface ThreadPosition {
  readonly operator: string
  readonly controller: string
  /** Of the CR: `namespace/name`. */
  readonly key: string
}

/** The thread was held. */
export interface HeldThread {
  readonly ms: number
  /** Who did it, and at which step. More than one: one of them. None: no operator's code was under way. */
  readonly by: readonly Culprit[]
}

export interface Culprit {
  readonly place: ThreadPosition
  readonly step: string
}

export interface ThreadWatchOptions {
  readonly clock: Clock
  /** How long it may be held. @default 2000 */
  readonly heldMs?: number
  readonly onHeld: (held: HeldThread) => void
  /** Where the marks are left for another thread, too. @default nowhere */
  readonly board?: MarkBoard | undefined
}

export interface ThreadWatch {
  /** A run begins. `isLoading`: a module is loaded for it, which nobody can have pause. */
  enter(place: ThreadPosition, isLoading?: boolean): RunMarks
}

/** What one run leaves. */
export interface RunMarks extends ThreadMarks {
  /** What it wanted is being carried out: that is not its code. */
  outside(): void
  leave(): void
}

interface Entered {
  readonly place: ThreadPosition
  readonly seat: number
  step: string
  /** Whether its code may get the thread: it has it, or waits for something. */
  isInside: boolean
}

const beatMs = 250

export function createThreadWatch({ clock, heldMs = 2000, onHeld, board }: ThreadWatchOptions): ThreadWatch {
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
    board?.mark(by?.seat ?? noSeat)
  }

  const nextBeat = (): void => {
    beat = clock.after(beatMs, () => {
      mark(undefined)
      nextBeat()
    })
  }

  return {
    enter(place, isLoading) {
      const seat = board?.enter(place, isLoading) ?? noSeat
      const it: Entered = { place, seat, step: '', isInside: false }
      if (entered.size === 0) {
        // Nobody beat while nothing ran: what was then tells nothing.
        last = { at: clock.now(), by: undefined }
        nextBeat()
      }
      entered.add(it)
      return {
        at(step) {
          // What came before belongs to whoever left the last mark.
          mark(it)
          it.step = step
          it.isInside = true
          board?.inside(seat, step)
        },
        away: () => mark(undefined),
        back() {
          // One that runs elsewhere never had the thread.
          if (it.step === '') return
          mark(it)
          it.isInside = true
          board?.inside(seat, it.step)
        },
        outside() {
          mark(undefined)
          it.isInside = false
          board?.outside(seat)
        },
        leave() {
          mark(undefined)
          board?.leave(seat)
          entered.delete(it)
          if (entered.size === 0) beat?.cancel()
        },
      }
    },
  }
}
