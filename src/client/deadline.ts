/**
 * The time a request has, and the caller's right to give it up, as one signal.
 *
 * Work is raced against it: a transport that ignores its signal can keep its promise pending, but never its caller.
 */
import type { Clock, Timer } from '../clock/clock.ts'
import { MusterError } from '../kube/errors.ts'

export interface DeadlineOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** What is timed, for the message. */
  readonly what: string
}

/** A class, because every idle watch holds one. */
export class Deadline {
  /** When time is up. */
  readonly at: number
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal | undefined
  readonly #what: string
  #timer: Timer | undefined
  /** Whoever waits for something, told at the end. No listener of the signal: each request would come and go as one. */
  #waiting: ((error: MusterError) => void) | undefined
  /** The caller's signal calls this. A function: of an object that listens Node makes one, and of what that holds it lets go late. */
  readonly #giveUp = (): void => this.#end(abortReason(this.#outer?.reason, this.#what))

  constructor({ clock, timeoutMs, signal, what }: DeadlineOptions) {
    this.at = clock.now() + timeoutMs
    this.#outer = signal
    this.#what = what
    if (signal?.aborted) this.#giveUp()
    else signal?.addEventListener('abort', this.#giveUp, { once: true })
    if (Number.isFinite(timeoutMs)) {
      this.#timer = clock.after(timeoutMs, () => {
        this.#end(new MusterError('RequestTimeout', `${what}: not done within ${timeoutMs} ms.`))
      })
    }
  }

  /** Aborted when the time is up or the caller gives up, always with a MusterError. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The result of `work`, or the error of whatever ends the wait first. One after the other. */
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

  /** Who waits hears the reason, and not what the work makes of it. */
  #end(error: MusterError): void {
    this.#waiting?.(error)
    this.#waiting = undefined
    this.#controller.abort(error)
  }

  /** Stops the time; the caller's signal stays in force. */
  stopTiming(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Lets go of the caller's signal and of the timer. */
  release(): void {
    this.stopTiming()
    this.#outer?.removeEventListener('abort', this.#giveUp)
  }
}

/** A caller's own MusterError says more than `Aborted` could; anything else becomes its cause. */
function abortReason(reason: unknown, what: string): MusterError {
  return reason instanceof MusterError
    ? reason
    : new MusterError('Aborted', `${what}: given up by the caller.`, { cause: reason })
}
