/** Progress of many parts: one line, redrawn in place, with an estimate of the remaining time. */

interface ProgressBar {
  show(done: number, of: number, failed: number): void
  /** Erases the line. */
  end(): void
}

/** The first parts include warm-up and are no basis for an estimate. */
const warmUp = 10

/** More often is not readable. */
const leastMs = 100

const width = 30

/** `now` is in milliseconds, from any origin. */
export function openProgressBar(write: (text: string) => void, now: () => number): ProgressBar {
  let warmSince = now()
  let shownAt = -Infinity
  write('running the scenarios without faults')
  return {
    show(done, of, failed) {
      const at = now()
      if (done <= warmUp) warmSince = at
      if (at - shownAt < leastMs && done < of) return
      shownAt = at
      write(`\r${progressLine(done, of, failed, at - warmSince)}\u001B[K`)
    },
    end: () => write('\r\u001B[K'),
  }
}

/** `warmMs`: the duration of the parts after the warm-up. */
export function progressLine(done: number, of: number, failed: number, warmMs: number): string {
  const filled = Math.round((done / of) * width)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
  const leftSeconds = Math.ceil(((warmMs / (done - warmUp)) * (of - done)) / 1000)
  const left = done > warmUp ? `, about ${leftSeconds} s left` : ''
  return `${bar} ${done}/${of} plans, ${failed} failed${left}`
}
