/** Results of conformance tests, counted by area and listed one by one where a test did not pass. */
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

/** In Markdown: one line for each area, then the tests that do not apply by reason and file, then each test that failed. */
export function table(results: readonly Result[]): string {
  const areas = Map.groupBy(results, ({ test }) => areaOf(test))
  const rows = [...areas]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([area, own]) => [area, summarize(own)] as const)
    .map(([area, { passed, failed, 'not applicable': none }]) => `| ${area} | ${passed} | ${failed} | ${none} |`)
  const failed = results
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ test, reason }) => `| ${test.file} | ${test.name} | ${reason.replaceAll('|', '\\|')} |`)
  return [
    '| area | passed | failed | not applicable |',
    '| --- | --- | --- | --- |',
    ...rows,
    ...exempted(results),
    ...(failed.length > 0 ? ['', '| file | failed | message |', '| --- | --- | --- |', ...failed] : []),
  ].join('\n')
}

/** Tests that do not apply, by reason and file. If only a few tests of a file apply, these are named instead. */
function exempted(results: readonly Result[]): readonly string[] {
  const exempt = results.filter(({ outcome }) => outcome === 'not applicable')
  if (exempt.length === 0) return []
  const files = Map.groupBy(results, ({ test }) => test.file)
  const lines = ['', '| not applicable | tests | which |', '| --- | --- | --- |']
  const reasons = [...Map.groupBy(exempt, ({ reason }) => reason)].toSorted(([, a], [, b]) => b.length - a.length)
  for (const [reason, all] of reasons) {
    lines.push(`| **${reason}** | ${all.length} | |`)
    for (const [file, own] of [...Map.groupBy(all, ({ test }) => test.file)].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      lines.push(`| ${file} | ${own.length} | ${named(own, files.get(file) ?? [])} |`)
  }
  return lines
}

function named(own: readonly Result[], all: readonly Result[]): string {
  if (own.length === all.length) return 'all'
  const others = all.filter((result) => !own.includes(result))
  const titles = (list: readonly Result[]): string =>
    list
      .map(({ test }) => test.title)
      .toSorted()
      .join('; ')
  return others.length < own.length ? `all but: ${titles(others)}` : titles(own)
}

/** `apimachinery`, `common/node`. */
function areaOf({ file }: ConformanceTest): string {
  return file.slice(0, file.lastIndexOf('/'))
}
