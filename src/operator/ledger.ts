/**
 * The ledger of one reconcile: each operation and what came of it, once. Status, Events, the log line, metrics, the next
 * run and the trace are all derived from it, so they cannot tell different stories.
 */
import { setCondition, type Condition, type ConditionUpdate } from '../kube/condition.ts'
import type { Health } from '../kube/health.ts'
import type { JsonObject } from '../kube/json.ts'
import type { ReconcileFailure } from './failure.ts'
import type { ObjectName } from './view.ts'

export type Operation =
  /** Written because it was not there, or not as wanted, or changed by somebody. */
  | 'created'
  | 'updated'
  | 'corrected'
  | 'adopted'
  | 'pruned'
  | 'deleted'
  /** Nothing to do about it. */
  | 'unchanged'
  | 'ignored'
  | 'inactive'
  /** Not now. */
  | 'waiting'
  | 'delayed'
  /** The application was told to do something. */
  | 'acted'
  | 'finalizerAdded'
  | 'finalizerRemoved'
  | 'statusWritten'
  | 'requeued'
  | 'failed'
  | 'gaveUp'

export interface LedgerEntry {
  readonly step: string
  /** The author's name of it; `cr` for the object itself. */
  readonly subject: string
  readonly operation: Operation
  /** `apps/v1 Deployment`, where it is an object. */
  readonly kind?: string
  readonly name?: ObjectName
  /** Why, in words. */
  readonly message?: string
  /** What was not as wanted, as paths. */
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
  /** How each resource stands, by subject. */
  readonly health: ReadonlyMap<string, Health>
  readonly failure?: ReconcileFailure
  /** A reason to wait that is no failure: `finalizing`, or what a dependency lacks. */
  readonly waiting?: string
  readonly isFinalizing: boolean
  readonly startedAt: number
  /** When each step of the path began. */
  readonly stepsAt?: readonly number[]
  readonly requeueAfterMs?: number
  /** What the run took; only where somebody measured it. */
  readonly effort?: Effort
}

/** One run among others: what it is called, and what it took. */
export interface Effort {
  /** 32 hexadecimal digits: in logs the run's id, in traces that of its trace. */
  readonly id: string
  readonly endedAt: number
  /** Objects and lists that it looked at; none of them was a request. */
  readonly reads: number
  /** Time of a processor, as far as this thread can tell. */
  readonly cpuMs: number
  /** What was sent, in order. */
  readonly sent: readonly SentWrite[]
}

export interface SentWrite {
  readonly subject: string
  readonly verb: string
  /** `apps/v1 Deployment` */
  readonly kind: string
  readonly name: ObjectName
  /** Those of its wave: what is in one goes out side by side. */
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

/** What a run changed, in words: `corrected deployment (spec.replicas)`. */
export function doneIn({ entries }: Ledger): readonly string[] {
  return entries.filter(isWrite).map(({ operation, subject, fields }) => {
    // Which words of the status are new is of interest to nobody who reads logs.
    const isTold = operation !== 'statusWritten' && fields?.length
    return `${operation} ${subject}${isTold ? ` (${fields.join(', ')})` : ''}`
  })
}

/** One structured line; silent about what did not change. */
export function logLine(ledger: Ledger): JsonObject {
  const { operator, controller, key, generation, path, failure, waiting, requeueAfterMs, effort } = ledger
  const done = doneIn(ledger)
  return {
    operator,
    controller,
    key,
    generation,
    // As controller-runtime calls it: whoever searches logs for it finds ours, too.
    ...(effort && { reconcileID: effort.id }),
    outcome: outcomeOf(ledger),
    path: path.join('>'),
    ...(done.length > 0 && { done }),
    ...(waiting !== undefined && { waiting }),
    ...(failure && { step: failure.step, subject: failure.subject, reason: failure.reason, error: failure.message }),
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  }
}

/** A Kubernetes Event, as far as the kit knows it. */
export interface EventDraft {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

const told: Readonly<Partial<Record<Operation, string>>> = {
  created: 'Created',
  updated: 'Updated',
  corrected: 'Corrected',
  adopted: 'Adopted',
  pruned: 'Pruned',
  deleted: 'Deleted',
}

/** What others should hear of: changes and failures, never that all is well. */
export function eventsOf({ entries, failure }: Ledger): readonly EventDraft[] {
  const events = entries.flatMap(({ operation, kind = '', name, fields }): readonly EventDraft[] => {
    const reason = told[operation]
    if (!reason) return []
    const drift =
      operation === 'corrected' && fields?.length ? `: ${fields.join(', ')} had been changed by somebody else` : ''
    return [{ type: 'Normal', reason, message: `${reason} ${kind.split(' ').at(-1)} ${name?.name}${drift}` }]
  })
  if (!failure || failure.retry === 'conflict') return events
  const { reason, message, subject, step } = failure
  return [...events, { type: 'Warning', reason, message: `${step}, ${subject}: ${message}` }]
}

/**
 * The standard conditions that follow from a ledger. They hold no counts and no times of their own: what says the same
 * is the same, and is not written again.
 *
 * - `Reconciled`: is the cluster as the CR asks?
 * - `Ready`: does what was made do its work?
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

/** Servers refuse a status whose messages are too long: then nothing would be told at all. */
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

/** The types that are the kit's own. */
export const standardTypes: ReadonlySet<string> = new Set(['Reconciled', 'Ready', 'Stalled'])

/** What is stated now, as of `conditions`: a status that stays keeps its time. Those of others are not among them. */
export function statedConditions(
  conditions: readonly Condition[] | undefined,
  updates: readonly ConditionUpdate[],
  now: number,
): readonly Condition[] {
  // Where an author states what the kit states, too, his word counts: one after the other would be a transition each time.
  const last = new Map(updates.map((update) => [update.type, update]))
  let all = conditions ?? []
  for (const update of last.values()) all = setCondition(all, update, now)
  return all.filter(({ type }) => last.has(type))
}
