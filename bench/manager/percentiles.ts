/** Many measured times, as two percentiles. */
export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly count: number
}

export function percentilesOf(ms: readonly number[]): Percentiles {
  const sorted = ms.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)]!
  return { p50: at(0.5), p99: at(0.99), count: sorted.length }
}

export function percentilesText({ p50, p99, count }: Percentiles): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${count}`
}
