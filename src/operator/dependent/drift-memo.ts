/**
 * A memo of live objects without drift. Cached objects are immutable and most of them are compared again and again: if
 * the author's parts are the same as before, the desired object is not computed, and if its hash is the same, it is not
 * compared.
 */
import type { UntypedObject } from '../../kube/object.ts'

/** The desired object that a live object matched. */
export interface DesiredDigest {
  /** A digest of the author's parts; undefined where an overridden step replaced the desired object. */
  readonly sourceDigest: string | undefined
  /** The hash of the desired object. */
  readonly hash: string
}

const matched = new WeakMap<UntypedObject, DesiredDigest>()

export function lastMatched(object: UntypedObject): DesiredDigest | undefined {
  return matched.get(object)
}

export function noteMatched(object: UntypedObject, { sourceDigest, hash }: DesiredDigest): void {
  matched.set(object, { sourceDigest, hash })
}
