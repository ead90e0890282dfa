/**
 * Flow control: a client-side rate limit for one identity. A token bucket holds up to `burst` tokens and gains `qps` per
 * second; each request takes one, or waits in a queue.
 *
 * Off by default: API servers have priority and fairness and send `Retry-After`, which is honoured, while a client-side limit
 * mostly hides why things are slow. Set one for a server without fair queues, or to keep one operator from using the capacity
 * of others; clients of one identity then share one bucket.
 */
import type { Clock, Timer } from '../clock/clock.ts'

export interface FlowLimits {
  /** Sustained requests per second. */
  readonly qps: number
  /** Burst size; at least 1. */
  readonly burst: number
}

/** The state of a bucket: tokens at a point in time. */
export interface Bucket {
  readonly tokens: number
  readonly at: number
}

export function fullBucket(limits: FlowLimits, now: number): Bucket {
  return { tokens: limits.burst, at: now }
}

/** The bucket with the tokens gained since. A clock that steps back removes none. */
export function refill(bucket: Bucket, limits: FlowLimits, now: number): Bucket {
  const gained = (Math.max(now - bucket.at, 0) / 1000) * limits.qps
  return { tokens: Math.min(bucket.tokens + gained, limits.burst), at: now }
}

/** When the next request may be sent. */
export function readyAt(bucket: Bucket, limits: FlowLimits, now: number): number {
  const { tokens } = refill(bucket, limits, now)
  // Slightly less than one token counts as one: otherwise rounding wakes a waiter at 0.9999… and makes it wait again.
  return tokens >= almostOne ? now : now + ((1 - tokens) / limits.qps) * 1000
}

export function takeToken(bucket: Bucket, limits: FlowLimits, now: number): Bucket {
  const { tokens, at } = refill(bucket, limits, now)
  return { tokens: tokens - 1, at }
}

const almostOne = 1 - 1e-6

export interface FlowSnapshot {
  /** Requests waiting now. */
  readonly waiting: number
  /** Requests admitted so far. */
  readonly taken: number
  /** How many of them waited, and the total wait. */
  readonly waited: number
  readonly waitedMs: number
  readonly longestWaitMs: number
}

export interface FlowControl {
  /** Resolves when the request may be sent, first come first served; rejects with the signal's reason. */
  take(signal?: AbortSignal): Promise<void>
  snapshot(): FlowSnapshot
}

interface Waiter {
  readonly since: number
  readonly go: () => void
}

export function createFlowControl(limits: FlowLimits, clock: Clock): FlowControl {
  if (!(limits.qps > 0) || !(limits.burst >= 1)) {
    throw new RangeError(`flow control needs qps > 0 and burst >= 1, not ${limits.qps} and ${limits.burst}`)
  }
  let bucket = fullBucket(limits, clock.now())
  /** In order of arrival. An aborted request leaves the queue and takes no token. */
  const line = new Set<Waiter>()
  let timer: Timer | undefined
  let taken = 0
  let waited = 0
  let waitedMs = 0
  let longestWaitMs = 0

  const take = (now: number): void => {
    bucket = takeToken(bucket, limits, now)
    taken++
  }

  const serve = (): void => {
    timer = undefined
    for (const waiter of line) {
      const now = clock.now()
      const ready = readyAt(bucket, limits, now)
      if (ready > now) {
        timer = clock.after(ready - now, serve)
        return
      }
      line.delete(waiter)
      take(now)
      waited++
      waitedMs += now - waiter.since
      longestWaitMs = Math.max(longestWaitMs, now - waiter.since)
      waiter.go()
    }
  }

  return {
    take(signal) {
      if (signal?.aborted) return Promise.reject(signal.reason as Error)
      const now = clock.now()
      if (line.size === 0 && readyAt(bucket, limits, now) <= now) {
        take(now)
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        const giveUp = (): void => {
          line.delete(waiter)
          if (line.size === 0) {
            timer?.cancel()
            timer = undefined
          }
          reject(signal?.reason as Error)
        }
        const waiter: Waiter = {
          since: now,
          go: () => {
            signal?.removeEventListener('abort', giveUp)
            resolve()
          },
        }
        signal?.addEventListener('abort', giveUp, { once: true })
        line.add(waiter)
        if (!timer) serve()
      })
    },
    snapshot: () => ({ waiting: line.size, taken, waited, waitedMs, longestWaitMs }),
  }
}
