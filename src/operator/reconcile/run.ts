/**
 * One reconcile of one CR: the state that its steps share. A step is a function of it and may use what earlier steps
 * left here; only the conclusion outlives the run.
 *
 * The kit treats a CR as an untyped object and the configuration as unknown: the authors' types end here.
 */
import type { MusterError } from '../../kube/errors.ts'
import type { Hide } from '../../kube/hidden-text.ts'
import type { KubeObject } from '../../kube/object.ts'
import { runAuthorCode } from '../author-code.ts'
import type { LiveContext, StatusReport } from '../controller.ts'
import type { Owner } from '../desired.ts'
import type { DependentEntry, SettledEntry } from '../entry.ts'
import type { Observed } from '../lifecycle/observation.ts'
import type { LifecycleStep } from '../lifecycle/step.ts'
import type { MutationOutcome, Wave } from '../plan.ts'
import type { Dependent } from '../dependent.ts'
import { watchSecrets } from '../secrecy.ts'
import { StepJournal } from './journal.ts'
import type { Refused, ReconcileSituation } from './situation.ts'

/** Yields mutations and receives their outcomes, in the same order. */
export type Waves<Result = void> = AsyncGenerator<Wave, Result, readonly MutationOutcome[]>

/** A step in progress: the mutations that it yields, a promise, or nothing. Most steps of most runs yield nothing. */
export type Taken = Waves | Promise<void> | void

export class ReconcileRun {
  /** The input of the run; its view records which Secrets were read. */
  readonly situation: ReconcileSituation<KubeObject>
  readonly owner: Owner
  /** The context of author code. */
  readonly context: LiveContext<KubeObject>
  readonly journal: StepJournal

  /** The CR after the writes of this run; author code sees the CR that was read. */
  cr: KubeObject
  isFinalizing = false
  /** The CR is deleted, or nothing is left to do. */
  isGone = false

  /** The dependents that ObjectsGetter looks up. */
  readonly registered: Dependent<KubeObject>[]
  /** Each desired object; from ObjectsGetter on. */
  readonly entries: DependentEntry<KubeObject>[] = []
  /** Creations planned in this run. */
  creations = 0

  /** The observed state of the application, and the decision. */
  observed: Observed | undefined
  /** Redacts values of the Secrets that this run has read. */
  readonly hide: Hide
  /** The error if the sidecar rejected our token. */
  observeError: MusterError | undefined
  life: LifecycleStep | undefined
  /** The author's report; absent when the run failed before it. */
  report: StatusReport<KubeObject> | undefined

  /** Kept for the next run. */
  readonly settled: Map<string, SettledEntry>
  readonly refused: Map<string, Refused> = new Map()

  constructor(situation: ReconcileSituation<KubeObject>) {
    const { operator, controller, cr, clock, config, live, memory } = situation
    const secrets = watchSecrets(situation.view)
    const { view } = secrets
    this.situation = { ...situation, view }
    this.owner = { operator, controller: controller.name }
    this.context = { cr, view, now: clock.now(), config, live }
    this.journal = new StepJournal(this.owner, secrets)
    this.hide = secrets.hide
    this.cr = cr
    this.registered = [...controller.resources]
    this.settled = new Map(memory.settled)
  }

  /** Runs author code, with a time-out. */
  author<T>(code: () => T | Promise<T>): Promise<T> {
    const { clock, controller, marks } = this.situation
    return runAuthorCode({ place: this.journal.here, clock, timeoutMs: controller.timeoutMs, marks }, code)
  }
}
