/**
 * The built-in kinds whose versions differ in more than their name. Apart from all other rules of kinds, because who
 * only reads needs these and no others.
 */
import type { UntypedObject } from '../../kube/object.ts'
import { convertEvent } from './event-version.ts'
import { convertAutoscaler } from './horizontal-pod-autoscaler-version.ts'

/** An object at another version of its kind. */
export type KindConversion = (object: UntypedObject, apiVersion: string) => UntypedObject

const conversions: ReadonlyMap<string, KindConversion> = new Map([
  ['events', convertEvent],
  ['horizontalpodautoscalers.autoscaling', convertAutoscaler],
])

/** By the table that objects are stored in; undefined where a version is but a name. */
export function kindConversion(table: string): KindConversion | undefined {
  return conversions.get(table)
}
