/** Results as JUnit XML, for CI systems. */
import type { TestResult } from './run-test.ts'

export function junitReport(results: readonly TestResult[], suite = 'muster test'): string {
  const failures = results.filter(({ outcome }) => outcome === 'failed').length
  const errors = results.filter(({ outcome }) => outcome === 'broken').length
  const totals = `tests="${results.length}" failures="${failures}" errors="${errors}" skipped="0" time="${seconds(results)}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals}>`,
    `  <testsuite name="${escaped(suite)}" ${totals}>`,
    ...results.flatMap(testCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function testCase(result: TestResult): readonly string[] {
  const { name, folder, outcome, discrepancies, stdout, stderr } = result
  const element = outcome === 'broken' ? 'error' : 'failure'
  const told = discrepancies.map(({ title, lines }) => [title, ...lines].join('\n'))
  const inner = [
    ...(told.length > 0
      ? [`      <${element} message="${escaped(discrepancies[0]!.title)}">${escaped(told.join('\n\n'))}</${element}>`]
      : []),
    ...(stdout === '' ? [] : [`      <system-out>${escaped(stdout)}</system-out>`]),
    ...(stderr === '' ? [] : [`      <system-err>${escaped(stderr)}</system-err>`]),
  ]
  const head = `    <testcase name="${escaped(name)}" classname="${escaped(folder)}" time="${seconds([result])}"`
  return inner.length === 0 ? [`${head}/>`] : [`${head}>`, ...inner, '    </testcase>']
}

function seconds(results: readonly TestResult[]): string {
  return (results.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000).toFixed(3)
}

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escaped(text: string): string {
  return [...text.matchAll(/./gsu)]
    .map(([character]) => marks[character] ?? (isAllowed(character) ? character : ''))
    .join('')
}

/** Characters that XML does not allow are dropped. */
function isAllowed(character: string): boolean {
  const code = character.codePointAt(0)!
  return code === 9 || code === 10 || code === 13 || (code >= 32 && code !== 0xfffe && code !== 0xffff)
}
