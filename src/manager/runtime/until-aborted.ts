/** Waits for a promise until a signal aborts, whether or not the operation itself can be cancelled. */

/** A value that arrives after the abort is passed to `late`. @throws the signal's reason */
export async function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  late?: (value: T) => Promise<void> | undefined,
): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    if (signal.aborted) abort()
    return await Promise.race([aborted.promise, promise])
  } catch (error) {
    // A late rejection has no receiver.
    if (signal.aborted) promise.then((value) => late?.(value)).catch(() => undefined)
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
