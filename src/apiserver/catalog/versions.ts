/**
 * One object, several versions of its kind. It is stored at one of them and shown at the one that a client asks for.
 * Most versions differ in their name alone; kinds where they do not bring a conversion.
 */
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from './catalog.ts'

/** Objects at another version of their kind. A webhook takes its time. */
export type ConvertStored = (
  objects: readonly UntypedObject[],
  apiVersion: string,
) => readonly UntypedObject[] | Promise<readonly UntypedObject[]>

/** Objects as this version shows them; at once unless a webhook must be asked. */
export function atVersion<T extends UntypedObject>(
  objects: readonly T[],
  served: ServedResource,
  apiVersion: string = formatApiVersion(served),
): readonly T[] | Promise<readonly T[]> {
  if (!served.convert) return objects.map((object) => named(object, apiVersion))
  // A custom object is read by today's schema even where its version is the right one.
  if (!served.custom && objects.every((object) => object.apiVersion === apiVersion)) return objects
  return served.convert(objects, apiVersion) as readonly T[] | Promise<readonly T[]>
}

/** One of them. */
export function oneAtVersion<T extends UntypedObject>(
  object: T,
  served: ServedResource,
  apiVersion?: string,
): T | Promise<T> {
  const converted = atVersion([object], served, apiVersion)
  return converted instanceof Promise ? converted.then(([one]) => one!) : converted[0]!
}

function named<T extends UntypedObject>(object: T, apiVersion: string): T {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion }
}
