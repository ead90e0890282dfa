/**
 * Empty maps and lists in the metadata of a custom object. An apply stores them, but reads decode metadata as a Go
 * struct, which omits empty fields, so they are never visible. Their only effect: such an apply counts as a change
 * every time, and so does the next write, even if it changes nothing else.
 */
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import type { StoredObject } from '../storage/storage.ts'

/** Stored objects with such members. Not persistent: a restart saves one write. */
const storedWithEmptyMetadata = new WeakSet<StoredObject>()

/** The object as clients see it. */
export function withoutEmptyMetadata(object: UntypedObject): UntypedObject {
  if (!hasEmptyMetadata(object)) return object
  const members = Object.entries(object.metadata).filter(([, value]) => !isEmpty(value))
  return { ...object, metadata: Object.fromEntries(members) }
}

/** An object that is converted before it is stored is decoded in between, which drops the empty members. */
export function asStored(served: ServedResource, object: UntypedObject): UntypedObject {
  return formatApiVersion(served) === served.storedAs ? object : withoutEmptyMetadata(object)
}

/** Stores `object` without its empty members, and remembers that it had some. */
export function putWithEmptyMetadata(
  object: UntypedObject,
  put: (object: UntypedObject) => StoredObject,
): StoredObject {
  if (!hasEmptyMetadata(object)) return put(object)
  const stored = put(withoutEmptyMetadata(object))
  storedWithEmptyMetadata.add(stored)
  return stored
}

/** Whether storing `object` in place of `stored` counts as a change because of empty members. */
export function isEmptyMetadataChange(stored: StoredObject, object: UntypedObject): boolean {
  return storedWithEmptyMetadata.has(stored) || hasEmptyMetadata(object)
}

function hasEmptyMetadata({ metadata }: UntypedObject): boolean {
  return Object.values(metadata).some(isEmpty)
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
