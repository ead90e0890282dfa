/** What this process takes of the machine, as it stands. */
import type { ProcessUsage } from './cost.ts'

/** `requests`: what its clients have sent so far. */
export function processUsage(requests: number): ProcessUsage {
  const { user, system } = process.cpuUsage()
  const bytes = process.memoryUsage.rss()
  // The peak is told in kilobytes, on every platform.
  const peakBytes = Math.max(process.resourceUsage().maxRSS * 1024, bytes)
  return { cpuMs: (user + system) / 1000, bytes, peakBytes, requests }
}
