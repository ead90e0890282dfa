/**
 * A plan: what a controller wants done. It is data: it can be shown as a difference, checked against what the operator
 * declared, carried out on a cluster or written to a directory. It comes in waves: what is in one wave may be done in any
 * order or at once, and the next is made knowing what became of it.
 */
import type { Resource } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { ObjectName } from './view.ts'

export type Wave = readonly Mutation[]

export type Mutation = Apply | Delete | SetFinalizers | WriteStatus

interface Target {
  /** The author's name of what this is about: `deployment`, `config[blue]`; `cr` for the object itself. */
  readonly subject: string
  readonly resource: Resource
}

/** Server-side apply: what `object` holds becomes the operator's. */
export interface Apply extends Target {
  readonly verb: 'apply'
  readonly object: UntypedObject
  /** `missing`: it does not exist. `changed`: something else is wanted now. `drifted`: somebody changed it. */
  readonly why: 'missing' | 'changed' | 'drifted'
  /** Where it is not as wanted, as paths. */
  readonly fields?: readonly string[]
  /** Take over fields of others. Never for what is to be created: what is in the way then is not ours. */
  readonly force: boolean
}

export interface Delete extends Target {
  readonly verb: 'delete'
  readonly name: ObjectName
  /** Only this very object: a later one of the same name is somebody else's. */
  readonly uid: string
  /** `pruned`: no longer wanted. `finalized`: its owner goes, and the garbage collector would not see it. */
  readonly why: 'pruned' | 'finalized'
}

export interface SetFinalizers extends Target {
  readonly verb: 'finalizers'
  readonly name: ObjectName
  readonly uid: string
  /** What the list was made from: others change it, too. */
  readonly resourceVersion: string
  readonly finalizers: readonly string[]
  readonly why: 'added' | 'removed'
}

export interface WriteStatus extends Target {
  readonly verb: 'status'
  readonly object: UntypedObject
}

/** What became of a mutation. */
export type MutationOutcome =
  | {
      readonly result: 'done'
      /** As the server answered; absent where nothing was sent, and for what is gone. */
      readonly object?: UntypedObject
    }
  | { readonly result: 'failed'; readonly error: unknown }

export function mutationName(mutation: Mutation): ObjectName {
  if (mutation.verb === 'delete' || mutation.verb === 'finalizers') return mutation.name
  const { name = '', namespace } = mutation.object.metadata
  return { name, namespace }
}
