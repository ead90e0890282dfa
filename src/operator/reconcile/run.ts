/**
 * One run through the steps for one CR: what they all read and add to. Each step is a function of it, and what one leaves
 * here the next may find; of all that only the conclusion outlives the run.
 *
 * To the kit a CR is an object like any other, and its settings are anything: what they are, their author's code knows.
 * So the types that authors see end here.
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

/** Yields what shall be written; is told what came of it, in the same order. */
export type Waves<Result = void> = AsyncGenerator<Wave, Result, readonly MutationOutcome[]>

/** A step that is taken: what it wants written, or that it is done, now or later. Most steps of most runs want nothing. */
export type Taken = Waves | Promise<void> | void

export class ReconcileRun {
  /** As it was at the start; its view remembers which Secrets were read. */
  readonly situation: ReconcileSituation<KubeObject>
  readonly owner: Owner
  /** What author code is given. */
  readonly context: LiveContext<KubeObject>
  readonly journal: StepJournal

  /** As it is after what was written to it; authors see the one that was read. */
  cr: KubeObject
  isFinalizing = false
  /** Nothing more is to be done about it, or can be. */
  isGone = false

  /** What shall be looked at in ObjectsGetter. */
  readonly registered: Dependent<KubeObject>[]
  /** Each object that is wanted; from ObjectsGetter on. */
  readonly entries: DependentEntry<KubeObject>[] = []
  /** How many were to be created. */
  creations = 0

  /** What was seen of the application, and what follows from it. */
  observed: Observed | undefined
  /** Masks what the Secrets hold that this run has read. */
  readonly hide: Hide
  /** Why it did not let us in. */
  unheard: MusterError | undefined
  life: LifecycleStep | undefined
  /** What the author has to say; absent when the run did not come so far. */
  report: StatusReport<KubeObject> | undefined

  /** For the next run. */
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

  /** Runs what the author wrote, within its time. */
  author<T>(code: () => T | Promise<T>): Promise<T> {
    const { clock, controller, marks } = this.situation
    return runAuthorCode({ place: this.journal.here, clock, timeoutMs: controller.timeoutMs, marks }, code)
  }
}
