/**
 * One reconcile of one CR: the state that its steps share. A step is a function of it and may use what earlier steps
 * left here; only the conclusion outlives the run.
 *
 * The kit treats a CR as an untyped object and the configuration as unknown: the authors' types end here.
 */
import type { MusterError } from '../../kube/muster-error.ts'
import type { Hide } from '../../kube/text/hidden-text.ts'
import type { KubeObject, Named } from '../../kube/object.ts'
import { runAuthorCode } from '../author-code.ts'
import type { LiveContext, StatusReport } from '../controller.ts'
import type { Owner } from '../dependent/desired.ts'
import type { DependentEntry, SettledEntry } from '../dependent/entry.ts'
import type { EmbeddedReport } from '../embedded/embedded-set.ts'
import type { Observed } from '../lifecycle/observation.ts'
import type { LifecycleStep } from '../lifecycle/step.ts'
import type { MutationOutcome, Wave } from '../plan.ts'
import type { Dependent } from '../dependent/dependent.ts'
import { decisionFor } from './author-decision.ts'
import { resultFor } from './author-result.ts'
import { authorView } from './author-view.ts'
import { StepJournal } from './journal.ts'
import type { Refused, ReconcileSituation } from './situation.ts'

/** Yields mutations and receives their outcomes, in the same order. */
export type Waves<Result = void> = AsyncGenerator<Wave, Result, readonly MutationOutcome[]>

/** What a step returns: the mutations that it yields, a promise, or nothing. Most steps of most runs yield nothing. */
export type StepResult = Waves | Promise<void> | void

export class ReconcileRun {
  readonly situation: ReconcileSituation<KubeObject>
  readonly owner: Owner
  /** The context of author code. */
  readonly context: LiveContext<KubeObject>
  readonly journal: StepJournal

  /** The CR after the writes of this run; author code sees the CR that was read. */
  cr: Named
  isFinalizing = false
  /** The CR is deleted, or nothing is left to do. */
  isGone = false

  /** The dependents that ObjectsGetter looks up. */
  readonly registered: Dependent<KubeObject>[]
  /** Each desired object; from ObjectsGetter on. */
  readonly entries: DependentEntry<KubeObject>[] = []
  /** The uids of the objects that `reconcile` could know of: no others are pruned. Undefined without `reconcile`. */
  known: ReadonlySet<string> | undefined
  /** Creations planned in this run. */
  creations = 0

  /** The observed state of the application, and the decision. */
  observed: Observed | undefined
  /** Redacts values of the Secrets that this run has read. */
  readonly hide: Hide
  /** The error if the sidecar rejected our token. */
  observeError: MusterError | undefined
  life: LifecycleStep | undefined
  /** The embedded objects after this run. */
  embedded: EmbeddedReport | undefined
  /** The first problem with an embedded object: it fails the run after the author's status. */
  embeddedFailure: { readonly subject: string; readonly error: unknown } | undefined
  /** Tasks that author code waits for at the moment. */
  awaitedTasks = 0
  /** The author's report; absent when the run failed before it. */
  report: StatusReport<KubeObject> | undefined

  /** Kept for the next run. */
  readonly settled: Map<string, SettledEntry>
  readonly refused: Map<string, Refused> = new Map()

  constructor(situation: ReconcileSituation<KubeObject>) {
    const { operator, controller, view, clock, config, live, held, memory } = situation
    // A stored object has a name.
    const cr = situation.cr as Named
    const { secrets } = view
    this.situation = situation
    this.owner = { operator, controller: controller.name }
    this.context = {
      cr,
      view: authorView(view, this),
      now: clock.now(),
      config,
      live,
      held,
      result: resultFor(this),
      decision: decisionFor(this),
    }
    this.journal = new StepJournal(this.owner, secrets)
    this.hide = secrets.hide
    this.cr = cr
    this.registered = [...controller.dependents]
    this.settled = new Map(memory.settled)
  }

  /** Runs author code, with a time-out. @throws Suspended even if author code catches it */
  async author<T>(code: () => T | Promise<T>): Promise<T> {
    const { clock, controller, marks } = this.situation
    const { timeoutMs } = controller
    const isAside = (): boolean => this.awaitedTasks > 0
    const result = await runAuthorCode({ place: this.journal.here, clock, timeoutMs, marks, isAside }, code)
    if (this.journal.suspension) throw this.journal.suspension
    return result
  }
}
