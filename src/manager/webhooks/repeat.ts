/** Runs rounds of work: one at a time, again when woken, and again when the last round is due. */
import type { Clock, Timer } from '../../clock/clock.ts'

interface RepeatRounds {
  /** Starts a round now, or as soon as the current one is over. */
  wake(this: void): void
  stop(): void
}

const retryMs = { first: 1000, most: 300_000 } as const

/** `round` returns when the next one is due; a failed round is retried with back-off. */
export function repeat(clock: Clock, round: () => Promise<number>, onFailure: (error: unknown) => void): RepeatRounds {
  let timer: Timer | undefined
  let isRunning = false
  let isWoken = false
  let isStopped = false
  let failures = 0

  const one = async (): Promise<number> => {
    try {
      const due = await round()
      failures = 0
      return due
    } catch (error) {
      if (!isStopped) onFailure(error)
      return clock.now() + Math.min(retryMs.first * 2 ** Math.min(failures++, 20), retryMs.most)
    }
  }

  const run = async (): Promise<void> => {
    isRunning = true
    for (;;) {
      isWoken = false
      const due = await one()
      if (isStopped) return
      if (isWoken || due <= clock.now()) continue
      isRunning = false
      if (due < Infinity) timer = clock.after(due - clock.now(), wake)
      return
    }
  }

  const wake = (): void => {
    if (isStopped) return
    isWoken = true
    timer?.cancel()
    if (!isRunning) void run()
  }

  return {
    wake,
    stop() {
      isStopped = true
      timer?.cancel()
    },
  }
}
