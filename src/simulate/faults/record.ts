/**
 * A record of a run: it follows what is stored of the kinds that an operator writes, and notes what no final state tells: how
 * often an object came and went, what was left when a CR went, whether what somebody added is still there.
 */
import type { StorageChange, StoredObject, StorageTable } from '../../apiserver/storage/storage.ts'
import { healthOf } from '../../kube/health.ts'
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { Live } from '../../operator/live.ts'
import type { SimulatedCluster } from './cluster.ts'
import { type EndState, endStateOf, foreignEntry, foreignKey, endStateName } from './end-state.ts'
import { sampleTable } from '../environment/world.ts'
import type { SimulatedSubject } from './subject.ts'

/** What is beyond the cluster: what the operator's calls reach, and how that stands. */
export interface SimulatedOutside {
  readonly live: Live
  /** How it stands, to be compared at the end; a scene that follows begins with it. */
  state?(): JsonObject
  /** What was done to it: as often as when nothing goes wrong. */
  done?(): JsonObject
}

/** Something that is wrong whatever comes after. */
export interface Incident {
  readonly kind: 'finalizer' | 'foreign' | 'condition' | 'term' | 'drift'
  readonly object: string
  readonly text: string
}

/** What was noted of a run, at its end. */
export interface Recorded {
  readonly end: EndState
  /** By object: how often it came and went. */
  readonly created: ReadonlyMap<string, number>
  readonly deleted: ReadonlyMap<string, number>
  /** How often a person deleted it. */
  readonly removed: ReadonlyMap<string, number>
  readonly incidents: readonly Incident[]
}

export interface Record {
  readonly changedAt: number
  /** What the operator looks after now, and its CRs. */
  objects(): readonly string[]
  find(name: string): { readonly resource: Resource; readonly object: StoredObject } | undefined
  /** All is quiet: what was to be undone outside is undone. */
  rested(): void
  removing(name: string): void
  /** A field that the operator does not put right. */
  drifted(name: string, text: string): void
  added(name: string, what: { readonly uid: string; readonly hasData: boolean }): void
  finish(now: number): Recorded
}

/** Follows what is stored of the kinds that the operator writes. */
export function openRecord(
  { storage, time }: SimulatedCluster,
  subject: SimulatedSubject,
  outside: SimulatedOutside,
): Record {
  const resources = new Map([...subject.controls, ...subject.outputs].map((one) => [sampleTable(one), one]))
  const crTables = new Set(subject.controls.map(sampleTable))
  const created = new Map<string, number>()
  const deleted = new Map<string, number>()
  const removed = new Map<string, number>()
  const foreign = new Map<string, { readonly uid: string; readonly hasData: boolean }>()
  /** CRs that went after having been held, and what was not undone then. */
  const ended: { readonly cr: string; readonly left: readonly string[]; readonly outside: string; later?: string }[] =
    []
  const held = new Set<string>()
  const drifts: Incident[] = []
  const stillborn = new Set<string>()
  const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)

  const objectsIn = (): readonly (readonly [string, StoredObject, string])[] =>
    [...resources.keys()].flatMap((table) =>
      storage
        .table(table)
        .objects()
        .map((object) => [endStateName(table, object), object, table] as const),
    )
  const isStillborn = ({ metadata: { ownerReferences = [] } }: StoredObject): boolean => {
    const crs = [...crTables].flatMap((table) => storage.table(table).objects())
    if (ownerReferences.length === 0) return crs.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
    return ownerReferences.every(({ uid }) => crs.every(({ metadata }) => metadata.uid !== uid))
  }
  const isManaged = ({ metadata }: StoredObject): boolean =>
    metadata.managedFields?.some(({ manager }) => manager === subject.name) ?? false

  storage.onChange((table: StorageTable, { type, object }: StorageChange) => {
    if (!resources.has(table.name)) return
    record.changedAt = time.now()
    const { generateName } = object.metadata
    const name = generateName === undefined ? endStateName(table.name, object) : `${table.name} ${generateName}`
    // What is made for an owner that is gone already is gone at once: nobody who looks at a cache can know better.
    if (type === 'ADDED' && !crTables.has(table.name) && isStillborn(object)) stillborn.add(object.metadata.uid)
    if (!stillborn.has(object.metadata.uid)) {
      if (type === 'ADDED') count(created, name)
      if (type === 'DELETED') count(deleted, name)
    }
    if (!crTables.has(table.name)) return
    // What is outside is from now on for another one: what is undone late can no longer be told from that.
    if (type === 'ADDED') for (const one of ended) one.later ??= one.outside
    if (type !== 'DELETED') {
      if ((object.metadata.finalizers?.length ?? 0) > 0) held.add(object.metadata.uid)
      return
    }
    if (!held.has(object.metadata.uid)) return
    const isOwned = (one: StoredObject): boolean =>
      one.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false
    const left = objectsIn().filter(
      ([, one, where]) => !crTables.has(where) && isManaged(one) && !isOwned(one) && !one.metadata.deletionTimestamp,
    )
    ended.push({ cr: name, left: left.map(([one]) => one), outside: JSON.stringify(outside.state?.() ?? {}) })
  })

  const record: Record & { changedAt: number } = {
    changedAt: time.now(),
    objects: () =>
      objectsIn()
        .filter(([, object, table]) => crTables.has(table) || isManaged(object))
        .map(([name]) => name),
    find(name) {
      for (const [other, object, table] of objectsIn())
        if (other === name) return { resource: resources.get(table)!, object }
      return undefined
    },
    rested() {
      for (const one of ended) one.later ??= JSON.stringify(outside.state?.() ?? {})
    },
    removing: (name) => count(removed, name),
    drifted: (object, text) => void drifts.push({ kind: 'drift', object, text }),
    added: (name, what) => void foreign.set(name, what),
    finish(now) {
      const incidents: Incident[] = [...drifts]
      const there = new Map(objectsIn().map(([name, object]) => [name, object]))
      record.rested()
      for (const { cr, left, outside: then, later } of ended) {
        for (const object of left.filter((name) => !there.has(name))) {
          incidents.push({
            kind: 'finalizer',
            object,
            text: `${cr} went before ${object} was gone: its finalizer was taken away too early`,
          })
        }
        if (then !== later) {
          incidents.push({
            kind: 'finalizer',
            object: cr,
            text: `${cr} went before all outside the cluster was undone: its finalizer was taken away too early`,
          })
        }
      }
      for (const [name, object] of there) {
        const { deletionTimestamp, finalizers = [] } = object.metadata
        if (deletionTimestamp === undefined || finalizers.length === 0) continue
        incidents.push({
          kind: 'finalizer',
          object: name,
          text: `${name} is being deleted, and ${finalizers.join(', ')} still holds it`,
        })
      }
      for (const [name, { uid, hasData }] of foreign) {
        const object = there.get(name)
        if (!object || object.metadata.uid !== uid || object.metadata.deletionTimestamp) continue
        const { annotations = {} } = object.metadata
        const data = object['data']
        if (annotations[foreignKey] !== 'kept' || (hasData && !(isJsonObject(data) && data[foreignEntry] === 'kept'))) {
          incidents.push({ kind: 'foreign', object: name, text: `what somebody else added to ${name} is gone` })
        }
      }
      const isCr = (name: string): boolean => crTables.has(name.slice(0, name.indexOf(' ')))
      if (![...there.keys()].some(isCr)) {
        for (const [name, object] of there) {
          // Claims hold data, and may be kept on purpose.
          if (!isManaged(object) || object.metadata.deletionTimestamp || object.kind === 'PersistentVolumeClaim')
            continue
          incidents.push({
            kind: 'finalizer',
            object: name,
            text: `${name} was made for a CR that is gone, and is still there`,
          })
        }
      }
      incidents.push(...untruths(there, crTables, now))
      return {
        end: endStateOf(storage, [...resources.keys()], crTables),
        created: new Map(created),
        deleted: new Map(deleted),
        removed: new Map(removed),
        incidents,
      }
    },
  }
  return record
}

/** CRs that say something at rest that is not so. */
function* untruths(
  there: ReadonlyMap<string, StoredObject>,
  crTables: ReadonlySet<string>,
  now: number,
): Generator<Incident> {
  for (const [name, cr] of there) {
    if (!crTables.has(name.slice(0, name.indexOf(' ')))) continue
    const status = cr['status']
    if (!isJsonObject(status)) continue
    const { generation, uid } = cr.metadata
    const { observedGeneration } = status
    if (observedGeneration !== undefined && observedGeneration !== generation) {
      yield {
        kind: 'condition',
        object: name,
        text: `${name} is at generation ${generation}, and says at rest that ${JSON.stringify(observedGeneration)} was seen`,
      }
    }
    const conditions = (status['conditions'] ?? []) as readonly { readonly type: string; readonly status: string }[]
    const isReady = conditions.some(
      ({ type, status: is }) => (type === 'Ready' || type === 'Available') && is === 'True',
    )
    if (!isReady) continue
    for (const [child, object] of there) {
      const isOwned = object.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false
      if (!isOwned) continue
      const { status: health, message } = healthOf(object, now)
      if (health === 'InProgress' || health === 'Failed') {
        yield { kind: 'condition', object: name, text: `${name} says it is ready, and ${child} is not: ${message}` }
      }
    }
  }
}
