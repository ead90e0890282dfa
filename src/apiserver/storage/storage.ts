/**
 * The memory of a cluster: objects by resource, namespace and name, one revision for all of them, and for each
 * resource the history of its latest changes.
 *
 * The history is what makes watches resumable and pages consistent: the state at an earlier revision is today's with
 * the changes since then undone. It is bounded, by changes and by bytes; whoever asks for more than it holds is told
 * that it is gone.
 *
 * Objects are never changed in place, so one object may be in the table, in the history and in a hundred answers.
 */
import type { ObjectMeta, UntypedObject } from '../../kube/object.ts'
import type { Foundation, BootstrapPlace } from './bootstrap-objects.ts'
import { sizeOf } from '../codec/object-size.ts'

/** An object as stored: it has a name, a uid and the revision of its last change. */
export interface StoredObject extends UntypedObject {
  readonly metadata: ObjectMeta & { readonly name: string; readonly uid: string; readonly resourceVersion: string }
}

export interface StorageChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly revision: number
  /** What was removed carries the revision of its removal. */
  readonly object: StoredObject
  readonly previous: StoredObject | undefined
  /** It takes back one that could not be kept. Who acts on changes must not do at once again what just failed. */
  readonly isUndoing?: boolean | undefined
}

/** Told of each change of a table, at once and in order. */
export interface StorageListener {
  change(change: StorageChange): void
  /**
   * There will be no more changes to tell of: the resource is no longer served, or the server stops. Or what was told has
   * not been (`isUndone`), and must not be told on.
   */
  end(isUndone?: boolean): void
}

/** All objects of one resource, whatever version it is served at. */
export interface StorageTable {
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
  changesSince(revision: number): readonly StorageChange[] | undefined
  /** Returns how to stop listening. */
  listen(listener: StorageListener): () => void
}

export interface Storage {
  /** Of the latest change. */
  readonly revision: number
  table(name: string): StorageTable
  tables(): Iterable<StorageTable>
  /** Stores an object under its name and gives it the next revision. */
  put(table: string, object: UntypedObject): StoredObject
  /** Puts a foundation under tables that are empty: as many changes as it has objects, of which nobody is told. */
  lay(foundation: Foundation): void
  /** What was laid, as long as nothing of it has changed. */
  intactFoundation(): Foundation | undefined
  /** Where something was laid, by its uid; it may have changed or gone since. */
  laidPlace(uid: string): BootstrapPlace | undefined
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
  /** Puts back what was laid. */
  restoreFoundation(foundation: Foundation): void
  /** All that was put back is the state at this revision: nobody knows what came and went before. */
  restoreRevision(revision: number): void
  /** How often changes had to be taken back: who saw this grow has seen, or made, what is not so. */
  readonly losses: number
  /** Takes back changes that could not be kept, the latest first. Watches that may have heard of them end. */
  undo(changes: readonly Done[]): void
  /** Told of the changes of every table, after the table's own listeners; also, as their reverse, of those undone. */
  onChange(listener: (table: StorageTable, change: StorageChange) => void): void
}

/** What happened to a storage in one go. */
export type Done = { readonly table: string; readonly change: StorageChange } | { readonly foundation: Foundation }

export interface StorageOptions {
  /** Changes kept of each resource. @default 1000 */
  readonly history?: number | undefined
  /** Bytes that the changes of all resources take together, about. @default 64 MiB */
  readonly historyBytes?: number | undefined
  /** Where changes are kept for good. @default nowhere */
  readonly keeper?: Keeper | undefined
}

/** Keeps changes beyond the life of the process. */
export interface Keeper {
  /** Raises when it can keep nothing any more. */
  keep(done: Done): void
  durable(): Promise<void> | undefined
}

/** Real servers are never at zero either: it means "any version" to them. */
const firstRevision = 1

const defaultHistoryBytes = 64 * 1024 * 1024

export function createStorage(options: StorageOptions = {}): Storage {
  const { history = 1000, historyBytes = defaultHistoryBytes, keeper } = options
  const tables = new Map<string, MemoryTable>()
  const listeners: ((table: StorageTable, change: StorageChange) => void)[] = []
  let laid: Foundation | undefined
  /** What was before is forgotten, in tables that nobody has asked for yet, too. */
  let horizon = 0
  const kept: HistorySize = { bytes: 0 }

  const tableOf = (name: string): MemoryTable => {
    let table = tables.get(name)
    if (!table) tables.set(name, (table = new MemoryTable(name, history, horizon, kept)))
    return table
  }

  const change = (name: string, object: UntypedObject, isRemoval: boolean): StoredObject => {
    const table = tableOf(name)
    const next = storage.revision + 1
    const metadata = { ...object.metadata, resourceVersion: String(next) }
    const stored = { ...object, metadata } as StoredObject
    const previous = table.get(stored.metadata.namespace, stored.metadata.name)
    const type = isRemoval ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED'
    const done: StorageChange = { type, revision: next, object: stored, previous }
    keeper?.keep({ table: name, change: done })
    storage.revision = next
    record(table, done)
    return stored
  }

  const record = (table: MemoryTable, done: StorageChange): void => {
    table.record(done)
    while (kept.bytes > historyBytes) largestHistory().halveHistory()
    tell(table, done)
  }

  const largestHistory = (): MemoryTable =>
    [...tables.values()].reduce((one, other) => (other.historyBytes > one.historyBytes ? other : one))

  const tell = (table: StorageTable, done: StorageChange): void => {
    for (const listener of listeners) listener(table, done)
  }

  const lay = (foundation: Foundation): void => {
    laid = foundation
    storage.revision = Math.max(storage.revision, foundation.first + foundation.size - 1)
    for (const name of foundation.tables) tableOf(name).lay(() => foundation.objectsOf(name))
  }

  /** Returns what has to be told of it. */
  const takeBack = (done: Done): readonly (readonly [StorageTable, StorageChange])[] => {
    if ('change' in done) {
      const table = tableOf(done.table)
      table.end(true)
      table.forget(done.change)
      // Nobody has heard of a revision that was not kept: the next change may have it.
      storage.revision = done.change.revision - 1
      return [[table, reverseOf(done.change)]]
    }
    laid = undefined
    storage.revision = done.foundation.first - 1
    return done.foundation.tables.map(tableOf).flatMap((table) => {
      table.end(true)
      return table.takeUp().map((object) => [table, reverseOf(additionOf(object))] as const)
    })
  }

  // No accessors: an object that has some of its own is a dictionary to the engine, and outlives what it is part of.
  const storage: Storage & { revision: number; losses: number } = {
    revision: firstRevision,
    losses: 0,
    table: tableOf,
    tables: () => tables.values(),
    put: (name, object) => change(name, object, false),
    lay(foundation) {
      keeper?.keep({ foundation })
      lay(foundation)
    },
    intactFoundation: () => (laid?.tables.every((name) => tableOf(name).isAsLaid) ? laid : undefined),
    laidPlace: (uid) => laid?.placeOf(uid),
    remove: (name, object) => change(name, object, true),
    compact() {
      for (const table of tables.values()) table.compact(storage.revision)
    },
    endWatches: (name) => tables.get(name)?.end(),
    durable: () => keeper?.durable(),
    restore(name, object, isRemoval) {
      const table = tableOf(name)
      const previous = table.get(object.metadata.namespace, object.metadata.name)
      const type = isRemoval ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED'
      const done: StorageChange = { type, revision: revisionOf(object), object, previous }
      storage.revision = Math.max(storage.revision, done.revision)
      record(table, done)
    },
    restoreFoundation: lay,
    restoreRevision(known) {
      storage.revision = horizon = Math.max(storage.revision, known)
      for (const table of tables.values()) table.compact(horizon)
    },
    undo(changes) {
      storage.losses++
      for (const [table, reverse] of changes.toReversed().flatMap(takeBack)) tell(table, reverse)
    },
    onChange: (listener) => void listeners.push(listener),
  }
  return storage
}

function additionOf(object: StoredObject): StorageChange {
  return { type: 'ADDED', revision: revisionOf(object), object, previous: undefined }
}

function reverseOf({ type, object, previous, revision }: StorageChange): StorageChange {
  const isUndoing = true
  if (!previous) return { type: 'DELETED', revision, object, previous: object, isUndoing }
  return { type: type === 'DELETED' ? 'ADDED' : 'MODIFIED', revision, object: previous, previous: object, isUndoing }
}

/** A key sorts as in etcd: by namespace, then by name, byte by byte. */
function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`
}

function keyOfObject({ metadata }: StoredObject): string {
  return keyOf(metadata.namespace, metadata.name)
}

function revisionOf({ metadata }: StoredObject): number {
  return Number(metadata.resourceVersion)
}

/** What the history of all tables takes together. */
interface HistorySize {
  bytes: number
}

/** A change in the history, and what it takes. */
interface Remembered {
  readonly change: StorageChange
  readonly bytes: number
}

class MemoryTable implements StorageTable {
  readonly name: string
  readonly #limit: number
  readonly #objects = new Map<string, StoredObject>()
  #sorted: string[] = []
  #make: (() => readonly StoredObject[]) | undefined
  #isAsLaid = false
  readonly #listeners = new Set<StorageListener>()
  #history: Remembered[] = []
  #historyBytes = 0
  #compacted: number
  readonly #all: HistorySize

  constructor(name: string, limit: number, horizon: number, all: HistorySize) {
    this.#all = all
    this.name = name
    this.#limit = limit
    this.#compacted = horizon
  }

  get size(): number {
    this.#look()
    return this.#objects.size
  }

  get compacted(): number {
    return this.#compacted
  }

  /** It holds what was laid, and nothing else has ever happened to it since. */
  get isAsLaid(): boolean {
    return this.#isAsLaid
  }

  get(namespace: string | undefined, name: string): StoredObject | undefined {
    this.#look()
    return this.#objects.get(keyOf(namespace, name))
  }

  objects(namespace?: string): readonly StoredObject[] {
    this.#look()
    const found: StoredObject[] = []
    const prefix = namespace === undefined ? '' : `${namespace}/`
    const sorted = this.#sorted
    for (let at = namespace === undefined ? 0 : position(sorted, prefix); at < sorted.length; at++) {
      const key = sorted[at]!
      if (!key.startsWith(prefix)) break
      found.push(this.#objects.get(key)!)
    }
    return found
  }

  objectsAt(revision: number, namespace?: string): readonly StoredObject[] | undefined {
    this.#look()
    if (revision < this.#compacted) return undefined
    const then = new Map<string, StoredObject | undefined>()
    // From the newest change backwards: what stood before the oldest one after `revision` is what stood then.
    for (const { change } of this.#history.toReversed()) {
      if (change.revision <= revision) break
      then.set(keyOfObject(change.object), change.previous)
    }
    if (then.size === 0) return this.objects(namespace)
    const now = this.objects(namespace).filter((object) => !then.has(keyOfObject(object)))
    const back = [...then.values()].filter(
      (object) => object && (namespace === undefined || object.metadata.namespace === namespace),
    ) as StoredObject[]
    return [...now, ...back].toSorted((a, b) => (keyOfObject(a) < keyOfObject(b) ? -1 : 1))
  }

  changesSince(revision: number): readonly StorageChange[] | undefined {
    this.#look()
    if (revision < this.#compacted) return undefined
    return this.#history.flatMap(({ change }) => (change.revision > revision ? change : []))
  }

  listen(listener: StorageListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** `make` is asked for the objects when somebody looks. The table must be empty. */
  lay(make: () => readonly StoredObject[]): void {
    this.#make = make
    this.#isAsLaid = true
  }

  /** What was laid here has not been; returns it if somebody has looked. */
  takeUp(): readonly StoredObject[] {
    const seen = [...this.#objects.values()]
    this.#objects.clear()
    this.#sorted = []
    this.#keep(this.#history.filter(({ change }) => !seen.includes(change.object)))
    this.#make = undefined
    this.#isAsLaid = false
    return seen
  }

  get historyBytes(): number {
    return this.#historyBytes
  }

  record(change: StorageChange): void {
    this.#set(keyOfObject(change.object), change.type === 'DELETED' ? undefined : change.object)
    const bytes = sizeOf(change.object)
    this.#history.push({ change, bytes })
    this.#grow(bytes)
    // Cut seldom and by half, so that recording stays cheap.
    if (this.#history.length > 2 * this.#limit) this.#drop(this.#history.length - this.#limit)
    for (const listener of this.#listeners) listener.change(change)
  }

  /** Forgets the older half of the history, by bytes. */
  halveHistory(): void {
    const half = this.#historyBytes / 2
    let count = 0
    for (let bytes = this.#historyBytes; bytes > half; count++) bytes -= this.#history[count]!.bytes
    this.#drop(count)
  }

  /** The latest change has not been. */
  forget(change: StorageChange): void {
    this.#set(keyOfObject(change.object), change.previous)
    const last = this.#history.at(-1)
    if (last?.change !== change) return
    this.#history.pop()
    this.#grow(-last.bytes)
  }

  compact(revision: number): void {
    this.#compacted = revision
    this.#keep([])
  }

  /** Forgets so many of the oldest changes. */
  #drop(count: number): void {
    if (count === 0) return
    this.#compacted = this.#history[count - 1]!.change.revision
    this.#keep(this.#history.slice(count))
  }

  #keep(history: Remembered[]): void {
    this.#history = history
    this.#grow(history.reduce((sum, { bytes }) => sum + bytes, 0) - this.#historyBytes)
  }

  #grow(bytes: number): void {
    this.#historyBytes += bytes
    this.#all.bytes += bytes
  }

  end(isUndone?: boolean): void {
    for (const listener of this.#listeners) listener.end(isUndone)
  }

  /** Before anything else is done with what is here. */
  #look(): void {
    if (!this.#make) return
    for (const object of this.#make()) {
      this.#objects.set(keyOfObject(object), object)
      const added = additionOf(object)
      // What clusters start with is shared by all of them.
      if (added.revision > this.#compacted) this.#history.push({ change: added, bytes: 0 })
    }
    this.#sorted = [...this.#objects.keys()].toSorted()
    this.#make = undefined
  }

  #set(key: string, object: StoredObject | undefined): void {
    this.#look()
    this.#isAsLaid = false
    const isKnown = this.#objects.has(key)
    if (object) this.#objects.set(key, object)
    else this.#objects.delete(key)
    if (isKnown === (object !== undefined)) return
    if (object) this.#sorted.splice(position(this.#sorted, key), 0, key)
    else this.#sorted.splice(position(this.#sorted, key), 1)
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
