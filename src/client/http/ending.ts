/**
 * What may end a request from outside: the caller's signal, a head that takes too long, a client that is closed.
 *
 * A request passes through several hands (credentials, the queue for a connection, a stream, the reader of a body).
 * Whoever holds it sets {@link Ending.onEnd}. A thousand idle watches hold a thousand of these, so it is one small
 * object rather than an AbortController with listeners.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { MusterError } from '../../kube/errors.ts'

export class Ending {
  /** Called once, with the error, when the request must end; not called when it already has. */
  onEnd: ((error: unknown) => void) | undefined

  readonly #signal: AbortSignal | undefined
  readonly #live: Set<Ending>
  #timer: Timer | undefined
  #failure: { readonly error: unknown } | undefined

  /** `live` holds every ending until it is released: what a closing client goes through. */
  constructor(signal: AbortSignal | undefined, live: Set<Ending>) {
    signal?.throwIfAborted()
    this.#signal = signal
    this.#live = live
    live.add(this)
    signal?.addEventListener('abort', this)
  }

  /** The signal calls this: an object as listener saves a closure a request. */
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

  /** From now on the head of the answer must come within `ms`. */
  expectHead(clock: Clock, ms: number, what: string): void {
    this.#timer = clock.after(ms, () => {
      this.end(new MusterError('RequestTimeout', `${what}: no answer within ${ms / 1000} s.`))
    })
  }

  headArrived(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** The result of `work`, or the error of the end that came first. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.onEnd = reject
      work.then(resolve, reject)
      this.throwIfEnded()
    })
  }

  /** The request is over. Nothing can end it any more, and nothing holds on to it. */
  release(): void {
    this.headArrived()
    this.#live.delete(this)
    this.#signal?.removeEventListener('abort', this)
  }
}
