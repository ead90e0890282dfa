/**
 * Runs author code: its errors and its duration do not affect other controllers. A function that never returns cannot
 * be stopped here; untrusted operators run in a worker or a process of their own.
 */
import type { Clock } from '../clock/clock.ts'
import { operatorErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'

interface AuthorCode {
  /** The place, for messages: `memcached, step CRChecker`. */
  readonly place: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly marks?: ThreadMarks | undefined
  /** Whether it waits for a task, which has a time limit of its own. */
  readonly isAside?: (() => boolean) | undefined
}

/**
 * Tracks which code occupies the thread, and for how long: code that blocks the event loop cannot be stopped, but it
 * can be named.
 */
export interface ThreadMarks {
  /** A step of this run occupies the thread. */
  at(step: string): void
  /** It awaits a promise. */
  away(): void
  /** It continues after the promise. */
  back(): void
}

const frozenPattern =
  /read only property|not extensible|Cannot delete property|Cannot (?:assign|add) to|object is not extensible/

export async function runAuthorCode<T>(code: AuthorCode, run: () => T | Promise<T>): Promise<T> {
  const { place, marks } = code
  let isAway = false
  try {
    const result = run()
    if (!isPromise(result)) return result
    isAway = true
    marks?.away()
    return await within(result, code)
  } catch (error) {
    throw explainAuthorError(error, place)
  } finally {
    if (isAway) marks?.back()
  }
}

/** Explains a common mistake of authors. */
export function explainAuthorError(error: unknown, place: string): unknown {
  if (error instanceof TypeError && frozenPattern.test(error.message)) {
    return new MusterError(operatorErrors.FrozenObject, `${place}: ${error.message}.`, { cause: error })
  }
  return error
}

function within<T>(result: Promise<T>, { place, clock, timeoutMs, isAside }: AuthorCode): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      if (isAside?.()) timer = clock.after(timeoutMs, giveUp)
      else reject(new MusterError(operatorErrors.StepTimeout, `${place}: no result after ${timeoutMs} ms.`))
    }
    let timer = clock.after(timeoutMs, giveUp)
    // A late rejection is handled here, so that it is not unhandled.
    result.then(resolve, reject).finally(() => timer.cancel())
  })
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
