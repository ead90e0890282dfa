/**
 * The objects of one resource, by namespace and name.
 *
 * A store keeps what it is given, frozen and shared, and hands out the same references. It also keeps indexes up to
 * date and accounts for memory. It never clones, and every method is one step: nobody sees it half changed.
 */
import { MusterError } from '../kube/errors.ts'
import type { KubeObject } from '../kube/object.ts'
import { createIndex, type Entry, type Index, ownerUids } from './indexes.ts'
import { type Audit, audit, entryBytes, growth } from './memory.ts'

/** Objects without a namespace are filed under the empty one. */
export interface Store<T extends KubeObject = KubeObject> {
  get(namespace: string | undefined, name: string): T | undefined
  /** Of one namespace, or of all. In no particular order. */
  list(namespace?: string): readonly T[]
  /** Adds the object or takes the place of the one with its name, which is returned. */
  put(object: T): T | undefined
  /** Returns what was removed. */
  remove(namespace: string | undefined, name: string): T | undefined
  /** Makes these the only objects of the namespace (of all, if undefined) and tells what is different. */
  replace(namespace: string | undefined, objects: Iterable<T>): readonly Change<T>[]
  /**
   * Declares an index, called by any value of yours, and files what is there. Declared twice it must be removed twice:
   * each of two consumers may say that it needs it no more.
   */
  addIndex(index: unknown, keysOf: (object: T) => readonly string[]): void
  removeIndex(index: unknown): void
  /** @throws IndexNotFound unless it was declared */
  byIndex(index: unknown, key: string): readonly T[]
  /** Objects that have this uid in their ownerReferences. The first call builds the index. */
  byOwner(uid: string): readonly T[]
  readonly size: number
  /** Estimated; memory.ts says how well. */
  readonly bytes: number
  /** Counts memory anew, exactly but slowly. */
  audit(): Audit
}

/** One difference between two states: an object that came (no `previous`), changed, or went (no `object`). */
export interface Change<T extends KubeObject = KubeObject> {
  readonly previous: T | undefined
  readonly object: T | undefined
}

interface DeclaredIndex<T extends KubeObject> {
  readonly index: Index<T>
  users: number
}

type Names<T extends KubeObject> = Map<string, Entry<T>>

export function createStore<T extends KubeObject = KubeObject>(): Store<T> {
  const namespaces = new Map<string, Names<T>>()
  const indexes = new Map<unknown, DeclaredIndex<T>>()
  let size = 0
  let bytes = 0
  /** The object stored last: lists come sorted, so it is the likeliest to share with the next. */
  let neighbour: T | undefined

  const entryOf = (namespace: string | undefined, name: string): Entry<T> | undefined =>
    namespaces.get(namespace ?? '')?.get(name)

  const reindex = (entry: Entry<T>, before: T | undefined, after: T | undefined): void => {
    for (const { index } of indexes.values()) index.update(entry, before, after)
  }

  const insert = (object: T): void => {
    const namespace = object.metadata.namespace ?? ''
    const entry: Entry<T> = { object, bytes: entryBytes + growth(neighbour, object, false) }
    let names = namespaces.get(namespace)
    if (!names) namespaces.set(namespace, (names = new Map()))
    names.set(object.metadata.name ?? '', entry)
    size++
    bytes += entry.bytes
    neighbour = object
    reindex(entry, undefined, object)
  }

  const change = (entry: Entry<T>, object: T): void => {
    const before = entry.object
    const after = Math.max(entryBytes, entry.bytes + growth(before, object, true))
    bytes += after - entry.bytes
    entry.bytes = after
    entry.object = object
    neighbour = object
    reindex(entry, before, object)
  }

  const remove = (namespace: string | undefined, name: string): T | undefined => {
    const names = namespaces.get(namespace ?? '')
    const entry = names?.get(name)
    if (!names || !entry) return undefined
    names.delete(name)
    if (names.size === 0) namespaces.delete(namespace ?? '')
    size--
    bytes -= entry.bytes
    if (neighbour === entry.object) neighbour = undefined
    reindex(entry, entry.object, undefined)
    return entry.object
  }

  const put = (object: T): T | undefined => {
    const entry = entryOf(object.metadata.namespace, object.metadata.name ?? '')
    const previous = entry?.object
    if (!entry) insert(object)
    else if (previous !== object) change(entry, object)
    return previous
  }

  const within = (namespace: string | undefined): Iterable<Names<T>> => {
    if (namespace === undefined) return namespaces.values()
    const names = namespaces.get(namespace)
    return names ? [names] : []
  }

  const list = (namespace?: string): T[] => {
    const objects: T[] = []
    for (const names of within(namespace)) for (const { object } of names.values()) objects.push(object)
    return objects
  }

  const replace = (namespace: string | undefined, objects: Iterable<T>): readonly Change<T>[] => {
    const wanted = byName(namespace, objects)
    const changes: Change<T>[] = []
    for (const previous of list(namespace)) {
      const { metadata } = previous
      if (wanted.get(metadata.namespace ?? '')?.has(metadata.name ?? '')) continue
      remove(metadata.namespace, metadata.name ?? '')
      changes.push({ previous, object: undefined })
    }
    for (const names of wanted.values()) {
      for (const object of names.values()) {
        const previous = put(object)
        if (!previous || !isSameState(previous, object)) changes.push({ previous, object })
      }
    }
    return changes
  }

  const addIndex = (id: unknown, keysOf: (object: T) => readonly string[]): void => {
    const declared = indexes.get(id)
    if (declared) {
      declared.users++
      return
    }
    const index = createIndex(keysOf)
    for (const names of namespaces.values()) {
      for (const entry of names.values()) index.update(entry, undefined, entry.object)
    }
    indexes.set(id, { index, users: 1 })
  }

  return {
    get: (namespace, name) => entryOf(namespace, name)?.object,
    list,
    put,
    remove,
    replace,
    addIndex,
    removeIndex(id) {
      const declared = indexes.get(id)
      if (declared && --declared.users === 0) indexes.delete(id)
    },
    byIndex(id, key) {
      const declared = indexes.get(id)
      if (!declared) throw new MusterError('IndexNotFound', `the store has no such index.`)
      return declared.index.find(key)
    },
    byOwner(uid) {
      if (!indexes.has(ownerUids)) addIndex(ownerUids, ownerUids)
      return indexes.get(ownerUids)!.index.find(uid)
    },
    get size() {
      return size
    },
    get bytes() {
      return bytes
    },
    audit: () => audit(list()),
  }
}

/** Before anything is changed, all of it is known and in order; of two objects with one name the later counts. */
function byName<T extends KubeObject>(
  namespace: string | undefined,
  objects: Iterable<T>,
): Map<string, Map<string, T>> {
  const namespaces = new Map<string, Map<string, T>>()
  for (const object of objects) {
    const { metadata } = object
    if (namespace !== undefined && metadata.namespace !== namespace) {
      throw new MusterError('ProtocolError', `a list of namespace ${namespace} holds an object of another namespace.`)
    }
    let names = namespaces.get(metadata.namespace ?? '')
    if (!names) namespaces.set(metadata.namespace ?? '', (names = new Map()))
    names.set(metadata.name ?? '', object)
  }
  return namespaces
}

/** The same state of the same object, even if more or less of it is kept. */
function isSameState(a: KubeObject, b: KubeObject): boolean {
  if (a === b) return true
  const { uid, resourceVersion } = a.metadata
  return resourceVersion !== undefined && resourceVersion === b.metadata.resourceVersion && uid === b.metadata.uid
}
