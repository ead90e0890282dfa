/**
 * A foundation: objects that a cluster has from its first moment on without anybody having made them. How many there are
 * is known, and so is the revision of each; what they are is found out when somebody looks into one of their tables. In
 * most clusters nobody ever does, and a process may hold ten thousand of them.
 *
 * It is written down as one record, of which the very same objects can be made again, by any later version of Muster.
 */
import type { StoredObject } from './storage.ts'

export interface Foundation {
  /** The revision of its first object. Each has one of its own. */
  readonly first: number
  readonly size: number
  readonly tables: readonly string[]
  /** The objects of one of these tables: equal ones, whenever it is asked. */
  objectsOf(table: string): readonly StoredObject[]
  /** Where it has the object of this uid. */
  placeOf(uid: string): BootstrapPlace | undefined
  /** As it is written down, in JSON. */
  record(): string
}

export interface BootstrapPlace {
  readonly table: string
  readonly namespace: string | undefined
  readonly name: string
}
