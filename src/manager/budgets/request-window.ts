/**
 * How many requests were made within the last minute, to the second. A window and not an allowance: a budget says what a
 * server has to bear in any minute, and saves nothing up.
 */

/** Oldest first; seconds in which there were none are left out. */
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

/** The moment from which on there are no more than `most`, if none are made until then. */
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

/** A clock that was set back makes no request of the future count for longer than a minute. */
function isRecent({ at }: Second, now: number): boolean {
  return Math.abs(now - at) < minuteMs
}
