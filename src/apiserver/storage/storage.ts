/**
 * The storage of a cluster, in place of etcd: objects by resource, namespace and name, one revision for all of them,
 * and for each resource the history of its latest changes.
 *
 * The history makes watches resumable and paginated lists consistent: the state at an earlier revision is the current
 * one with the later changes undone. It is bounded, by changes and by bytes; requests for older revisions get
 * "expired".
 *
 * Objects are immutable, so one object may be in the table, in the history and in many responses.
 */
import type { ObjectMeta, UntypedObject } from '../../kube/object.ts'
import type { BootstrapObjects, BootstrapPlace } from './bootstrap-objects.ts'
import { objectText } from '../codec/object-text.ts'

/** A stored object: it has a name, a uid and the revision of its last change. */
export interface StoredObject extends UntypedObject {
  readonly metadata: ObjectMeta & { readonly name: string; readonly uid: string; readonly resourceVersion: string }
}

export interface StorageChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly revision: number
  /** A removed object carries the revision of its removal. */
  readonly object: StoredObject
  readonly previous: StoredObject | undefined
  /** Reverts a change that could not be written to the journal. Listeners must not retry it at once. */
  readonly isUndoing?: boolean | undefined
}

/** Called for each change of a table, synchronously and in order. */
interface StorageListener {
  /** `size`: that of the object, in characters of its text. */
  change(change: StorageChange, size: number): void
  /**
   * No more changes follow: the resource is no longer served, or the server stops. With `isUndone`, the latest changes
   * were reverted, and must not be delivered.
   */
  end(isUndone?: boolean): void
}

/** All objects of one resource, whatever version it is served at. */
export interface StorageTable {
  /** `deployments.apps`. */
  readonly name: string
  readonly size: number
  /** Changes up to this revision have been compacted. */
  readonly compacted: number
  get(namespace: string | undefined, name: string): StoredObject | undefined
  /** Sorted by key; of one namespace or of all. */
  objects(namespace?: string): readonly StoredObject[]
  /** The same at an earlier revision; undefined if it has been compacted. */
  objectsAt(revision: number, namespace?: string): readonly StoredObject[] | undefined
  /** Later changes, oldest first; undefined if some of them have been compacted. */
  changesSince(revision: number): readonly StorageChange[] | undefined
  /** Returns a function that stops listening. */
  listen(listener: StorageListener): () => void
}

export interface Storage {
  /** The revision of the latest change. */
  readonly revision: number
  table(name: string): StorageTable
  tables(): Iterable<StorageTable>
  /** Stores an object under its name and gives it the next revision. */
  put(table: string, object: UntypedObject): StoredObject
  /** Adds bootstrap objects to empty tables: one revision per object, without calling listeners. */
  addBootstrap(bootstrap: BootstrapObjects): void
  /** The bootstrap objects, as long as none of their tables has changed. */
  unchangedBootstrap(): BootstrapObjects | undefined
  /** The table and name of a bootstrap object, by uid; it may have changed or been deleted since. */
  bootstrapPlace(uid: string): BootstrapPlace | undefined
  /** Removes an object; `object` is its last state, for watches. */
  remove(table: string, object: UntypedObject): StoredObject
  /** Drops all history. */
  compact(): void
  /** Ends the watches of a resource. */
  endWatches(table: string): void
  /** Resolves when all changes so far would survive a crash; undefined if they do already, or without a journal. */
  durable(): Promise<void> | undefined
  /** Restores an object, or its removal, from the journal. */
  restore(table: string, object: StoredObject, isRemoval: boolean): void
  /** Restores bootstrap objects from the journal. */
  restoreBootstrap(bootstrap: BootstrapObjects): void
  /** Marks the restored objects as the state at this revision, without any history before it. */
  restoreRevision(revision: number): void
  /**
   * How often changes were reverted: a request during which this grows has seen, or made, a state that does not exist.
   */
  readonly losses: number
  /** Reverts changes that could not be written, the latest first, and ends the watches that may have seen them. */
  undo(changes: readonly RecordedChange[]): void
  /**
   * Calls `listener` for every change, after the table's own listeners, and for every revert with the reverse change.
   */
  onChange(listener: (table: StorageTable, change: StorageChange) => void): void
}

/** One atomic change of the storage, as the journal records it. */
export type RecordedChange =
  | { readonly table: string; readonly change: StorageChange }
  | { readonly bootstrap: BootstrapObjects }

interface StorageOptions {
  /** Number of changes kept per resource. @default 1000 */
  readonly history?: number | undefined
  /** Approximate total size of the kept changes, in bytes. @default 64 MiB */
  readonly historyBytes?: number | undefined
  /** Persists changes. @default nothing does */
  readonly log?: StorageLog | undefined
}

/** Persists changes: the journal. */
interface StorageLog {
  /** Throws if nothing can be written any more. */
  append(change: RecordedChange): void
  durable(): Promise<void> | undefined
}

/** Not zero: resourceVersion "0" means "any version". */
const firstRevision = 1

const defaultHistoryBytes = 64 * 1024 * 1024

export function createStorage(options: StorageOptions = {}): Storage {
  const { history = 1000, historyBytes = defaultHistoryBytes, log } = options
  const tables = new Map<string, MemoryTable>()
  const listeners: ((table: StorageTable, change: StorageChange) => void)[] = []
  let added: BootstrapObjects | undefined
  /** The compacted revision of tables that do not exist yet. */
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
    log?.append({ table: name, change: done })
    storage.revision = next
    record(table, done)
    return stored
  }

  const record = (table: MemoryTable, done: StorageChange): void => {
    table.record(done)
    while (kept.bytes > historyBytes) largestHistory().halveHistory()
    notify(table, done)
  }

  const largestHistory = (): MemoryTable =>
    [...tables.values()].reduce((one, other) => (other.historyBytes > one.historyBytes ? other : one))

  const notify = (table: StorageTable, done: StorageChange): void => {
    for (const listener of listeners) listener(table, done)
  }

  const addBootstrap = (bootstrap: BootstrapObjects): void => {
    added = bootstrap
    storage.revision = Math.max(storage.revision, bootstrap.first + bootstrap.size - 1)
    for (const name of bootstrap.tables) tableOf(name).addBootstrap(() => bootstrap.objectsOf(name))
  }

  /** Reverts one change; returns the reverse changes for the listeners. */
  const revert = (done: RecordedChange): readonly (readonly [StorageTable, StorageChange])[] => {
    if ('change' in done) {
      const table = tableOf(done.table)
      table.end(true)
      table.revert(done.change)
      // No client has seen the reverted revision: the next change may reuse it.
      storage.revision = done.change.revision - 1
      return [[table, reverseOf(done.change)]]
    }
    added = undefined
    storage.revision = done.bootstrap.first - 1
    return done.bootstrap.tables.map(tableOf).flatMap((table) => {
      table.end(true)
      return table.removeBootstrap().map((object) => [table, reverseOf(additionOf(object))] as const)
    })
  }

  // No accessors: V8 keeps an object with own accessors in dictionary mode, and its memory outlives the cluster.
  const storage: Storage & { revision: number; losses: number } = {
    revision: firstRevision,
    losses: 0,
    table: tableOf,
    tables: () => tables.values(),
    put: (name, object) => change(name, object, false),
    addBootstrap(bootstrap) {
      log?.append({ bootstrap })
      addBootstrap(bootstrap)
    },
    unchangedBootstrap: () => (added?.tables.every((name) => tableOf(name).isBootstrapOnly) ? added : undefined),
    bootstrapPlace: (uid) => added?.placeOf(uid),
    remove: (name, object) => change(name, object, true),
    compact() {
      for (const table of tables.values()) table.compact(storage.revision)
    },
    endWatches: (name) => tables.get(name)?.end(),
    durable: () => log?.durable(),
    restore(name, object, isRemoval) {
      const table = tableOf(name)
      const previous = table.get(object.metadata.namespace, object.metadata.name)
      const type = isRemoval ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED'
      const done: StorageChange = { type, revision: revisionOf(object), object, previous }
      storage.revision = Math.max(storage.revision, done.revision)
      record(table, done)
    },
    restoreBootstrap: addBootstrap,
    restoreRevision(known) {
      storage.revision = horizon = Math.max(storage.revision, known)
      for (const table of tables.values()) table.compact(horizon)
    },
    undo(changes) {
      storage.losses++
      for (const [table, reverse] of changes.toReversed().flatMap(revert)) notify(table, reverse)
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

/** The size of the history of all tables. */
interface HistorySize {
  bytes: number
}

/** A change in the history, with its size. */
interface HistoryChange {
  readonly change: StorageChange
  readonly bytes: number
}

class MemoryTable implements StorageTable {
  readonly name: string
  readonly #limit: number
  readonly #objects = new Map<string, StoredObject>()
  #sorted: string[] = []
  #make: (() => readonly StoredObject[]) | undefined
  #isBootstrapOnly = false
  readonly #listeners = new Set<StorageListener>()
  #history: HistoryChange[] = []
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
    this.#materialize()
    return this.#objects.size
  }

  get compacted(): number {
    return this.#compacted
  }

  /** Whether it holds the bootstrap objects, unchanged, and nothing else. */
  get isBootstrapOnly(): boolean {
    return this.#isBootstrapOnly
  }

  get(namespace: string | undefined, name: string): StoredObject | undefined {
    this.#materialize()
    return this.#objects.get(keyOf(namespace, name))
  }

  objects(namespace?: string): readonly StoredObject[] {
    this.#materialize()
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
    this.#materialize()
    if (revision < this.#compacted) return undefined
    const then = new Map<string, StoredObject | undefined>()
    // From the newest change backwards: the object before the oldest change after `revision` is the one at `revision`.
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
    this.#materialize()
    if (revision < this.#compacted) return undefined
    return this.#history.flatMap(({ change }) => (change.revision > revision ? change : []))
  }

  listen(listener: StorageListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** `make` creates the objects when the table is first read. The table must be empty. */
  addBootstrap(make: () => readonly StoredObject[]): void {
    this.#make = make
    this.#isBootstrapOnly = true
  }

  /** Reverts the bootstrap objects; returns them if they have been created. */
  removeBootstrap(): readonly StoredObject[] {
    const seen = [...this.#objects.values()]
    this.#objects.clear()
    this.#sorted = []
    this.#keep(this.#history.filter(({ change }) => !seen.includes(change.object)))
    this.#make = undefined
    this.#isBootstrapOnly = false
    return seen
  }

  get historyBytes(): number {
    return this.#historyBytes
  }

  record(change: StorageChange): void {
    this.#set(keyOfObject(change.object), change.type === 'DELETED' ? undefined : change.object)
    // The text is cached: the response and the watches need it too.
    const bytes = objectText(change.object).length
    this.#history.push({ change, bytes })
    this.#grow(bytes)
    // Trimmed rarely and by half, so that recording stays cheap.
    if (this.#history.length > 2 * this.#limit) this.#drop(this.#history.length - this.#limit)
    for (const listener of this.#listeners) listener.change(change, bytes)
  }

  /** Drops the older half of the history, by bytes. */
  halveHistory(): void {
    const half = this.#historyBytes / 2
    let count = 0
    for (let bytes = this.#historyBytes; bytes > half; count++) bytes -= this.#history[count]!.bytes
    this.#drop(count)
  }

  /** Reverts the latest change. */
  revert(change: StorageChange): void {
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

  /** Drops the oldest `count` changes. */
  #drop(count: number): void {
    if (count === 0) return
    this.#compacted = this.#history[count - 1]!.change.revision
    this.#keep(this.#history.slice(count))
  }

  #keep(history: HistoryChange[]): void {
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

  /** Creates the bootstrap objects; called before any other access. */
  #materialize(): void {
    if (!this.#make) return
    for (const object of this.#make()) {
      this.#objects.set(keyOfObject(object), object)
      const added = additionOf(object)
      // Bootstrap objects are shared by all clusters, so they do not count towards the history's size.
      if (added.revision > this.#compacted) this.#history.push({ change: added, bytes: 0 })
    }
    this.#sorted = [...this.#objects.keys()].toSorted()
    this.#make = undefined
  }

  #set(key: string, object: StoredObject | undefined): void {
    this.#materialize()
    this.#isBootstrapOnly = false
    const isKnown = this.#objects.has(key)
    if (object) this.#objects.set(key, object)
    else this.#objects.delete(key)
    if (isKnown === (object !== undefined)) return
    if (object) this.#sorted.splice(position(this.#sorted, key), 0, key)
    else this.#sorted.splice(position(this.#sorted, key), 1)
  }
}

/** The index of `key`, or where to insert it. */
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
