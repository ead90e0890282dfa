/** The report of a manager as a table, and its changes as lines. */
import { isolateControl } from '../terminal/control-characters.ts'
import type { RunSummary, ManagerReport, OperatorReport } from '../../manager/observability/report.ts'

/** Aligned columns; numbers to the right. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...rest] = rows
  const places = first.map((_, index) => {
    const width = rows.reduce((most, row) => Math.max(most, row[index]?.length ?? 0), 0)
    const cells = rest.map((row) => row[index] ?? '')
    const isNumber =
      cells.every((cell) => cell === '–' || /^\d[\d.]*( ?[%\w]{1,2})?$/.test(cell)) &&
      !cells.every((cell) => cell === '–')
    return (cell: string): string => (isNumber ? cell.padStart(width) : cell.padEnd(width))
  })
  return rows.map((row) =>
    places
      .map((place, index) => place(row[index] ?? ''))
      .join('  ')
      .trimEnd(),
  )
}

const head = [
  'OPERATOR',
  'STATE',
  'WAITING',
  'RUNNING',
  'RECONCILES',
  'WRITES',
  'FAILURES',
  'FINDINGS',
  'HELD BY',
  'LAST',
]

export function tableOf({ operators, problems, at }: ManagerReport): readonly string[] {
  const rows = operators.map((operator) => {
    const { name, state, waiting, running, cost, findings, heldBy, recentRuns } = operator
    const counts = [waiting, running, cost.reconciles, cost.writes, cost.failures, findings.total].map(String)
    return [name, state, ...counts, heldBy === 'nothing' ? '–' : heldBy, lastOf(recentRuns[0], at)]
  })
  return [...columns([head, ...rows]), ...problems.map((problem) => `! ${problem}`)].map(isolateControl)
}

/** The findings below the table, newest last. */
export function findingsOf({ operators }: ManagerReport): readonly string[] {
  return operators
    .flatMap(({ findings }) => findings.latest.slice(0, 3))
    .toSorted((one, other) => one.at - other.at)
    .map(({ kind, message }) => isolateControl(`${kind}: ${message}`))
}

/** Activity, failures and findings since the other report, oldest first: one line each. */
export function newsOf(before: ManagerReport | undefined, after: ManagerReport): readonly string[] {
  const old = new Map((before?.operators ?? []).map((operator) => [operator.name, operator]))
  return after.operators
    .flatMap((operator) => [
      ...newRuns(old.get(operator.name), operator),
      ...newFindings(old.get(operator.name), operator),
    ])
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, line }) => isolateControl(`${timeOf(at)} ${line}`))
}

interface News {
  readonly at: number
  readonly line: string
}

function newRuns(before: OperatorReport | undefined, { name, recentRuns }: OperatorReport): readonly News[] {
  const [known] = before?.recentRuns ?? []
  const isKnown = ({ at, key, times }: RunSummary): boolean =>
    at === known?.at && key === known.key && times === known.times
  const last = recentRuns.findIndex(isKnown)
  // An entry may have been repeated since: its time changed, and the entries below it are known.
  const fresh = last >= 0 ? recentRuns.slice(0, last) : recentRuns.filter(({ at }) => at > (known?.at ?? -Infinity))
  return fresh.map((run) => ({ at: run.at, line: `${name} ${run.key}: ${runText(run)}` }))
}

function newFindings(before: OperatorReport | undefined, { findings }: OperatorReport): readonly News[] {
  const count = findings.total - (before?.findings.total ?? 0)
  return findings.latest
    .slice(0, Math.max(count, 0))
    .map(({ at, kind, message }) => ({ at, line: `${kind}: ${message}` }))
}

export function runText({ done, outcome, why, times }: RunSummary): string {
  const what = [
    ...done.map(inWords),
    ...(why === undefined ? [] : [outcome === 'waiting' ? `waits: ${why}` : `${outcome}: ${why}`]),
  ]
  return `${what.join(', ')}${times > 1 ? ` (${times} times)` : ''}`
}

/** `statusWritten cr` in words. */
function inWords(done: string): string {
  const [, operation, subject] = /^([a-z]+[A-Z][A-Za-z]*) (.*)$/.exec(done) ?? []
  if (operation === undefined) return done
  const words = operation.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return subject === 'cr' ? words : `${words} ${subject}`
}

function lastOf(run: RunSummary | undefined, now: number): string {
  return run ? `${agoOf(now - run.at)} ${run.key}: ${runText(run)}` : '–'
}

export function agoOf(ms: number): string {
  const seconds = Math.max(Math.round(ms / 1000), 0)
  if (seconds < 120) return `${seconds}s`
  return seconds < 7200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3600)}h`
}

export function timeOf(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}
