/**
 * Texts of the console and their order: everything about a report that needs no DOM. Problems come first, and every colour
 * has a word.
 */
import type {
  RunSummary,
  InformerSummary,
  FindingSummary,
  ManagerReport,
  OperatorReport,
} from '../src/manager/observability/report.ts'

/** The version of the report that this page supports. */
const knownVersion = 1

export type Answer =
  | { readonly kind: 'report'; readonly report: ManagerReport }
  /** The manager was upgraded since this page was loaded. */
  | { readonly kind: 'newer' }
  | { readonly kind: 'unreadable' }

export function readAnswer(value: unknown): Answer {
  if (typeof value !== 'object' || value === null) return { kind: 'unreadable' }
  const { version, operators } = value as Partial<Readonly<Record<string, unknown>>>
  if (typeof version === 'number' && version > knownVersion) return { kind: 'newer' }
  if (version !== knownVersion || !Array.isArray(operators)) return { kind: 'unreadable' }
  return { kind: 'report', report: value as ManagerReport }
}

/** The delay of the next request, after so many failed ones. */
export function pauseMs(unanswered: number): number {
  return Math.min(1000 * 2 ** unanswered, 15_000)
}

export type Concern = 'wrong' | 'odd' | 'calm'

const concerns: readonly Concern[] = ['wrong', 'odd', 'calm']

/** Findings of this age still count as current. */
const recentMs = 600_000
/** A longer run is marked. */
const longMs = 60_000

export function concernOf({ failing, heldBy, findings, runningMs }: OperatorReport, now: number): Concern {
  const isRecent = findings.latest.some(({ at }) => now - at < recentMs)
  if (failing > 0 || heldBy === 'throttle' || heldBy === 'budget' || isRecent) return 'wrong'
  return findings.total > 0 || runningMs.longest > longMs ? 'odd' : 'calm'
}

/** `db-2` before `db-10` */
const byName = new Intl.Collator('en', { numeric: true })

/** Problems first, then by name: healthy operators keep their place. */
export function inOrder(operators: readonly OperatorReport[], now: number): readonly OperatorReport[] {
  const rank = (operator: OperatorReport): number => concerns.indexOf(concernOf(operator, now))
  return operators.toSorted((one, other) => rank(one) - rank(other) || byName.compare(one.name, other.name))
}

/** Every word of the filter occurs in the texts about the operator. */
export function matches(operator: OperatorReport, filter: string): boolean {
  const { name, state, heldBy, recentRuns, findings } = operator
  const gate = heldBy === 'nothing' ? '' : heldBy
  const [run] = recentRuns
  const found = findings.latest.flatMap(({ kind, message }) => [spaced(kind), kind, message])
  const text = [name, state, gate, run ? `${run.key} ${runText(run)}` : '', ...found].join(' ').toLowerCase()
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** Stale caches first, then the largest. */
export function informersInOrder(informers: readonly InformerSummary[]): readonly InformerSummary[] {
  const rank = ({ state }: InformerSummary): number => (state === 'synced' ? 1 : 0)
  return informers.toSorted(
    (one, other) => rank(one) - rank(other) || other.bytes - one.bytes || byName.compare(one.resource, other.resource),
  )
}

export interface Found extends FindingSummary {
  readonly operator: string
  /** How often the same finding occurred, as far as known. */
  readonly times: number
}

/** The findings, each once, newest first. */
export function foundIn(operators: readonly OperatorReport[]): readonly Found[] {
  const found: Found[] = []
  for (const { name: operator, findings } of operators)
    for (const same of Map.groupBy(findings.latest, sameness).values())
      found.push({ ...same[0]!, operator, times: same.length })
  return found.toSorted((one, other) => other.at - one.at)
}

/** Messages differ in their times and seconds; the subject stays. */
function sameness({ kind, message, key, object, fields, with: others }: FindingSummary): string {
  return JSON.stringify(object === undefined ? [kind, message] : [kind, key, object, fields, others])
}

const gates: Readonly<Record<OperatorReport['heldBy'], string>> = {
  nothing: 'nothing holds it back',
  pause: 'paused by a user or the configuration',
  standby: 'another replica runs it',
  budget: 'it has exceeded its budget',
  throttle: 'throttled: a hot loop or a conflict was found',
  debounce: 'changes are being collected',
  coolDown: 'it ran a moment ago',
  allowance: 'it has used its changes per minute',
  concurrency: 'it has reached its concurrency',
  share: 'operators with a smaller share run first',
}

export function gateText(gate: OperatorReport['heldBy']): string {
  // A gate that is newer than this page is shown by its name.
  return Object.hasOwn(gates, gate) ? gates[gate] : gate
}

/** `hotLoop` → `hot loop` */
export function spaced(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

export function outcomeWord(outcome: RunSummary['outcome']): string {
  return outcome === 'gaveUp' ? 'gave up' : outcome === 'success' ? 'done' : outcome
}

/** The outcome of a run, in one line. */
export function runText({ done, why, outcome }: RunSummary): string {
  const parts = [done.map(inWords).join(', '), why ?? ''].filter((part) => part !== '')
  return parts.length > 0 ? parts.join(' · ') : outcomeWord(outcome)
}

/** `statusWritten cr` in words. */
function inWords(done: string): string {
  return done.replace(/^[a-z]+[A-Z]\w*/, spaced).replace(/^(\w+ \w+) cr$/, '$1')
}

/** `3 waiting, 1 of 8 running` */
export function queueText({ waiting, running, concurrency, later, heldBy }: OperatorReport): string {
  const parts = [
    waiting > 0 ? `${countText(waiting)} waiting` : '',
    running > 0 ? `${running} of ${concurrency} running` : '',
    later > 0 ? `${countText(later)} later` : '',
  ]
  // The gate is shown beside it.
  return parts.filter((part) => part !== '').join(', ') || (heldBy === 'nothing' ? '–' : '')
}

export interface Verdict {
  readonly word: 'ready' | 'not ready'
  /** The problem in one line; empty if there is none. */
  readonly rest: string
  readonly concern: Concern
}

export function verdictOf({ isReady, operators, problems, at }: ManagerReport): Verdict {
  const wrong = operators.filter((operator) => concernOf(operator, at) === 'wrong').length
  const parts = [
    problems.length > 0 ? `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}` : '',
    wrong > 0 ? `${wrong} of ${operators.length} operators with problems` : '',
  ]
  return {
    word: isReady ? 'ready' : 'not ready',
    rest: parts.filter((part) => part !== '').join(', '),
    concern: isReady ? (wrong + problems.length > 0 ? 'odd' : 'calm') : 'wrong',
  }
}

const number = new Intl.NumberFormat('en')

export function countText(count: number): string {
  return number.format(count)
}

const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  const value = bytes / 1000 ** power
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

/** `850 ms`, `12 s`, `3 min`, `5 h 20 min`, `3 d 4 h` */
export function spanText(ms: number): string {
  if (ms < 1000) return `${Math.max(Math.round(ms), 0)} ms`
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

export function agoText(at: number, now: number): string {
  return now - at < 1000 ? 'now' : `${spanText(now - at)} ago`
}

/** In the time zone of the browser. */
export function timeText(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB')
}

const dayMs = 86_400_000

/** Extrapolated to a day. */
export function perDay(value: number, since: number, until: number): number {
  return (value * dayMs) / Math.max(until - since, 1)
}

/** `#/memcached` names an operator, so that it can be linked to. */
export function hashOf(operator: string): string {
  return `#/${encodeURIComponent(operator)}`
}

export function operatorIn(hash: string): string | undefined {
  if (!hash.startsWith('#/')) return undefined
  try {
    return decodeURIComponent(hash.slice(2)) || undefined
  } catch {
    return undefined
  }
}

/** A line over so many last values, the newest at the right, within 60 × 16. */
export function sparkPath(values: readonly number[], most = 60): string {
  const top = Math.max(...values, 1)
  const points = values.map((value, index) => {
    const x = 60 - ((values.length - 1 - index) * 60) / (most - 1)
    return `${x.toFixed(1)},${(15 - (value / top) * 14).toFixed(1)}`
  })
  return points.length < 2 ? '' : `M${points.join('L')}`
}
