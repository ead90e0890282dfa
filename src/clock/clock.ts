/** A started timer. Cancelling it twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void
}

/** The source of time. `now` is milliseconds since the epoch; no other code reads the machine's clock. */
export interface Clock {
  now(): number
  /** Calls `fire` once, `ms` from now. A timer does not keep the process alive. */
  after(ms: number, fire: () => void): Timer
  /** Resolves `ms` from now; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** `sleep` in terms of `after`, the same for every clock. */
export function sleepOn(after: Clock['after'], ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error)
      return
    }
    const abort = (): void => {
      timer.cancel()
      reject(signal?.reason as Error)
    }
    const timer = after(ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    signal?.addEventListener('abort', abort, { once: true })
  })
}
