/**
 * The objects of one resource, by namespace and name.
 *
 * A store holds frozen, shared objects and returns the same references. It keeps indexes up to date and, once requested,
 * accounts for memory. It never clones, and every method is atomic.
 */
import { cacheErrors } from './errors.ts'
import { clientErrors } from '../client/errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { KubeObject } from '../kube/object.ts'
import { createIndex, type StoreEntry, type Index, ownerUids } from './indexes.ts'
import { addedBytes, type Audit, audit, changedBytes, entryBytes } from './memory.ts'

/** Cluster-scoped objects are stored under the empty namespace. */
export interface Store<T extends KubeObject = KubeObject> {
  get(namespace: string | undefined, name: string): T | undefined
  /** The objects of one namespace, or of all, in no particular order. */
  list(namespace?: string): readonly T[]
  /** Adds or replaces the object; returns the previous one. */
  put(object: T): T | undefined
  /** Returns the removed object. */
  remove(namespace: string | undefined, name: string): T | undefined
  /** Replaces the contents of the namespace (of all, if undefined) and returns the changes. */
  replace(namespace: string | undefined, objects: Iterable<T>): readonly StoreChange<T>[]
  /**
   * Adds an index, identified by any value, and indexes the existing objects. Usage is counted: an index that was added
   * twice, by two consumers, must be removed twice.
   */
  addIndex(index: unknown, keysOf: (object: T) => readonly string[]): void
  removeIndex(index: unknown): void
  /** @throws IndexNotFound unless it was added */
  byIndex(index: unknown, key: string): readonly T[]
  /** Objects that have this uid in their ownerReferences. The first call builds the index. */
  byOwner(uid: string): readonly T[]
  readonly size: number
  /** An estimate; memory.ts says how good. The first read computes it; from then on it is maintained. */
  readonly bytes: number
  /** Measures memory again, exactly but slowly. */
  audit(): Audit
}

/** One change: an object that was added (no `previous`), updated, or removed (no `object`). */
export interface StoreChange<T extends KubeObject = KubeObject> {
  readonly previous: T | undefined
  readonly object: T | undefined
}

interface DeclaredIndex<T extends KubeObject> {
  readonly index: Index<T>
  users: number
}

/** Sample size of the first estimate; some tens of milliseconds. */
const mostWeighed = 2000

type Names<T extends KubeObject> = Map<string, StoreEntry<T>>

export function createStore<T extends KubeObject = KubeObject>(): Store<T> {
  return new MemoryStore<T>()
}

/** A class because a process may hold thousands: methods are shared, closures are not. */
class MemoryStore<T extends KubeObject> implements Store<T> {
  readonly #namespaces = new Map<string, Names<T>>()
  /** Created by the first index. */
  #indexes: Map<unknown, DeclaredIndex<T>> | undefined
  #size = 0
  /** Undefined until first read: estimating the size of an object costs more than storing it. */
  #bytes: number | undefined
  /** The object estimated last: lists are sorted, so it most likely shares parts with the next. */
  #neighbour: T | undefined

  get size(): number {
    return this.#size
  }

  get bytes(): number {
    return (this.#bytes ??= this.#weigh())
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#namespaces.get(namespace ?? '')?.get(name)?.object
  }

  list(namespace?: string): T[] {
    const objects: T[] = []
    for (const names of this.#within(namespace)) for (const { object } of names.values()) objects.push(object)
    return objects
  }

  put(object: T): T | undefined {
    const entry = this.#namespaces.get(object.metadata.namespace ?? '')?.get(object.metadata.name ?? '')
    const previous = entry?.object
    if (!entry) this.#insert(object)
    else if (previous !== object) this.#change(entry, object)
    return previous
  }

  remove(namespace: string | undefined, name: string): T | undefined {
    const names = this.#namespaces.get(namespace ?? '')
    const entry = names?.get(name)
    if (!names || !entry) return undefined
    names.delete(name)
    if (names.size === 0) this.#namespaces.delete(namespace ?? '')
    this.#size--
    if (this.#bytes !== undefined) this.#bytes -= entry.bytes
    if (this.#neighbour === entry.object) this.#neighbour = undefined
    this.#reindex(entry, entry.object, undefined)
    return entry.object
  }

  replace(namespace: string | undefined, objects: Iterable<T>): readonly StoreChange<T>[] {
    const wanted = byName(namespace, objects)
    const changes: StoreChange<T>[] = []
    for (const previous of this.list(namespace)) {
      const { metadata } = previous
      if (wanted.get(metadata.namespace ?? '')?.has(metadata.name ?? '')) continue
      this.remove(metadata.namespace, metadata.name ?? '')
      changes.push({ previous, object: undefined })
    }
    for (const names of wanted.values()) {
      for (const object of names.values()) {
        const previous = this.put(object)
        if (!previous || !isSameState(previous, object)) changes.push({ previous, object })
      }
    }
    return changes
  }

  addIndex(id: unknown, keysOf: (object: T) => readonly string[]): void {
    this.#indexes ??= new Map()
    const declared = this.#indexes.get(id)
    if (declared) {
      declared.users++
      return
    }
    const index = createIndex(keysOf)
    for (const names of this.#namespaces.values()) {
      for (const entry of names.values()) index.update(entry, undefined, entry.object)
    }
    this.#indexes.set(id, { index, users: 1 })
  }

  removeIndex(id: unknown): void {
    const declared = this.#indexes?.get(id)
    if (declared && --declared.users === 0) this.#indexes?.delete(id)
  }

  byIndex(id: unknown, key: string): readonly T[] {
    const declared = this.#indexes?.get(id)
    if (!declared) throw new MusterError(cacheErrors.IndexNotFound, `the store has no such index.`)
    return declared.index.find(key)
  }

  byOwner(uid: string): readonly T[] {
    if (!this.#indexes?.has(ownerUids)) this.addIndex(ownerUids, ownerUids)
    return this.byIndex(ownerUids, uid)
  }

  audit(): Audit {
    return audit(this.list())
  }

  #within(namespace: string | undefined): Iterable<Names<T>> {
    if (namespace === undefined) return this.#namespaces.values()
    const names = this.#namespaces.get(namespace)
    return names ? [names] : []
  }

  #insert(object: T): void {
    const namespace = object.metadata.namespace ?? ''
    const entry: StoreEntry<T> = { object, bytes: 0 }
    let names = this.#namespaces.get(namespace)
    if (!names) this.#namespaces.set(namespace, (names = new Map()))
    names.set(object.metadata.name ?? '', entry)
    this.#size++
    if (this.#bytes !== undefined) {
      entry.bytes = entryBytes + addedBytes(this.#neighbour, object)
      this.#bytes += entry.bytes
      this.#neighbour = object
    }
    this.#reindex(entry, undefined, object)
  }

  #change(entry: StoreEntry<T>, object: T): void {
    const before = entry.object
    if (this.#bytes !== undefined) {
      const after = Math.max(entryBytes, entry.bytes + changedBytes(before, object))
      this.#bytes += after - entry.bytes
      entry.bytes = after
      this.#neighbour = object
    }
    entry.object = object
    this.#reindex(entry, before, object)
  }

  /**
   * Charges each object with the bytes it adds to the one before. Of very many objects a sample is measured, and those in
   * between count the same: an estimate must not block the process.
   */
  #weigh(): number {
    const stride = Math.ceil(this.#size / mostWeighed)
    let count = 0
    let charge = 0
    let bytes = 0
    for (const names of this.#namespaces.values()) {
      for (const entry of names.values()) {
        if (count++ % stride === 0) charge = entryBytes + addedBytes(this.#neighbour, entry.object)
        entry.bytes = charge
        bytes += charge
        this.#neighbour = entry.object
      }
    }
    return bytes
  }

  #reindex(entry: StoreEntry<T>, before: T | undefined, after: T | undefined): void {
    if (this.#indexes) for (const { index } of this.#indexes.values()) index.update(entry, before, after)
  }
}

/** Validates all objects before anything is changed; of two objects with the same name the later counts. */
function byName<T extends KubeObject>(
  namespace: string | undefined,
  objects: Iterable<T>,
): Map<string, Map<string, T>> {
  const namespaces = new Map<string, Map<string, T>>()
  for (const object of objects) {
    const { metadata } = object
    if (namespace !== undefined && metadata.namespace !== namespace) {
      throw new MusterError(
        clientErrors.ProtocolError,
        `a list of namespace ${namespace} holds an object of another namespace.`,
      )
    }
    let names = namespaces.get(metadata.namespace ?? '')
    if (!names) namespaces.set(metadata.namespace ?? '', (names = new Map()))
    names.set(metadata.name ?? '', object)
  }
  return namespaces
}

/** The same version of the same object, even if different fields are kept. */
export function isSameState(a: KubeObject, b: KubeObject): boolean {
  if (a === b) return true
  const { uid, resourceVersion } = a.metadata
  return resourceVersion !== undefined && resourceVersion === b.metadata.resourceVersion && uid === b.metadata.uid
}
