/**
 * Edits: writes to objects that are not the controller's own, such as the replicas of a MachineSet that an administrator has made.
 * Nothing is owned, marked, corrected or pruned: a controller says at each reconcile which labels, annotations and fields should
 * have which values, and what is so already is not written. An edit rests on the object that the controller has read: if it has
 * changed since, the edit is refused, and the CR runs again.
 *
 *     edits: {
 *       kinds: [edited(MachineSet, ['patch'])],
 *       plan: ({ cr }) => [{ change: cr, spec: { replicas: 3 } }],
 *     }
 *
 * For objects of the controller's own, use dependents; for fields that are to be kept as they are, a dependent with the policy
 * `share`.
 */
import type { JsonObject } from '../kube/json.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { EditedKind, EditVerb } from './view/input.ts'

/** Fails if there is an object of this name. */
interface CreateEdit {
  readonly create: UntypedObject
}

interface ChangeEdit {
  /** As it was read. */
  readonly change: KubeObject
  /** `null` removes one. */
  readonly labels?: Readonly<Record<string, string | null>>
  /** `null` removes one. */
  readonly annotations?: Readonly<Record<string, string | null>>
  /** Merged over the live one; `null` removes a field. */
  readonly spec?: JsonObject
}

interface RemoveEdit {
  /** As it was read. */
  readonly remove: KubeObject
}

export type Edit = CreateEdit | ChangeEdit | RemoveEdit

export interface Edits<Context> {
  /** The kinds that it edits, and how. */
  readonly kinds: readonly EditedKind[]
  /** Asked at each reconcile of a CR that is not being deleted, after all other writes. */
  plan(context: Context): readonly Edit[] | Promise<readonly Edit[]>
}

/** Objects of a kind that belong to others, and what a controller may do to them. */
export function edited(resource: Resource, verbs: readonly EditVerb[]): EditedKind {
  return { select: 'kind', resource, verbs: [...new Set(verbs)].toSorted() }
}
