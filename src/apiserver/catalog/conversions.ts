/**
 * The built-in kinds whose versions differ in more than their name. Separate from `kinds/`, because reads need only
 * these.
 */
import type { UntypedObject } from '../../kube/object.ts'
import { convertEvent } from './event-version.ts'
import { convertAutoscaler } from './horizontal-pod-autoscaler-version.ts'

/** Converts an object to another version of its kind. */
type KindConversion = (object: UntypedObject, apiVersion: string) => UntypedObject

const conversions: ReadonlyMap<string, KindConversion> = new Map([
  ['events', convertEvent],
  ['horizontalpodautoscalers.autoscaling', convertAutoscaler],
])

/** By storage table; undefined if versions differ in their name only. */
export function kindConversion(table: string): KindConversion | undefined {
  return conversions.get(table)
}
