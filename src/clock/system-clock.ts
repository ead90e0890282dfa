import { type Clock, sleepOn, type Timer } from './clock.ts'

/** The longest delay of Node's timers; a longer one would fire at once. */
const longestMs = 2 ** 31 - 1

function after(ms: number, fire: () => void): Timer {
  let handle: NodeJS.Timeout
  const start = (remaining: number): void => {
    const step = Math.min(Math.max(remaining, 0), longestMs)
    handle = setTimeout(() => (remaining > longestMs ? start(remaining - longestMs) : fire()), step)
    handle.unref()
  }
  start(ms)
  return { cancel: () => clearTimeout(handle) }
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after,
  sleep: (ms, signal) => sleepOn(after, ms, signal),
}
