/**
 * Running what authors wrote: whatever it throws, and however long it takes, the rest goes on. A function that never
 * returns cannot be stopped here; operators that are not trusted that far run in a worker or a process of their own.
 */
import type { Clock } from '../clock/clock.ts'
import { MusterError } from '../kube/errors.ts'

export interface AuthorCode {
  /** Where it stands: `memcached, step CRChecker`. */
  readonly place: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly marks?: ThreadMarks | undefined
}

/**
 * Kept by whoever wants to know who holds the thread, and for how long: code that does not give it back cannot be stopped,
 * but it can be named.
 */
export interface ThreadMarks {
  /** From now on a step of this run has the thread. */
  at(step: string): void
  /** It waits for something. */
  away(): void
  /** It goes on where it was. */
  back(): void
}

const frozenPattern =
  /read only property|not extensible|Cannot delete property|Cannot (?:assign|add) to|object is not extensible/

export async function runAuthorCode<T>(
  { place, clock, timeoutMs, marks }: AuthorCode,
  run: () => T | Promise<T>,
): Promise<T> {
  let isAway = false
  try {
    const result = run()
    if (!isPromise(result)) return result
    isAway = true
    marks?.away()
    return await within(result, place, clock, timeoutMs)
  } catch (error) {
    throw explainAuthorError(error, place)
  } finally {
    if (isAway) marks?.back()
  }
}

/** A mistake of an author in our words, where we know it. */
export function explainAuthorError(error: unknown, place: string): unknown {
  if (error instanceof TypeError && frozenPattern.test(error.message)) {
    return new MusterError('FrozenObject', `${place}: ${error.message}.`, { cause: error })
  }
  return error
}

function within<T>(result: Promise<T>, place: string, clock: Clock, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(timeoutMs, () => {
      reject(new MusterError('StepTimeout', `${place}: no result after ${timeoutMs} ms.`))
    })
    // What comes too late is heard here, so that it is nobody's unhandled rejection.
    result.then(resolve, reject).finally(() => timer.cancel())
  })
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
