/**
 * Which objects are known to hold what is wanted of them. They never change, and most are looked at again and again: what an
 * author says of one that he said before need not be worked out, and what is wanted as before need not be compared.
 */
import type { UntypedObject } from '../kube/object.ts'

/** What an object was found to hold. */
export interface HeldFields {
  /** What its author said, digested; undefined where a step of his had the last word. */
  readonly words: string | undefined
  /** Of what is wanted. */
  readonly hash: string
}

const holding = new WeakMap<UntypedObject, HeldFields>()

export function heldBy(object: UntypedObject): HeldFields | undefined {
  return holding.get(object)
}

export function noteHeld(object: UntypedObject, { words, hash }: HeldFields): void {
  holding.set(object, { words, hash })
}
