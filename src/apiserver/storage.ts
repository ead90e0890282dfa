/**
 * The memory of a cluster: objects by resource, namespace and name, one revision for all of them, and for each
 * resource the history of its latest changes.
 *
 * The history is what makes watches resumable and pages consistent: the state at an earlier revision is today's with
 * the changes since then undone. It is bounded; whoever asks for more than it holds is told that it is gone.
 *
 * Objects are never changed in place, so one object may be in the table, in the history and in a hundred answers.
 */
import type { ObjectMeta, UntypedObject } from '../kube/object.ts'

/** An object as stored: it has a name, a uid and the revision of its last change. */
export interface StoredObject extends UntypedObject {
  readonly metadata: ObjectMeta & { readonly name: string; readonly uid: string; readonly resourceVersion: string }
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly revision: number
  /** What was removed carries the revision of its removal. */
  readonly object: StoredObject
  readonly previous: StoredObject | undefined
  /** It takes back one that could not be kept. Who acts on changes must not do at once again what just failed. */
  readonly isUndoing?: boolean | undefined
}

/** Told of each change of a table, at once and in order. */
export interface Listener {
  change(change: Change): void
  /**
   * There will be no more changes to tell of: the resource is no longer served, or the server stops. Or what was told has
   * not been (`isUndone`), and must not be told on.
   */
  end(isUndone?: boolean): void
}

/** All objects of one resource, whatever version it is served at. */
export interface Table {
  /** `deployments.apps`. */
  readonly name: string
  readonly size: number
  /** Changes up to this revision are forgotten. */
  readonly compacted: number
  get(namespace: string | undefined, name: string): StoredObject | undefined
  /** In the order of their keys; of one namespace or of all. */
  objects(namespace?: string): readonly StoredObject[]
  /** The same at an earlier revision; undefined when the history does not reach back so far. */
  objectsAt(revision: number, namespace?: string): readonly StoredObject[] | undefined
  /** Later changes, oldest first; undefined when some of them are forgotten. */
  changesSince(revision: number): readonly Change[] | undefined
  /** Returns how to stop listening. */
  listen(listener: Listener): () => void
}

export interface Storage {
  /** Of the latest change. */
  readonly revision: number
  table(name: string): Table
  tables(): Iterable<Table>
  /** Stores an object under its name and gives it the next revision. */
  put(table: string, object: UntypedObject): StoredObject
  /** Gives an empty table what many clusters start with. It is copied when it changes, and nobody is told of it. */
  share(table: string, shelf: Shelf): void
  /** Removes it; `object` is the state to be told of. */
  remove(table: string, object: UntypedObject): StoredObject
  /** Forgets all history. */
  compact(): void
  /** Ends the watches of a resource. */
  endWatches(table: string): void
  /** Settles when all changes so far would survive a crash; at once where nothing does anyway. */
  durable(): Promise<void> | undefined
  /** Puts back what was kept: an object as it is, or one that went. */
  restore(table: string, object: StoredObject, isRemoval: boolean): void
  /** How often changes had to be taken back: who saw this grow has seen, or made, what is not so. */
  readonly losses: number
  /** Takes back changes that could not be kept, the latest first. Watches that may have heard of them end. */
  undo(changes: readonly { readonly table: string; readonly change: Change }[]): void
  /** Told of the changes of every table, after the table's own listeners; also, as their reverse, of those undone. */
  onChange(listener: (table: Table, change: Change) => void): void
}

/** Objects that many clusters have alike: kept once, and never changed. */
export interface Shelf {
  readonly objects: ReadonlyMap<string, StoredObject>
  readonly sorted: readonly string[]
}

export function shelfOf(objects: readonly StoredObject[]): Shelf {
  const byKey = new Map(objects.map((object) => [keyOfObject(object), object]))
  return { objects: byKey, sorted: [...byKey.keys()].toSorted() }
}

export interface StorageOptions {
  /** Changes kept of each resource. @default 1000 */
  readonly history?: number | undefined
  /** Where changes are kept for good. @default nowhere */
  readonly keeper?: Keeper | undefined
}

/** Keeps changes beyond the life of the process. */
export interface Keeper {
  /** Raises when it can keep nothing any more. */
  keep(table: string, change: Change): void
  durable(): Promise<void> | undefined
}

/** Real servers are never at zero either: it means "any version" to them. */
const firstRevision = 1

export function createStorage({ history = 1000, keeper }: StorageOptions = {}): Storage {
  const tables = new Map<string, MemoryTable>()
  const listeners: ((table: Table, change: Change) => void)[] = []
  let revision = firstRevision
  let losses = 0

  const tableOf = (name: string): MemoryTable => {
    let table = tables.get(name)
    if (!table) tables.set(name, (table = createTable(name, history)))
    return table
  }

  const change = (name: string, object: UntypedObject, isRemoval: boolean): StoredObject => {
    const table = tableOf(name)
    const next = revision + 1
    const metadata = { ...object.metadata, resourceVersion: String(next) }
    const stored = { ...object, metadata } as StoredObject
    const previous = table.get(stored.metadata.namespace, stored.metadata.name)
    const type = isRemoval ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED'
    const done: Change = { type, revision: next, object: stored, previous }
    keeper?.keep(name, done)
    revision = next
    table.record(done)
    tell(table, done)
    return stored
  }

  const tell = (table: Table, done: Change): void => {
    for (const listener of listeners) listener(table, done)
  }

  return {
    get revision() {
      return revision
    },
    table: tableOf,
    tables: () => tables.values(),
    put: (name, object) => change(name, object, false),
    share(name, shelf) {
      // What outlives the process must be written down like all else.
      if (keeper) for (const object of shelf.objects.values()) change(name, object, false)
      else {
        // What is in many places must not change in one.
        for (const object of shelf.objects.values()) freeze(object)
        tableOf(name).share(shelf)
      }
    },
    remove: (name, object) => change(name, object, true),
    compact() {
      for (const table of tables.values()) table.compact(revision)
    },
    endWatches: (name) => tables.get(name)?.end(),
    durable: () => keeper?.durable(),
    restore(name, object, isRemoval) {
      const table = tableOf(name)
      const previous = table.get(object.metadata.namespace, object.metadata.name)
      const type = isRemoval ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED'
      const done: Change = { type, revision: Number(object.metadata.resourceVersion), object, previous }
      revision = Math.max(revision, done.revision)
      table.record(done)
      tell(table, done)
    },
    get losses() {
      return losses
    },
    undo(changes) {
      losses++
      const undone = changes.toReversed().map(({ table, change: done }) => ({ table: tableOf(table), done }))
      for (const { table, done } of undone) {
        table.end(true)
        table.forget(done)
        // Nobody has heard of a revision that was not kept: the next change may have it.
        revision = done.revision - 1
      }
      for (const { table, done } of undone) tell(table, reverseOf(done))
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

function reverseOf({ type, object, previous, revision }: Change): Change {
  const isUndoing = true
  if (!previous) return { type: 'DELETED', revision, object, previous: object, isUndoing }
  return { type: type === 'DELETED' ? 'ADDED' : 'MODIFIED', revision, object: previous, previous: object, isUndoing }
}

interface MemoryTable extends Table {
  share(shelf: Shelf): void
  record(change: Change): void
  /** The latest change has not been. */
  forget(change: Change): void
  compact(revision: number): void
  end(isUndone?: boolean): void
}

/** A key sorts as in etcd: by namespace, then by name, byte by byte. */
function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`
}

function keyOfObject({ metadata }: StoredObject): string {
  return keyOf(metadata.namespace, metadata.name)
}

function createTable(name: string, limit: number): MemoryTable {
  let objects = new Map<string, StoredObject>()
  let sorted: string[] = []
  let isShared = false
  const listeners = new Set<Listener>()
  let history: Change[] = []
  let compacted = 0

  const objectsOf = (namespace?: string): readonly StoredObject[] => {
    const found: StoredObject[] = []
    const prefix = namespace === undefined ? '' : `${namespace}/`
    for (let at = namespace === undefined ? 0 : position(sorted, prefix); at < sorted.length; at++) {
      const key = sorted[at]!
      if (!key.startsWith(prefix)) break
      found.push(objects.get(key)!)
    }
    return found
  }

  const setObject = (key: string, object: StoredObject | undefined): void => {
    if (isShared) {
      objects = new Map(objects)
      sorted = [...sorted]
      isShared = false
    }
    const isKnown = objects.has(key)
    if (object) objects.set(key, object)
    else objects.delete(key)
    if (isKnown === (object !== undefined)) return
    if (object) sorted.splice(position(sorted, key), 0, key)
    else sorted.splice(position(sorted, key), 1)
  }

  return {
    name,
    get size() {
      return objects.size
    },
    get compacted() {
      return compacted
    },
    get: (namespace, objectName) => objects.get(keyOf(namespace, objectName)),
    objects: objectsOf,
    share(shelf) {
      objects = shelf.objects as Map<string, StoredObject>
      sorted = shelf.sorted as string[]
      isShared = true
    },
    objectsAt(revision, namespace) {
      if (revision < compacted) return undefined
      const then = new Map<string, StoredObject | undefined>()
      // From the newest change backwards: what stood before the oldest one after `revision` is what stood then.
      for (const { object, previous, revision: at } of history.toReversed()) {
        if (at <= revision) break
        then.set(keyOfObject(object), previous)
      }
      if (then.size === 0) return objectsOf(namespace)
      const now = objectsOf(namespace).filter((object) => !then.has(keyOfObject(object)))
      const back = [...then.values()].filter(
        (object) => object && (namespace === undefined || object.metadata.namespace === namespace),
      ) as StoredObject[]
      return [...now, ...back].toSorted((a, b) => (keyOfObject(a) < keyOfObject(b) ? -1 : 1))
    },
    changesSince(revision) {
      return revision < compacted ? undefined : history.filter((change) => change.revision > revision)
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    record(change) {
      setObject(keyOfObject(change.object), change.type === 'DELETED' ? undefined : change.object)
      history.push(change)
      // Cut seldom and by half, so that recording stays cheap.
      if (history.length > 2 * limit) {
        compacted = history[history.length - limit - 1]!.revision
        history = history.slice(-limit)
      }
      for (const listener of listeners) listener.change(change)
    },
    forget(change) {
      setObject(keyOfObject(change.object), change.previous)
      if (history.at(-1) === change) history.pop()
    },
    compact(revision) {
      compacted = revision
      history = []
    },
    end(isUndone) {
      for (const listener of listeners) listener.end(isUndone)
    },
  }
}

/** Where `key` is, or belongs. */
function position(sorted: readonly string[], key: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}
