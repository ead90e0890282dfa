/** The progress of the deletion of an object, judged by the object itself. */
import type { KubeObject, Status } from '../object.ts'

/**
 * Marked for deletion, grace period over, and no finalizer left (nor, for a namespace, contents). A server that is sent such an
 * object, or responds to a change with one, has deleted it.
 */
export function isReleased(object: KubeObject): boolean {
  const { metadata, kind, apiVersion } = object
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false
  if ((metadata.deletionGracePeriodSeconds ?? 0) > 0) return false
  if (kind !== 'Namespace' || apiVersion !== 'v1') return true
  const { spec } = object as { readonly spec?: { readonly finalizers?: readonly string[] } }
  return (spec?.finalizers ?? []).length === 0
}

/** A delete responds with the marked object if finalizers keep it; otherwise with its last state, or with a Status. */
export function isStillThere<T extends KubeObject>(answer: T | Status): answer is T {
  if (answer.kind === 'Status') return false
  const object = answer as T
  return object.metadata.deletionTimestamp !== undefined && !isReleased(object)
}
