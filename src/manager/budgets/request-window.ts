/**
 * Counts the requests of the last minute, to the second. A sliding window and not a token bucket: a budget limits the
 * load on a server in any minute, and nothing accumulates.
 */

/** Oldest first; seconds without requests are omitted. */
export type RequestWindow = readonly Second[]

interface Second {
  readonly at: number
  readonly requests: number
}

const secondMs = 1000
const minuteMs = 60_000

export const noRequests: RequestWindow = []

export function noteRequest(window: RequestWindow, now: number): RequestWindow {
  const at = now - (now % secondMs)
  const recent = window.filter((second) => isRecent(second, now))
  const last = recent.at(-1)
  return last?.at === at
    ? [...recent.slice(0, -1), { at, requests: last.requests + 1 }]
    : [...recent, { at, requests: 1 }]
}

export function requestsIn(window: RequestWindow, now: number): number {
  return window.reduce((sum, second) => sum + (isRecent(second, now) ? second.requests : 0), 0)
}

/** When the count is down to `most`, if no more requests are made. */
export function fewerAt(window: RequestWindow, most: number, now: number): number {
  let left = requestsIn(window, now)
  let moment = now
  for (const second of window) {
    if (left <= most) break
    if (!isRecent(second, now)) continue
    left -= second.requests
    moment = second.at + minuteMs
  }
  return moment
}

/** A clock that was set back leaves requests in the future: they count for a minute at most. */
function isRecent({ at }: Second, now: number): boolean {
  return Math.abs(now - at) < minuteMs
}
