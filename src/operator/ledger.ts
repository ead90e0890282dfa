/**
 * The ledger of one reconcile: each operation and its outcome, once. Status, Events, the log line, metrics, the requeue
 * and the trace are derived from it, so they cannot contradict each other.
 */
import { setCondition, type Condition, type ConditionUpdate } from '../kube/meta/condition.ts'
import type { Health } from '../kube/meta/health.ts'
import type { JsonObject } from '../kube/json.ts'
import type { ReconcileFailure } from './failure.ts'
import type { ObjectName } from './view/view.ts'

export type Operation =
  /** Written because the object was missing, because the desired object changed, or because of drift. */
  | 'created'
  | 'updated'
  | 'corrected'
  | 'adopted'
  | 'pruned'
  | 'deleted'
  /** It stays, and is no longer the holder's. */
  | 'released'
  /** No write needed. */
  | 'unchanged'
  | 'ignored'
  | 'inactive'
  /** Not written yet. */
  | 'waiting'
  | 'delayed'
  /** An action was requested from the application. */
  | 'acted'
  | 'finalizerAdded'
  | 'finalizerRemoved'
  | 'statusWritten'
  | 'requeued'
  | 'failed'
  | 'gaveUp'

export interface LedgerEntry {
  readonly step: string
  /** The id of the dependent; `cr` for the CR itself. */
  readonly subject: string
  readonly operation: Operation
  /** `apps/v1 Deployment`, if it is about an object. */
  readonly kind?: string
  readonly name?: ObjectName
  /** The reason, for people. */
  readonly message?: string
  /** The fields that differed, as paths. */
  readonly fields?: readonly string[]
}

export interface Ledger {
  readonly operator: string
  readonly controller: string
  /** `namespace/name` of the CR. */
  readonly key: string
  readonly generation: number
  /** The steps taken, in order. */
  readonly path: readonly string[]
  readonly entries: readonly LedgerEntry[]
  /** The health of each dependent, by subject. */
  readonly health: ReadonlyMap<string, Health>
  readonly failure?: ReconcileFailure
  /** A reason to wait that is no failure: `finalizing`, or what a dependency lacks. */
  readonly waiting?: string
  /** It ended early, since it waits for a task or a coordinator; it runs again when that is there. */
  readonly isSuspended?: true
  readonly isFinalizing: boolean
  readonly startedAt: number
  /** When each step of the path began. */
  readonly stepsAt?: readonly number[]
  readonly requeueAfterMs?: number
  /** Events of the author, beside those for changes and failures. */
  readonly events?: readonly EventDraft[]
  /** Numbers that the author reports of the CR, by name: a metric. */
  readonly gauges?: ReadonlyMap<string, number>
  /** The cost of the run, if it was measured. */
  readonly effort?: Effort
}

/** The id and the cost of a run. */
export interface Effort {
  /** 32 hexadecimal digits: the `reconcileID` in logs and the trace id. */
  readonly id: string
  readonly endedAt: number
  /** Reads from the view; none of them was a request. */
  readonly reads: number
  /** CPU time, as far as this thread can measure it. */
  readonly cpuMs: number
  /** The requests, in order. */
  readonly sent: readonly SentWrite[]
}

export interface SentWrite {
  readonly subject: string
  readonly verb: string
  /** `apps/v1 Deployment` */
  readonly kind: string
  readonly name: ObjectName
  /** The times of its wave: all writes of a wave are sent concurrently. */
  readonly startedAt: number
  readonly endedAt: number
  readonly isDone: boolean
}

const writes: ReadonlySet<Operation> = new Set([
  'created',
  'updated',
  'corrected',
  'adopted',
  'pruned',
  'deleted',
  'released',
  'acted',
  'finalizerAdded',
  'finalizerRemoved',
  'statusWritten',
])

export function isWrite({ operation }: LedgerEntry): boolean {
  return writes.has(operation)
}

/** How often each operation occurred: what metrics count. */
export function operationCounts({ entries }: Ledger): ReadonlyMap<Operation, number> {
  const counts = new Map<Operation, number>()
  for (const { operation } of entries) counts.set(operation, (counts.get(operation) ?? 0) + 1)
  return counts
}

export type RunOutcome = 'success' | 'waiting' | 'failed' | 'gaveUp'

export function outcomeOf({ failure, waiting }: Ledger): RunOutcome {
  if (failure) return failure.gaveUp ? 'gaveUp' : 'failed'
  return waiting === undefined ? 'success' : 'waiting'
}

/** The writes of a run, for people: `corrected deployment (spec.replicas)`. */
export function doneIn({ entries }: Ledger): readonly string[] {
  return entries.filter(isWrite).map(({ operation, subject, fields }) => {
    // Changed status fields are noise in a log.
    const showsFields = operation !== 'statusWritten' && fields?.length
    return `${operation} ${subject}${showsFields ? ` (${fields.join(', ')})` : ''}`
  })
}

/**
 * One structured log line, without operations that changed nothing. A reconcile that changed nothing, and a conflict, which
 * is retried at once, are for the level debug.
 */
export function logLine(ledger: Ledger): ReconcileLine {
  const { operator, controller, key, generation, path, failure, waiting, requeueAfterMs, effort } = ledger
  const done = doneIn(ledger)
  const outcome = outcomeOf(ledger)
  const isQuiet = failure ? failure.retry === 'conflict' : done.length === 0
  return {
    level: isQuiet ? 'debug' : failure ? 'error' : 'info',
    msg: reconcileMessages[outcome],
    operator,
    controller,
    key,
    generation,
    // The key that controller-runtime uses, so that log queries find both.
    ...(effort && { reconcileID: effort.id }),
    outcome,
    path: path.join('>'),
    ...(done.length > 0 && { done }),
    ...(waiting !== undefined && { waiting }),
    ...(failure && { step: failure.step, subject: failure.subject, reason: failure.reason, error: failure.message }),
    // The author's file and line, and the stack of an error that the author did not foresee.
    ...(failure?.at !== undefined && { at: failure.at }),
    ...(failure?.stack !== undefined && { stack: failure.stack }),
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  }
}

type ReconcileLine = JsonObject & { readonly msg: string; readonly level: 'debug' | 'info' | 'error' }

const reconcileMessages: Readonly<Record<RunOutcome, string>> = {
  success: 'Reconciled',
  waiting: 'Reconciled; waiting',
  failed: 'Reconcile failed',
  gaveUp: 'Reconcile gave up',
}

/** The kit's part of a Kubernetes Event. */
export interface EventDraft {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

const eventReasons: Readonly<Partial<Record<Operation, string>>> = {
  created: 'Created',
  updated: 'Updated',
  corrected: 'Corrected',
  adopted: 'Adopted',
  pruned: 'Pruned',
  deleted: 'Deleted',
  released: 'Released',
}

/** More changes of one sort become one Event: a holder may have hundreds of objects, and a person reads one line. */
const mostEvents = 3

/** Events for changes and failures, never for success; those of the author come first. */
export function eventsOf({ entries, failure, events: own = [] }: Ledger): readonly EventDraft[] {
  const events = [...Map.groupBy(entries, ({ operation }) => eventReasons[operation])].flatMap(([reason, same]) =>
    reason === undefined
      ? []
      : same.length > mostEvents
        ? [summaryOf(reason, same)]
        : same.map((one) => eventOf(reason, one)),
  )
  const all = [...own, ...events]
  if (!failure || failure.retry === 'conflict') return all
  const { reason, message, subject, step } = failure
  return [...all, { type: 'Warning', reason, message: `${step}, ${subject}: ${message}` }]
}

function eventOf(reason: string, { operation, fields, ...entry }: LedgerEntry): EventDraft {
  const drift =
    operation === 'corrected' && fields?.length ? `: ${fields.join(', ')} had been changed by another client` : ''
  return { type: 'Normal', reason, message: `${reason} ${objectIn(entry)}${drift}` }
}

function summaryOf(reason: string, entries: readonly LedgerEntry[]): EventDraft {
  const shown = entries.slice(0, 5).map(objectIn).join(', ')
  const more = entries.length > 5 ? ` and ${entries.length - 5} more` : ''
  return { type: 'Normal', reason, message: `${reason} ${entries.length} objects: ${shown}${more}` }
}

function objectIn({ kind = '', name }: Pick<LedgerEntry, 'kind' | 'name'>): string {
  return `${kind.split(' ').at(-1)} ${name?.name}`
}

/**
 * The standard conditions, derived from a ledger. They hold no counts and no times of their own: an unchanged state is
 * an equal condition, and is not written again.
 *
 * - `Reconciled`: is the cluster as the CR asks?
 * - `Ready`: are all dependents healthy?
 * - `Stalled`: only a change can help; absent otherwise.
 */
export function standardConditions(ledger: Ledger): readonly ConditionUpdate[] {
  const { generation: observedGeneration, failure, waiting, isFinalizing } = ledger
  const states: readonly Omit<ConditionUpdate, 'observedGeneration'>[] = [
    reconciled(failure, waiting, isFinalizing),
    ready(ledger),
    ...(failure?.retry === 'terminal'
      ? [{ type: 'Stalled', status: 'True', reason: failure.reason, message: failure.message } as const]
      : []),
  ]
  return states.map(({ message = '', ...state }) => Object.assign(state, { message: cut(message), observedGeneration }))
}

/** The API server rejects a status whose messages are too long: then nothing would be reported at all. */
function cut(message: string): string {
  const most = 4096
  return message.length <= most ? message : `${message.slice(0, most).toWellFormed()}…`
}

function reconciled(
  failure: ReconcileFailure | undefined,
  waiting: string | undefined,
  isFinalizing: boolean,
): Omit<ConditionUpdate, 'observedGeneration'> {
  const type = 'Reconciled'
  if (failure) {
    const { reason, message, step, subject } = failure
    const place = subject === 'cr' ? step : `${step}, ${subject}`
    return { type, status: 'False', reason, message: `${place}: ${message}` }
  }
  if (isFinalizing) return { type, status: 'False', reason: 'Finalizing', message: waiting ?? 'It is being finalized.' }
  if (waiting !== undefined) return { type, status: 'False', reason: 'Waiting', message: waiting }
  return { type, status: 'True', reason: 'Success', message: 'The cluster is as asked.' }
}

function ready({ failure, health, isFinalizing, waiting }: Ledger): Omit<ConditionUpdate, 'observedGeneration'> {
  const type = 'Ready'
  if (isFinalizing) return { type, status: 'False', reason: 'Finalizing', message: 'It is being finalized.' }
  for (const [subject, { status, reason, message }] of health) {
    if (status !== 'Current') return { type, status: 'False', reason, message: `${subject}: ${message}` }
  }
  if (failure) return { type, status: 'False', reason: failure.reason, message: failure.message }
  if (waiting !== undefined) return { type, status: 'False', reason: 'Waiting', message: waiting }
  return { type, status: 'True', reason: 'Ready', message: 'All of it is ready.' }
}

/** The condition types of the kit. */
export const standardTypes: ReadonlySet<string> = new Set(['Reconciled', 'Ready', 'Stalled'])

/**
 * The updated conditions: one whose status is unchanged keeps its transition time. Conditions of other writers are left
 * out.
 */
export function statedConditions(
  conditions: readonly Condition[] | undefined,
  updates: readonly ConditionUpdate[],
  now: number,
): readonly Condition[] {
  // The author's condition wins over a standard one of the same type: applying both would be a transition each time.
  const last = new Map(updates.map((update) => [update.type, update]))
  let all = conditions ?? []
  for (const update of last.values()) all = setCondition(all, update, now)
  return all.filter(({ type }) => last.has(type))
}
