/**
 * The ledger while it is being written: steps taken, operations, failures, what is waited for, when to requeue.
 * Everything that is reported of a run passes here, so Secret values are redacted here.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import { explainAuthorError } from '../author-code.ts'
import type { Owner } from '../dependent/desired.ts'
import { kindText } from '../dependent/entry.ts'
import { type ReconcileFailure, failureOf } from '../failure.ts'
import type { EventDraft, Ledger, LedgerEntry, Operation } from '../ledger.ts'
import type { Suspended } from '../suspended.ts'
import type { SecretReads } from '../view/secret-redaction.ts'
import type { ObjectName } from '../view/view.ts'

/** Details of an operation. */
export interface Details {
  /** The object, if the operation is about one. */
  readonly object?: { readonly kind: Resource; readonly name: ObjectName }
  readonly fields?: readonly string[] | undefined
  readonly message?: string
}

export class StepJournal {
  /** The controller, for messages: `memcached, controller memcached`. */
  readonly place: string
  /** What the run waits for, without a failure. */
  waiting: string | undefined
  /** Why the run ends early, to be run again. */
  suspension: Suspended | undefined
  readonly #secrets: Pick<SecretReads, 'hide'>
  readonly #path: string[] = []
  readonly #stepsAt: number[] = []
  readonly #entries: LedgerEntry[] = []
  readonly #events: EventDraft[] = []
  readonly #gauges = new Map<string, number>()
  #failure: ReconcileFailure | undefined
  #stepFailure: ReconcileFailure | undefined
  #transientFailure: ReconcileFailure | undefined
  #requeueAfterMs: number | undefined

  constructor({ operator, controller }: Owner, secrets: Pick<SecretReads, 'hide'>) {
    this.place = `${operator}, controller ${controller}`
    this.#secrets = secrets
  }

  /** Starts a step: everything that follows belongs to it. */
  enter(step: string, now: number): void {
    this.#path.push(step)
    this.#stepsAt.push(now)
    this.#stepFailure = undefined
  }

  note(subject: string, operation: Operation, { object, fields, message }: Details = {}): void {
    this.#entries.push({
      step: this.#step,
      subject,
      operation,
      ...(object && { kind: kindText(object.kind), name: object.name }),
      ...(fields && { fields }),
      ...(message !== undefined && { message: this.#secrets.hide(message) }),
    })
  }

  /** The first failure is reported, unless it is a mere conflict; the ledger holds all of them. */
  fail(error: unknown, subject: string): ReconcileFailure {
    const plain = failureOf(explainAuthorError(error, this.here), this.#step, subject)
    const { stack } = plain
    const failure: ReconcileFailure = {
      ...plain,
      message: this.#secrets.hide(plain.message),
      ...(stack !== undefined && { stack: this.#secrets.hide(stack) }),
    }
    const { message, retry, gaveUp } = failure
    this.#entries.push({ step: this.#step, subject, operation: gaveUp ? 'gaveUp' : 'failed', message })
    this.#stepFailure ??= failure
    if (retry !== 'terminal') this.#transientFailure ??= failure
    if (!this.#failure || (this.#failure.retry === 'conflict' && retry !== 'conflict')) this.#failure = failure
    return failure
  }

  /** Ends the run: it waits for a task or a coordinator. */
  suspend(suspension: Suspended): void {
    if (this.suspension) return
    this.suspension = suspension
    this.waiting = suspension.message
    this.note('cr', 'waiting', { message: suspension.message })
  }

  /** An Event of the author. */
  event({ type, reason, message }: EventDraft): void {
    this.#events.push({ type, reason, message: this.#secrets.hide(message) })
  }

  gauge(name: string, value: number): void {
    if (!Number.isFinite(value)) {
      throw new MusterError(operatorErrors.InvalidController, `${this.here}: the gauge ${name} is ${value}.`)
    }
    this.#gauges.set(name, value)
  }

  /** Requeues after this time at the latest. */
  requeue(ms: number): void {
    if (Number.isNaN(ms)) {
      throw new MusterError(operatorErrors.InvalidController, `${this.here}: requeueAfter is NaN.`)
    }
    this.#requeueAfterMs = Math.min(ms, this.#requeueAfterMs ?? Infinity)
  }

  /** The current step, for messages. */
  get here(): string {
    return `${this.place}, step ${this.#step}`
  }

  get path(): readonly string[] {
    return this.#path
  }

  /** The failure to report. */
  get failure(): ReconcileFailure | undefined {
    return this.#failure
  }

  /** The failure of the current step, without those of earlier steps. */
  get stepFailure(): ReconcileFailure | undefined {
    return this.#stepFailure
  }

  /** The failure that determines the retry: the first transient one, even if the reported failure is terminal. */
  get retriedFailure(): ReconcileFailure | undefined {
    return this.#failure?.retry === 'terminal' ? (this.#transientFailure ?? this.#failure) : this.#failure
  }

  /** The journal's part of the ledger. */
  ledgerPart(): Pick<
    Ledger,
    'path' | 'entries' | 'stepsAt' | 'failure' | 'waiting' | 'isSuspended' | 'requeueAfterMs' | 'events' | 'gauges'
  > {
    return {
      path: [...this.#path],
      entries: [...this.#entries],
      stepsAt: [...this.#stepsAt],
      ...(this.#failure && { failure: this.#failure }),
      ...(this.waiting !== undefined && { waiting: this.#secrets.hide(this.waiting) }),
      ...(this.suspension && { isSuspended: true }),
      ...(this.#events.length > 0 && { events: [...this.#events] }),
      ...(this.#gauges.size > 0 && { gauges: new Map(this.#gauges) }),
      ...(this.#requeueAfterMs !== undefined && { requeueAfterMs: this.#requeueAfterMs }),
    }
  }

  get #step(): string {
    return this.#path.at(-1) ?? ''
  }
}
