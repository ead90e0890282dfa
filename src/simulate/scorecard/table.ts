/** The scorecard as text. */
import { type ScorecardLine, noAnswer, type Scorecard } from './scorecard.ts'

const marks = { passed: 'passed', warned: 'warned', failed: 'FAILED', skipped: 'skipped' } as const

export function formatScorecardLine({ rule, result, evidence }: ScorecardLine, width: number): string {
  return `${marks[result].padEnd(7)}  ${rule.padEnd(width)}  ${evidence}`
}

/** The last lines, below those of the rules. */
export function formatSummary({ operator, lines, level, passed, unanswered }: Scorecard): readonly string[] {
  const failures = lines.filter(({ result }) => result === 'failed').length
  const skips = lines.filter(({ result }) => result === 'skipped').length
  const untold = skips > 0 ? `, ${skips} not examined` : ''
  return [
    '',
    `${operator}: ${passed ? 'no rule is broken' : `${failures} of ${lines.length} rules broken`}${untold}`,
    `capability level ${level.name}; ${level.next}`,
    ...(unanswered === 0 && lines.some(({ evidence }) => evidence.startsWith(noAnswer))
      ? ['It has an application, and none answers here: give it one with --live.']
      : []),
    ...(unanswered > 0
      ? [`It reached outside ${unanswered} times, and no application answered: give it one with --live.`]
      : []),
  ]
}
