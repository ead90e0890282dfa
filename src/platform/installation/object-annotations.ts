/** Annotations on installed objects that say how an Installation deals with them. */
import type { UntypedObject } from '../../kube/object.ts'

/** `create-only`: users own it once it exists; `ignore`: it is never written. */
export const policyAnnotation = 'platform.muster.dev/policy'

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
