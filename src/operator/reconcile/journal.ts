/**
 * The ledger while it is written: which steps were taken, what was done and what went wrong, what is waited for, and when
 * to run again. Whatever is told of a run passes here, so this is also where nothing that a Secret holds gets through.
 */
import { MusterError } from '../../kube/errors.ts'
import type { Resource } from '../../kube/kind.ts'
import { explainAuthorError } from '../author-code.ts'
import type { Owner } from '../desired.ts'
import { kindText } from '../entry.ts'
import { type ReconcileFailure, failureOf } from '../failure.ts'
import type { Ledger, LedgerEntry, Operation } from '../ledger.ts'
import type { WatchedSecrets } from '../secrecy.ts'
import type { ObjectName } from '../view.ts'

/** What there is to say of an operation. */
export interface Details {
  /** The object that it was about, where it was about one. */
  readonly object?: { readonly kind: Resource; readonly name: ObjectName }
  readonly fields?: readonly string[] | undefined
  readonly message?: string
}

export class StepJournal {
  /** Whose it is, in messages: `memcached, controller memcached`. */
  readonly place: string
  /** A reason to wait that is no failure. */
  waiting: string | undefined
  readonly #secrets: Pick<WatchedSecrets, 'hide'>
  readonly #path: string[] = []
  readonly #stepsAt: number[] = []
  readonly #entries: LedgerEntry[] = []
  #failure: ReconcileFailure | undefined
  #stepFailure: ReconcileFailure | undefined
  #passing: ReconcileFailure | undefined
  #requeueAfterMs: number | undefined

  constructor({ operator, controller }: Owner, secrets: Pick<WatchedSecrets, 'hide'>) {
    this.place = `${operator}, controller ${controller}`
    this.#secrets = secrets
  }

  /** From here on everything is about this step. */
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

  /** The first failure is the one that is told, unless it was a mere conflict; each is in the ledger. */
  fail(error: unknown, subject: string): ReconcileFailure {
    const told = failureOf(explainAuthorError(error, this.here), this.#step, subject)
    const failure = { ...told, message: this.#secrets.hide(told.message) }
    const { message, retry, gaveUp } = failure
    this.#entries.push({ step: this.#step, subject, operation: gaveUp ? 'gaveUp' : 'failed', message })
    this.#stepFailure ??= failure
    if (retry !== 'terminal') this.#passing ??= failure
    if (!this.#failure || (this.#failure.retry === 'conflict' && retry !== 'conflict')) this.#failure = failure
    return failure
  }

  /** After this time at the latest. */
  requeue(ms: number): void {
    if (Number.isNaN(ms)) {
      throw new MusterError('InvalidController', `${this.here}: asks to be run again after NaN ms.`)
    }
    this.#requeueAfterMs = Math.min(ms, this.#requeueAfterMs ?? Infinity)
  }

  /** Where it is now, in messages. */
  get here(): string {
    return `${this.place}, step ${this.#step}`
  }

  get path(): readonly string[] {
    return this.#path
  }

  /** The one that is told. */
  get failure(): ReconcileFailure | undefined {
    return this.#failure
  }

  /** Of this step alone, not one that an earlier step is remembered for. */
  get stepFailure(): ReconcileFailure | undefined {
    return this.#stepFailure
  }

  /** The one that says when to try again: the first that may go away by itself, even if what is told may not. */
  get retriedFailure(): ReconcileFailure | undefined {
    return this.#failure?.retry === 'terminal' ? (this.#passing ?? this.#failure) : this.#failure
  }

  /** The journal's part of the ledger, so far. */
  told(): Pick<Ledger, 'path' | 'entries' | 'stepsAt' | 'failure' | 'waiting' | 'requeueAfterMs'> {
    return {
      path: [...this.#path],
      entries: [...this.#entries],
      stepsAt: [...this.#stepsAt],
      ...(this.#failure && { failure: this.#failure }),
      ...(this.waiting !== undefined && { waiting: this.#secrets.hide(this.waiting) }),
      ...(this.#requeueAfterMs !== undefined && { requeueAfterMs: this.#requeueAfterMs }),
    }
  }

  get #step(): string {
    return this.#path.at(-1) ?? ''
  }
}
