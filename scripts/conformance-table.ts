/** Results of conformance tests, counted by area and told one by one where a test did not pass. */
import type { ConformanceTest } from './conformance-suite.ts'

export interface Result {
  readonly test: ConformanceTest
  readonly outcome: 'passed' | 'failed' | 'not applicable'
  readonly seconds: number
  /** Why it failed or does not apply. */
  readonly reason: string
}

export function summarize(results: readonly Result[]): Readonly<Record<Result['outcome'], number>> {
  const counts = { passed: 0, failed: 0, 'not applicable': 0 }
  for (const { outcome } of results) counts[outcome]++
  return counts
}

/** In Markdown: one line for each area, then the reasons, most frequent first, then each test that failed. */
export function table(results: readonly Result[]): string {
  const areas = Map.groupBy(results, ({ test }) => areaOf(test))
  const rows = [...areas]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([area, own]) => [area, summarize(own)] as const)
    .map(([area, { passed, failed, 'not applicable': none }]) => `| ${area} | ${passed} | ${failed} | ${none} |`)
  const reasons = [...Map.groupBy(results.filter(isExempt), ({ reason }) => reason)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([reason, own]) => `| ${reason} | ${own.length} |`)
  const failed = results
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ test, reason }) => `| ${test.file} | ${test.name} | ${reason.replaceAll('|', '\\|')} |`)
  return [
    '| area | passed | failed | not applicable |',
    '| --- | --- | --- | --- |',
    ...rows,
    ...(reasons.length > 0 ? ['', '| not applicable because | tests |', '| --- | --- |', ...reasons] : []),
    ...(failed.length > 0 ? ['', '| file | failed | message |', '| --- | --- | --- |', ...failed] : []),
  ].join('\n')
}

function isExempt({ outcome }: Result): boolean {
  return outcome === 'not applicable'
}

/** `apimachinery`, `common/node`. */
function areaOf({ file }: ConformanceTest): string {
  return file.slice(0, file.lastIndexOf('/'))
}
