/**
 * The time a request has, and the caller's right to give it up, as one signal.
 *
 * Work is raced against it: a transport that ignores its signal can keep its promise pending, but never its caller.
 */
import type { Clock } from '../clock/clock.ts'
import { MusterError } from '../kube/errors.ts'

export interface Deadline {
  /** The moment the time is up. */
  readonly at: number
  /** Aborted when the time is up or the caller gave up; its reason is a MusterError. */
  readonly signal: AbortSignal
  /** Settles as `work` does, or fails with the signal's reason if that comes first. */
  race<T>(work: Promise<T>): Promise<T>
  /** Stops the time; the caller's signal stays in force. */
  stopTiming(): void
  /** Lets go of the caller's signal and of the timer. */
  release(): void
}

export function startDeadline(options: {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** What is timed, for the message. */
  readonly what: string
}): Deadline {
  const { clock, timeoutMs, what } = options
  const outer = options.signal
  const controller = new AbortController()
  const { signal } = controller

  const abort = (): void => controller.abort(abortReason(outer?.reason, what))
  if (outer?.aborted) abort()
  else outer?.addEventListener('abort', abort, { once: true })

  const timer = Number.isFinite(timeoutMs)
    ? clock.after(timeoutMs, () => {
        controller.abort(new MusterError('RequestTimeout', `${what}: not done within ${timeoutMs} ms.`))
      })
    : undefined

  return {
    at: clock.now() + timeoutMs,
    signal,
    race: (work) => raceAbort(signal, work),
    stopTiming: () => timer?.cancel(),
    release: () => {
      timer?.cancel()
      outer?.removeEventListener('abort', abort)
    },
  }
}

/** A caller's own MusterError says more than `Aborted` could; anything else becomes its cause. */
function abortReason(reason: unknown, what: string): MusterError {
  return reason instanceof MusterError
    ? reason
    : new MusterError('Aborted', `${what}: given up by the caller.`, { cause: reason })
}

function raceAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) {
      work.catch(() => undefined)
      abort()
      return
    }
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
