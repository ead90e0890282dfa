/**
 * Conversion between versions: an object is stored at one version and shown at the requested one. Most versions differ
 * in their name only; for the other kinds the resource has a conversion.
 */
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from './catalog.ts'

/** Converts stored objects to another version; asynchronous for webhook conversion. */
export type ConvertStored = (
  objects: readonly UntypedObject[],
  apiVersion: string,
) => readonly UntypedObject[] | Promise<readonly UntypedObject[]>

/** Objects at the version of `served`; synchronous unless a conversion webhook is called. */
export function atVersion<T extends UntypedObject>(
  objects: readonly T[],
  served: ServedResource,
  apiVersion: string = formatApiVersion(served),
): readonly T[] | Promise<readonly T[]> {
  if (!served.convert) return objects.map((object) => named(object, apiVersion))
  // Custom objects are read with the current schema even if their version is the requested one.
  if (!served.custom && objects.every((object) => object.apiVersion === apiVersion)) return objects
  return served.convert(objects, apiVersion) as readonly T[] | Promise<readonly T[]>
}

/** The same for one object. */
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
