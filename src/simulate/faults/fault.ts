/**
 * A fault: something that goes wrong at one point of a run. Points are counted: the third write that the operator
 * sends, the fifth event that reaches its caches, or `rest`, when all work is done. A plan is a scenario with its faults,
 * and both have a text form, so that a failure can be replayed from one line: `change: crash@3, lose@e5`.
 */
import { simulateErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'

export type FaultKind =
  | 'crash-before'
  | 'crash'
  | 'crash-after'
  | 'refuse'
  | 'lost'
  | 'unheard'
  | 'silent'
  | 'slow'
  | 'lose'
  | 'delay'
  | 'merge'
  | 'repeat'
  | 'expire'
  | 'freeze'
  | 'travel'
  | 'usurp'
  | 'pause'
  | 'lapse'
  | 'leaders'
  | 'jump'
  | 'remove'
  | 'edit'
  | 'drift'
  | 'add'
  | 'hurry'

export interface Fault {
  readonly kind: FaultKind
  /** The nth write or event, depending on its kind; `rest`: when the cluster is at rest. */
  readonly at: number | 'rest'
  /** The parameter of the fault: a status, a time in milliseconds, an object. */
  readonly value?: string | undefined
}

export interface FaultPlan {
  readonly scenario: string
  readonly faults: readonly Fault[]
}

interface FaultEntry {
  /** What `at` counts. */
  readonly on: 'write' | 'event'
  /** Kinds that go together in `--plans`. */
  readonly group: string
  readonly help: string
}

/** The table of faults. */
export const faultTable: Readonly<Record<FaultKind, FaultEntry>> = {
  'crash-before': {
    on: 'write',
    group: 'crash',
    help: 'the process ends while the write is on its way: it never arrives',
  },
  crash: { on: 'write', group: 'crash', help: 'the write is done, and the process ends before it hears of it' },
  'crash-after': { on: 'write', group: 'crash', help: 'the process hears of the write, and ends before it sends more' },
  refuse: { on: 'write', group: 'answers', help: 'the server refuses the write: 409, 429, 500' },
  lost: { on: 'write', group: 'answers', help: 'the connection breaks before the write arrives' },
  unheard: { on: 'write', group: 'answers', help: 'the write is done, and the connection breaks before the answer' },
  silent: { on: 'write', group: 'answers', help: 'the write is done, and no answer ever comes: a time-out' },
  slow: { on: 'write', group: 'answers', help: 'from here on each request takes this many milliseconds' },
  lose: {
    on: 'event',
    group: 'events',
    help: 'the watch breaks before the event; half a second later the list shows what is left',
  },
  delay: {
    on: 'event',
    group: 'events',
    help: 'the event, and all after it on its watch, come this many milliseconds late',
  },
  merge: {
    on: 'event',
    group: 'events',
    help: 'the event is not seen: the next one of the same object comes in its place',
  },
  repeat: { on: 'event', group: 'events', help: 'the event comes twice' },
  expire: { on: 'event', group: 'events', help: 'the watch ends with 410: everything is listed again' },
  freeze: {
    on: 'event',
    group: 'stale',
    help: 'from the event on, nothing reaches any cache for this many milliseconds',
  },
  travel: {
    on: 'write',
    group: 'stale',
    help: 'the process ends; the next one meets a server that is behind: it shows what was there before this write',
  },
  usurp: {
    on: 'write',
    group: 'leaders',
    help: 'the process is cut off, its write under way; another takes its lease and goes on; then the write arrives',
  },
  pause: {
    on: 'write',
    group: 'leaders',
    help: 'the process is stopped when its write is done; another takes its lease and goes on; then it wakes up',
  },
  lapse: {
    on: 'write',
    group: 'leaders',
    help: 'its lease cannot be renewed, and answers are slow: it loses the lease in the midst of its work',
  },
  leaders: {
    on: 'write',
    group: 'leaders',
    help: 'a user deletes the lease; a second process takes it, and both lead until the first one checks',
  },
  jump: {
    on: 'write',
    group: 'clock',
    help: 'the clock of the process is set forward or back by this many milliseconds',
  },
  remove: { on: 'write', group: 'person', help: 'a user deletes this object; a CR stays deleted' },
  edit: {
    on: 'write',
    group: 'person',
    help: 'another client changes, empties or removes a field of this object that the operator owns; of a CR a field of its spec, reverted at rest',
  },
  drift: {
    on: 'write',
    group: 'person',
    help: 'another client changes, empties and removes each field of this object that the operator owns, one by one, each at rest',
  },
  add: { on: 'write', group: 'person', help: 'a user adds fields to this object that are not the operator’s' },
  hurry: { on: 'write', group: 'person', help: 'the next step of the scenario does not wait: it is done here' },
}

export const faultGroups: readonly string[] = [
  ...new Set(Object.values(faultTable).map(({ group }) => group)),
  'walk',
  'mixed',
]

export function formatFault({ kind, at, value }: Fault): string {
  const point = at === 'rest' ? 'rest' : `${faultTable[kind].on === 'event' ? 'e' : ''}${at}`
  return `${kind}@${point}${value === undefined ? '' : `=${value}`}`
}

export function formatPlan({ scenario, faults }: FaultPlan): string {
  return faults.length === 0 ? scenario : `${scenario}: ${faults.map(formatFault).join(', ')}`
}

/** @throws InvalidPlan */
export function parsePlan(text: string): FaultPlan {
  const colon = text.indexOf(': ')
  const [scenario, rest] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 2)]
  if (scenario.trim() === '') throw new MusterError(simulateErrors.InvalidPlan, `"${text}" names no scenario.`)
  const faults = rest.trim() === '' ? [] : rest.split(',').map((one) => parseFault(one.trim()))
  return { scenario: scenario.trim(), faults }
}

function parseFault(text: string): Fault {
  const [, kind = '', point = '', value] = /^([a-z-]+)@(e?\d+|rest)(?:=(.+))?$/.exec(text) ?? []
  if (!Object.hasOwn(faultTable, kind)) {
    const near = nearest(kind, Object.keys(faultTable))
    const hint = near === undefined ? 'It is FAULT@POINT or FAULT@POINT=VALUE.' : `Did you mean "${near}"?`
    throw new MusterError(simulateErrors.InvalidPlan, `"${text}" is no fault. ${hint}`)
  }
  const at = point === 'rest' ? point : Number(point.replace('e', ''))
  return { kind: kind as FaultKind, at, ...(value !== undefined && { value }) }
}
