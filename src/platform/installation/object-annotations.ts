/** Annotations on installed objects that say how an Installation deals with them. */
import type { UntypedObject } from '../../kube/object.ts'

/**
 * - `create-only`: its content belongs to users once it exists; it is created again if it is missing.
 * - `create-once`: all of it belongs to users, who may delete it; it goes with its Installation if that still declares it.
 * - `ignore`: it is never written.
 */
export const policyAnnotation = 'platform.muster.dev/policy'

export const createOnce = 'create-once'

export function isCreatedOnce({ metadata }: UntypedObject): boolean {
  return metadata.annotations?.[policyAnnotation] === createOnce
}

/** On the live object: `false` leaves it alone, for ever; `true` takes back fields that were left to another manager. */
export const managedAnnotation = 'platform.muster.dev/managed'

/** On the live object, with a reason: people may edit and delete it, and it is left alone until the annotation is removed. */
export const breakGlassAnnotation = 'platform.muster.dev/break-glass'

/** Whether the live object is left alone. */
export function isLeftToPeople({ metadata }: UntypedObject): boolean {
  return metadata.annotations?.[managedAnnotation] === 'false' || breakGlassReason(metadata) !== undefined
}

export function breakGlassReason({ annotations = {} }: UntypedObject['metadata']): string | undefined {
  const { [breakGlassAnnotation]: reason = '' } = annotations
  return reason === '' ? undefined : reason
}
