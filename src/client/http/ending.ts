/**
 * What ends a request early: the caller's signal, a time-out of the response head, or the close of the client.
 *
 * A request passes through several stages (credentials, the queue for a connection, a stream, the reader of a body). The
 * current stage sets {@link Ending.onEnd}. A thousand idle watches hold a thousand of these, so it is one small object
 * instead of an AbortController with listeners.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'

export class Ending {
  /** Called once, with the error, when the request must end; not called after it has ended. */
  onEnd: ((error: unknown) => void) | undefined

  readonly #signal: AbortSignal | undefined
  readonly #live: Set<Ending>
  #timer: Timer | undefined
  #failure: { readonly error: unknown } | undefined

  /** `live` holds every ending until it is released: closing the client ends them all. */
  constructor(signal: AbortSignal | undefined, live: Set<Ending>) {
    signal?.throwIfAborted()
    this.#signal = signal
    this.#live = live
    live.add(this)
    signal?.addEventListener('abort', this)
  }

  /** Called by the signal: an object as listener saves a closure per request. */
  handleEvent(): void {
    this.end(this.#signal?.reason)
  }

  end(error: unknown): void {
    if (this.#failure) return
    this.#failure = { error }
    this.release()
    this.onEnd?.(error)
  }

  throwIfEnded(): void {
    if (this.#failure) throw this.#failure.error
  }

  /** Starts the time-out of the response head. */
  expectHead(clock: Clock, ms: number, what: string): void {
    this.#timer = clock.after(ms, () => {
      this.end(new MusterError(clientErrors.RequestTimeout, `${what}: no answer within ${ms / 1000} s.`))
    })
  }

  headArrived(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** The result of `work`, or the error that ends the request first. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.onEnd = reject
      work.then(resolve, reject)
      this.throwIfEnded()
    })
  }

  /** The request is complete. Releases all references. */
  release(): void {
    this.headArrived()
    this.#live.delete(this)
    this.#signal?.removeEventListener('abort', this)
  }
}
