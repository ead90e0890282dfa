/** The current processor and memory usage of this process. */
import { getHeapStatistics } from 'node:v8'
import type { NodeUsage, ProcessUsage } from './cost.ts'

/** `requests`: sent by its clients so far. */
export function processUsage(requests: number): ProcessUsage {
  const { user, system } = process.cpuUsage()
  const bytes = process.memoryUsage.rss()
  // In kilobytes, on every platform.
  const peakBytes = Math.max(process.resourceUsage().maxRSS * 1024, bytes)
  return { cpuMs: (user + system) / 1000, bytes, peakBytes, requests, node: nodeUsage() }
}

function nodeUsage(): NodeUsage {
  const { used_heap_size, total_heap_size, heap_size_limit, external_memory } = getHeapStatistics()
  return {
    version: process.version,
    startedAt: performance.timeOrigin,
    heapUsedBytes: used_heap_size,
    heapTotalBytes: total_heap_size,
    heapLimitBytes: heap_size_limit,
    externalBytes: external_memory,
    loopBusyMs: performance.eventLoopUtilization().active,
  }
}
