/** How far something is that has many parts: one line that is written over, with an estimate of what is left. */

export interface ProgressBar {
  show(done: number, of: number, failed: number): void
  /** Nothing of it stays. */
  end(): void
}

/** The first ones take longer than all others, and tell nothing about those. */
const warmUp = 10

/** More often nobody can read it. */
const leastMs = 100

const width = 30

/** `now` is in milliseconds, from wherever. */
export function openProgressBar(write: (text: string) => void, now: () => number): ProgressBar {
  let warmSince = now()
  let shownAt = -Infinity
  write('the scenes are played without faults')
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

/** `warmMs`: how long those have taken that came after the first ones. */
export function progressLine(done: number, of: number, failed: number, warmMs: number): string {
  const filled = Math.round((done / of) * width)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
  const leftSeconds = Math.ceil(((warmMs / (done - warmUp)) * (of - done)) / 1000)
  const left = done > warmUp ? `, about ${leftSeconds} s left` : ''
  return `${bar} ${done}/${of} plans, ${failed} failed${left}`
}
