/** The current processor and memory usage of this process. */
import type { ProcessUsage } from './cost.ts'

/** `requests`: sent by its clients so far. */
export function processUsage(requests: number): ProcessUsage {
  const { user, system } = process.cpuUsage()
  const bytes = process.memoryUsage.rss()
  // In kilobytes, on every platform.
  const peakBytes = Math.max(process.resourceUsage().maxRSS * 1024, bytes)
  return { cpuMs: (user + system) / 1000, bytes, peakBytes, requests }
}
