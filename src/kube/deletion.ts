/** How far the deletion of an object has come, by what the object itself says. */
import type { KubeObject, Status } from './object.ts'

/**
 * Marked for deletion, its grace is over, and nothing holds it: neither a finalizer nor, for a namespace, its contents.
 * A server that is given such an object, or answers a change with one, has deleted it.
 */
export function isReleased(object: KubeObject): boolean {
  const { metadata, kind, apiVersion } = object
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false
  if ((metadata.deletionGracePeriodSeconds ?? 0) > 0) return false
  if (kind !== 'Namespace' || apiVersion !== 'v1') return true
  const { spec } = object as { readonly spec?: { readonly finalizers?: readonly string[] } }
  return (spec?.finalizers ?? []).length === 0
}

/** A delete answers with the object, marked, when something keeps it for now; otherwise as it was, or with a Status. */
export function isStillThere<T extends KubeObject>(answer: T | Status): answer is T {
  if (answer.kind === 'Status') return false
  const object = answer as T
  return object.metadata.deletionTimestamp !== undefined && !isReleased(object)
}
