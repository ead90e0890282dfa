/**
 * Empty maps and lists in the metadata of a custom object. An apply stores them, though nobody ever gets to see them:
 * whoever reads the object reads its metadata as a struct, which leaves out what is empty. So it shows only in this: such
 * an apply changes the object every time, and so does the next write, even if it changes nothing else.
 */
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import type { StoredObject } from '../storage/storage.ts'

/** Those in the store. Forgotten by a restart, which spares a write. */
const hollow = new WeakSet<StoredObject>()

/** The object as everybody sees it. */
export function withoutHollows(object: UntypedObject): UntypedObject {
  if (!hasHollows(object)) return object
  const members = Object.entries(object.metadata).filter(([, value]) => !isEmpty(value))
  return { ...object, metadata: Object.fromEntries(members) }
}

/** What is converted on its way to the store is read in between, and so leaves it behind. */
export function asStored(served: ServedResource, object: UntypedObject): UntypedObject {
  return formatApiVersion(served) === served.storedAs ? object : withoutHollows(object)
}

/** Stores `object` without what nobody sees of it. */
export function putHollow(object: UntypedObject, put: (object: UntypedObject) => StoredObject): StoredObject {
  if (!hasHollows(object)) return put(object)
  const stored = put(withoutHollows(object))
  hollow.add(stored)
  return stored
}

/** Whether `object` in place of `stored` is a change, be it one that nobody sees. */
export function isHollowChange(stored: StoredObject, object: UntypedObject): boolean {
  return hollow.has(stored) || hasHollows(object)
}

function hasHollows({ metadata }: UntypedObject): boolean {
  return Object.values(metadata).some(isEmpty)
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
