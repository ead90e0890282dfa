/** Waiting that can be given up, whether or not what is waited for can be. */

/** What comes after all is told to `late`. @throws the signal's reason */
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
    // Whether it comes or fails, nobody is waiting for it.
    if (signal.aborted) promise.then((value) => late?.(value)).catch(() => undefined)
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
