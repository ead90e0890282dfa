/**
 * A plan: the mutations that a controller wants. It is data: it can be shown as a diff, checked against the declared
 * outputs, carried out on a cluster or written to a directory. It comes in waves: the mutations of one wave may be
 * carried out in any order or concurrently, and the next wave is planned with their outcomes.
 */
import type { JsonObject } from '../kube/json.ts'
import type { Resource } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { ObjectName } from './view/view.ts'

export type Wave = readonly Mutation[]

export type Mutation = Apply | Delete | SetFinalizers | SetMarks | WriteStatus

interface Target {
  /** The label of the holder, for an embedded object: its kind is declared by no controller. */
  readonly embedded?: string | undefined
  /** The service account that writes it. @default the operator's own */
  readonly as?: ObjectName | undefined
  /** The id of the dependent: `deployment`, `config[blue]`; `cr` for the CR itself. */
  readonly subject: string
  readonly resource: Resource
}

/** Server-side apply: the operator becomes the manager of the fields in `object`. */
export interface Apply extends Target {
  readonly verb: 'apply'
  readonly object: UntypedObject
  /**
   * `missing`: it does not exist, which is a precondition: see the outcome `exists`. `changed`: the desired object
   * changed. `drifted`: another client changed the live object.
   */
  readonly why: 'missing' | 'changed' | 'drifted'
  /** The fields that differ, as paths. */
  readonly fields?: readonly string[]
  /** Take over fields of other managers. Never on creation: an object that exists then belongs to another owner. */
  readonly force: boolean
}

export interface Delete extends Target {
  readonly verb: 'delete'
  readonly name: ObjectName
  /** A precondition: a later object of the same name has another owner. */
  readonly uid: string
  /**
   * `pruned`: no longer desired. `replaced`: created again afterwards. `finalized`: its owner is being deleted, and the garbage collector does not cover it.
   */
  readonly why: 'pruned' | 'replaced' | 'finalized'
  /** 0: at once, without waiting for containers to end. @default as the object says */
  readonly gracePeriodSeconds?: number | undefined
}

export interface SetFinalizers extends Target {
  readonly verb: 'finalizers'
  readonly name: ObjectName
  readonly uid: string
  /** A precondition: other clients change the list, too. */
  readonly resourceVersion: string
  readonly finalizers: readonly string[]
  readonly why: 'added' | 'removed'
}

/**
 * Labels and annotations of an object that is let go, or taken back, or that belongs to others; of the latter fields of its `spec`,
 * too. Nothing else of it changes.
 */
export interface SetMarks extends Target {
  readonly verb: 'marks'
  readonly name: ObjectName
  readonly uid: string
  /** A precondition: it may have another holder by now. */
  readonly resourceVersion: string
  /** `null` removes one. */
  readonly labels: Readonly<Record<string, string | null>>
  readonly annotations: Readonly<Record<string, string | null>>
  /** Merged over the live one. */
  readonly spec?: JsonObject
  readonly why: 'released' | 'retaken' | 'edited'
}

export interface WriteStatus extends Target {
  readonly verb: 'status'
  readonly object: UntypedObject
}

/** The outcome of a mutation. */
export type MutationOutcome =
  | {
      readonly result: 'done'
      /** The object in the answer; absent if nothing was sent or the object is deleted. */
      readonly object?: UntypedObject
    }
  | {
      /** An apply of a missing object was refused, since there is one that the view does not show: this one. */
      readonly result: 'exists'
      readonly object: UntypedObject
    }
  | { readonly result: 'failed'; readonly error: unknown }

export function mutationName(mutation: Mutation): ObjectName {
  if ('name' in mutation) return mutation.name
  const { name = '', namespace } = mutation.object.metadata
  return { name, namespace }
}
