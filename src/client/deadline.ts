/**
 * The time-out of a request and the caller's abort signal, as one signal.
 *
 * Work is raced against it: a transport that ignores its signal can leave its own promise pending, but not its caller.
 */
import type { Clock, Timer } from '../clock/clock.ts'
import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'

interface DeadlineOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** The name of the request, for the message. */
  readonly what: string
}

/** A class, because every idle watch holds one. */
export class Deadline {
  /** The time at which it expires. */
  readonly at: number
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal | undefined
  readonly #what: string
  #timer: Timer | undefined
  /** Pending waiters, rejected at the end. Not listeners of the signal: each request would add and remove one. */
  #waiting: ((error: MusterError) => void) | undefined
  /** Called by the caller's signal. A function: Node would wrap a listener object in one, and release it late. */
  readonly #giveUp = (): void => this.#end(abortReason(this.#outer?.reason, this.#what))

  constructor({ clock, timeoutMs, signal, what }: DeadlineOptions) {
    this.at = clock.now() + timeoutMs
    this.#outer = signal
    this.#what = what
    if (signal?.aborted) this.#giveUp()
    else signal?.addEventListener('abort', this.#giveUp, { once: true })
    if (Number.isFinite(timeoutMs)) {
      this.#timer = clock.after(timeoutMs, () => {
        this.#end(new MusterError(clientErrors.RequestTimeout, `${what}: not done within ${timeoutMs} ms.`))
      })
    }
  }

  /** Aborted on time-out or by the caller, always with a MusterError. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The result of `work`, or the error that ends the wait first. One call at a time. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) {
        work.catch(() => undefined)
        reject(this.signal.reason as Error)
        return
      }
      this.#waiting = reject
      const leaving =
        <V>(tell: (value: V) => void) =>
        (value: V): void => {
          if (this.#waiting === reject) this.#waiting = undefined
          tell(value)
        }
      work.then(leaving(resolve), leaving(reject))
    })
  }

  /** Rejects the waiter with the reason, not with what the work makes of it. */
  #end(error: MusterError): void {
    this.#waiting?.(error)
    this.#waiting = undefined
    this.#controller.abort(error)
  }

  /** Stops the time-out; the caller's signal stays in force. */
  stopTiming(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Releases the caller's signal and the timer. */
  release(): void {
    this.stopTiming()
    this.#outer?.removeEventListener('abort', this.#giveUp)
  }
}

/** A caller's own MusterError says more than `Aborted`; any other reason becomes the cause. */
function abortReason(reason: unknown, what: string): MusterError {
  return reason instanceof MusterError
    ? reason
    : new MusterError(clientErrors.Aborted, `${what}: aborted by the caller.`, { cause: reason })
}
