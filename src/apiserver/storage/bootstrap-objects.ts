/**
 * Bootstrap objects: objects that a cluster has from its start. Their number and revisions are known, but they are
 * created only when one of their tables is first read. Most clusters never read them, and a process may hold ten
 * thousand clusters.
 *
 * The journal holds them as one record, from which any later version of Muster can recreate equal objects.
 */
import type { StoredObject } from './storage.ts'

export interface BootstrapObjects {
  /** The revision of the first object; the others follow, one each. */
  readonly first: number
  readonly size: number
  readonly tables: readonly string[]
  /** The objects of one of these tables: equal ones at every call. */
  objectsOf(table: string): readonly StoredObject[]
  /** The table and name of the object with this uid. */
  placeOf(uid: string): BootstrapPlace | undefined
  /** The journal record, in JSON. */
  record(): string
}

export interface BootstrapPlace {
  readonly table: string
  readonly namespace: string | undefined
  readonly name: string
}
