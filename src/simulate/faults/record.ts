/**
 * The record of a run: follows the stored objects of the kinds that an operator writes, and records what the end state
 * does not show: creations and deletions, objects left when a CR was deleted, fields of other managers that were
 * removed.
 */
import type { StorageChange, StoredObject, StorageTable } from '../../apiserver/storage/storage.ts'
import { healthOf } from '../../kube/meta/health.ts'
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { Live } from '../../operator/live.ts'
import type { SimulatedCluster } from './cluster.ts'
import { type EndState, endStateOf, foreignEntry, foreignKey, endStateName } from './end-state.ts'
import { sampleTable } from '../environment/world.ts'
import type { SimulatedSubject } from './subject.ts'

/** A simulated outside: what the operator's calls reach. */
export interface SimulatedOutside {
  readonly live: Live
  /** Its state, compared at the end; the next scenario starts with it. */
  state?(): JsonObject
  /** Its effects, compared with a run without faults. */
  done?(): JsonObject
}

/** A violation, whatever happens later. */
export interface Incident {
  readonly kind: 'finalizer' | 'foreign' | 'condition' | 'term' | 'drift'
  readonly object: string
  readonly text: string
}

/** The recorded facts of a run. */
export interface Recorded {
  readonly end: EndState
  /** The number of creations, by object. */
  readonly created: ReadonlyMap<string, number>
  readonly deleted: ReadonlyMap<string, number>
  /** The number of deletions by a user. */
  readonly removed: ReadonlyMap<string, number>
  readonly incidents: readonly Incident[]
}

export interface Record {
  readonly changedAt: number
  /** The operator's objects and CRs. */
  objects(): readonly string[]
  find(name: string): { readonly resource: Resource; readonly object: StoredObject } | undefined
  /** The cluster is at rest: clean-up outside is complete. */
  rested(): void
  removing(name: string): void
  /** A field whose drift the operator does not correct. */
  drifted(name: string, text: string): void
  added(name: string, what: { readonly uid: string; readonly hasData: boolean }): void
  finish(now: number): Recorded
}

/** Follows the stored objects of the operator's kinds. */
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
  /** CRs with a finalizer that were deleted, and what was not cleaned up then. */
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
    // An object whose owner is already deleted is garbage-collected at once: a cache may be stale, so it does not
    // count.
    if (type === 'ADDED' && !crTables.has(table.name) && isStillborn(object)) stillborn.add(object.metadata.uid)
    if (!stillborn.has(object.metadata.uid)) {
      if (type === 'ADDED') count(created, name)
      if (type === 'DELETED') count(deleted, name)
    }
    if (!crTables.has(table.name)) return
    // From now on the outside state belongs to a new CR, so a late clean-up can no longer be detected.
    if (type === 'ADDED') for (const one of ended) one.later ??= one.outside
    if (type !== 'DELETED') {
      if ((object.metadata.finalizers?.length ?? 0) > 0) held.add(object.metadata.uid)
      return
    }
    if (!held.has(object.metadata.uid)) return
    const isOwned = (one: StoredObject): boolean =>
      one.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false
    // What is left may belong to a CR of the same kind that still exists: there is no telling.
    const hasSibling = objectsIn().some(
      ([, one, where]) => where === table.name && one.metadata.uid !== object.metadata.uid,
    )
    const left = objectsIn().filter(
      ([, one, where]) => !crTables.has(where) && isManaged(one) && !isOwned(one) && !one.metadata.deletionTimestamp,
    )
    ended.push({
      cr: name,
      left: hasSibling ? [] : left.map(([one]) => one),
      outside: JSON.stringify(outside.state?.() ?? {}),
    })
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
            text: `${cr} was deleted before ${object} was: its finalizer was removed too early`,
          })
        }
        if (then !== later) {
          incidents.push({
            kind: 'finalizer',
            object: cr,
            text: `${cr} was deleted before everything outside of the cluster was cleaned up: its finalizer was removed too early`,
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
          incidents.push({ kind: 'foreign', object: name, text: `what another client added to ${name} is gone` })
        }
      }
      const isCr = (name: string): boolean => crTables.has(name.slice(0, name.indexOf(' ')))
      if (![...there.keys()].some(isCr)) {
        for (const [name, object] of there) {
          // PersistentVolumeClaims hold data, and may be kept on purpose.
          if (!isManaged(object) || object.metadata.deletionTimestamp || object.kind === 'PersistentVolumeClaim')
            continue
          incidents.push({
            kind: 'finalizer',
            object: name,
            text: `${name} was made for a CR that is gone, and is still there`,
          })
        }
      }
      incidents.push(...falseConditions(there, crTables, now))
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

/** False conditions of CRs at rest. */
function* falseConditions(
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
