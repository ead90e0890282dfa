/**
 * Embedded outputs: objects that are data. A stored object *is* their declaration: a revision holds rendered objects, a workload
 * holds its components. The author says, for a CR, which objects its holder embeds and in which order; kinds are resolved at run
 * time, and kinds of CRDs that the same holder embeds count.
 *
 * Each object carries a label whose value names the holder. It is watched by that label, as metadata: that a manager lost the
 * ownership of a field says that another client changed it, so drift shows without the values (`kube/apply/lost-fields.ts`).
 */
import type { Health } from '../../kube/meta/health.ts'
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { Decisions } from '../coordinator/decisions.ts'
import type { Context } from '../dependent/dependent.ts'
import type { Live } from '../live.ts'
import type { ObjectName } from '../view/view.ts'
import type { HeldObjects } from './held-objects.ts'

export interface EmbeddingContext<CR extends KubeObject, Config = unknown> extends Context<CR, Config>, Decisions {
  readonly live: Live
  readonly held: HeldObjects
  /** The CR is being deleted. */
  readonly isFinalizing: boolean
}

export interface Embedding<CR extends KubeObject, Config = unknown> {
  /** The key of the label that every embedded object carries. */
  readonly label: string
  /**
   * The key of the annotation of objects that a holder has let go, with the holder as its value: that holder takes them
   * back without asking. @default they belong to no holder any more
   */
  readonly releasedAnnotation?: string | undefined
  /** Asked at each reconcile. Undefined: nothing is written or deleted now. */
  objects(context: EmbeddingContext<CR, Config>): EmbeddedSet | undefined | Promise<EmbeddedSet | undefined>
}

export interface EmbeddedSet {
  /** The value of the label. */
  readonly holder: string
  /** The namespace of objects that name none, where their kind needs one. */
  readonly namespace?: string | undefined
  /** Written in this order. */
  readonly phases: readonly EmbeddedPhase[]
  /** The service account that writes them. @default the operator's own */
  readonly as?: ObjectName | undefined
  /** Whether a phase waits until the objects of the phases before it are healthy. @default true */
  readonly waits?: boolean | undefined
  /** `report`: objects that another client changed are listed in the report, and left as they are. @default "correct" */
  readonly drift?: 'correct' | 'report' | 'ignore' | undefined
  /**
   * What happens to an object that does not exist. `report`: all of them existed once, so another client has deleted it; that is
   * drift, which `drift` leaves as it is. @default "create"
   */
  readonly missing?: 'create' | 'report' | undefined
  /** Why nothing is written or deleted now; reported as what the CR waits for. */
  readonly waitsFor?: string | undefined
  /** Deletes objects of the holder that are in no phase, once all phases are written. @default nothing is deleted */
  readonly prune?: Pruning | undefined
  /** Written in this order once nothing is left to delete, such as a Job that cleans up. @default none */
  readonly afterwards?: readonly EmbeddedPhase[] | undefined
  /**
   * At the end of the CR, after pruning: objects of these kinds, and of those in `prune`, that the holder still has are let
   * go. They stay as they are, without label and mark. @default they keep both
   */
  readonly release?: Releasing | undefined
}

interface Releasing {
  readonly kinds: readonly GroupVersionKind[]
  /** Objects that are deleted instead, such as Jobs that are done. @default none */
  readonly deletes?: ((object: UntypedObject) => boolean) | undefined
}

export interface Pruning {
  /** The kinds that the holder may have objects of, beside those in the phases. */
  readonly kinds: readonly GroupVersionKind[]
  /** Objects with a higher rank are deleted first; the next rank follows when they are gone. @default all at once */
  readonly rank?: ((object: UntypedObject) => number) | undefined
  /** Objects that stay. @default none */
  readonly keeps?: ((object: UntypedObject) => boolean) | undefined
  /** Whether the phases may be empty: otherwise nothing is deleted then. @default false */
  readonly toNothing?: boolean | undefined
  /**
   * Kinds of objects that other controllers made from embedded ones, with the label, such as Pods: they go by themselves, and
   * pruning waits for them. @default none
   */
  readonly derived?: readonly GroupVersionKind[] | undefined
  /**
   * Objects that are deleted without their grace period, also if they are being deleted already; of derived ones only these are
   * deleted. @default none
   */
  readonly forces?: ((object: UntypedObject) => boolean) | undefined
}

export interface EmbeddedPhase {
  readonly name: string
  readonly objects: readonly EmbeddedObject[]
}

export interface EmbeddedObject {
  readonly object: UntypedObject
  /**
   * - `apply`: kept as it is embedded.
   * - `create`: created once by this holder, never changed. An object that is there without its mark, even since a moment ago
   *   or with its label, is a conflict that names the owner; it is never taken over, and `adopts` is not asked.
   * - `create-only`: created once, never changed; an object of another owner is left alone instead.
   * - `update-only`: kept as it is embedded, if it exists; never created.
   * - `recreate`: deleted and created again instead of being changed, such as a Job.
   * - `ignore`: never written; it still counts as embedded, and is not pruned.
   *
   * @default "apply"
   */
  readonly policy?: 'apply' | 'create' | 'create-only' | 'update-only' | 'recreate' | 'ignore' | undefined
  /**
   * Fields that are left to another manager that has taken them, as JSON pointers in which `*` is any member or item:
   * `/spec/replicas`, `/spec/template/spec/containers/web/resources`. @default none
   */
  readonly yields?: readonly string[] | undefined
  /** Whether an object without our label is taken over; not with the policy `create`. @default never */
  readonly adopts?: ((live: UntypedObject) => boolean) | undefined
  /** @default by the rules of its kind */
  readonly health?: ((object: UntypedObject, now: number) => Health) | undefined
}

/** What happened to the embedded objects in this reconcile. */
export interface EmbeddedReport {
  readonly phases: readonly EmbeddedPhaseReport[]
  /** Objects that are to be deleted and still exist. */
  readonly leaving: readonly EmbeddedReference[]
  /** Every phase is written, every object is healthy, and nothing is left to delete. */
  readonly isComplete: boolean
}

export interface EmbeddedPhaseReport {
  readonly name: string
  readonly objects: readonly EmbeddedState[]
}

export interface EmbeddedReference extends GroupVersionKind {
  readonly name: string
  readonly namespace?: string | undefined
}

export interface EmbeddedState extends EmbeddedReference {
  readonly health: Health
  /** Not written yet: an earlier phase is not ready. */
  readonly isPending: boolean
  /** Fields that another client has changed and that are left as they are. */
  readonly drifted: readonly string[]
  /** Why it could not be written. */
  readonly problem: unknown
}
