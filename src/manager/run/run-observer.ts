/**
 * Observes reconciles from outside: which operator's code holds the thread, how much processor time it takes, to which
 * trace its requests belong. An observer changes nothing about the reconcile.
 */
import type { ThreadMarks } from '../../operator/author-code.ts'
import type { Effort } from '../../operator/ledger.ts'
import type { MutationOutcome, Wave } from '../../operator/plan.ts'

export interface RunObserver {
  /** A reconcile begins. `key`: of its CR, `namespace/name`. */
  begin(controller: string, key: string): ObservedRun
  /** Code of a coordinator runs, and holds the thread. */
  holding<T>(this: void, coordinator: string, step: string, work: () => T): T
}

export interface ObservedRun {
  /** Where the kit marks its steps. */
  readonly marks: ThreadMarks | undefined
  /** Runs the reconcile. */
  within<T>(work: () => Promise<T>): Promise<T>
  /** Executes a wave. `hide` redacts values of Secrets. */
  sending(wave: Wave, hide: (text: string) => string, send: () => Promise<Outcomes>): Promise<Outcomes>
  /** Awaits something outside of this process: a command, an HTTP call, a program. */
  aside<T>(work: () => Promise<T>): Promise<T>
  /** The reconcile has ended, after so many reads. Further calls have no effect. Undefined: it was not measured. */
  end(reads: number): Effort | undefined
}

export type Outcomes = readonly MutationOutcome[]

const unobserved: ObservedRun = {
  marks: undefined,
  within: (work) => work(),
  sending: (_wave, _hide, send) => send(),
  aside: (work) => work(),
  end: () => undefined,
}

export const noObserver: RunObserver = { begin: () => unobserved, holding: (_coordinator, _step, work) => work() }
