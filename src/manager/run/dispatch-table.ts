/**
 * Maps a watch event to the keys that must be reconciled: those whose last reconcile read the changed object. Each
 * reconcile records its reads; the table finds the readers of an object by its name, its owners, and the lists it is
 * part of, those with a label selector by its labels, without looking at other keys. The reads of a reconcile in progress
 * count, too.
 */
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { formatLabels, type LabelSelector } from '../../kube/selector/selector.ts'
import { readConcerns, type InputChange, type ObjectName, type ViewRead } from '../../operator/view/view.ts'
import { ReaderIndex } from './reader-index.ts'

export interface DispatchTable {
  /** A reconcile of the key begins; `reads` grows while it is in progress. */
  begin(key: string, reads: readonly ViewRead[]): void
  /** The reconcile has ended: replaces the recorded reads of `key`. */
  record(key: string, reads: readonly ViewRead[]): void
  forget(key: string): void
  /** Keys that read something that this change affects. */
  concerned(change: InputChange): ReadonlySet<string>
  /** Keys that got the object of this name, whether it existed or not. */
  askedByName(resource: Resource, name: ObjectName): ReadonlySet<string>
  /** Keys that checked whether the kind is served. */
  askedFor(resource: Resource): ReadonlySet<string>
}

export function createDispatchTable(): DispatchTable {
  const readers = new ReaderIndex()
  const places = new Map<string, ReadonlySet<string>>()
  /** The keys of labels that lists select by, with the number of index entries of each. */
  const labelKeys = new Map<string, number>()
  const inProgress = new Map<string, readonly ViewRead[]>()

  /** These keys, and those that are reading the same right now. */
  const withReading = (keys: Iterable<string>, isSame: (read: ViewRead) => boolean): ReadonlySet<string> => {
    const found = new Set(keys)
    for (const [key, reads] of inProgress) if (!found.has(key) && reads.some(isSame)) found.add(key)
    return found
  }

  const countLabel = (place: string, by: number): void => {
    const key = labelKeyOf(place)
    if (key === undefined) return
    const count = (labelKeys.get(key) ?? 0) + by
    if (count > 0) labelKeys.set(key, count)
    else labelKeys.delete(key)
  }

  /** Index entries of lists that select by a label that the object has. */
  const labelPlaces = (of: Resource, { metadata }: KubeObject): readonly string[] => {
    const { labels, namespace = '' } = metadata
    if (labels === undefined || labelKeys.size === 0) return []
    const resource = formatResource(of)
    return Array.from(labelKeys.keys())
      .filter((key) => Object.hasOwn(labels, key))
      .flatMap((key) => [namespace, '*'].map((where) => `list ${resource} ${where} ${key}=${labels[key]}`))
  }

  const forget = (key: string): void => {
    for (const place of places.get(key) ?? []) {
      if (readers.remove(place, key)) countLabel(place, -1)
    }
    places.delete(key)
  }

  return {
    forget,
    begin: (key, reads) => void inProgress.set(key, reads),
    record(key, reads) {
      forget(key)
      inProgress.delete(key)
      const taken = new Set<string>()
      const known = new Set<string>()
      for (const read of reads) {
        const place = placeOf(read)
        // A reconcile may read the same several times; the table lives as long as the CR.
        const identity = read.what === 'list' ? `${place} ${formatLabels(read.labels)}` : place
        if (known.has(identity)) continue
        known.add(identity)
        taken.add(place)
        if (readers.add(place, key, read)) countLabel(place, 1)
      }
      if (taken.size > 0) places.set(key, taken)
    },
    concerned(change) {
      const found = new Set<string>()
      for (const object of [change.before, change.after]) {
        if (!object) continue
        for (const place of [...placesOf(change.resource, object), ...labelPlaces(change.resource, object)]) {
          for (const [key, reads] of readers.at(place)) {
            if (!found.has(key) && reads.some((read) => readConcerns(read, change))) found.add(key)
          }
        }
      }
      return withReading(found, (read) => readConcerns(read, change))
    },
    askedByName(resource, name) {
      const place = placeOf({ what: 'object', resource, name })
      return withReading(readers.keysAt(place), (read) => placeOf(read) === place)
    },
    askedFor(resource) {
      const place = placeOf({ what: 'kind', resource })
      return withReading(readers.keysAt(place), (read) => placeOf(read) === place)
    },
  }
}

function placeOf(read: ViewRead): string {
  const resource = formatResource(read.resource)
  switch (read.what) {
    case 'object':
      return `object ${resource} ${read.name.namespace ?? ''}/${read.name.name}`
    case 'list':
      return `list ${resource} ${read.namespace ?? '*'}${labelIn(read.labels)}`
    case 'owned':
      return `owned ${resource} ${read.uid}`
    default:
      return `kind ${resource}`
  }
}

const isOneOf: ReadonlySet<string> = new Set(['=', '==', 'in'])

/** A label that every selected object has: one is enough to be found by. */
function labelIn(selector: LabelSelector): string {
  const equal = selector.find(({ operator, values }) => isOneOf.has(operator) && values.length === 1)
  return equal ? ` ${equal.key}=${equal.values[0]}` : ''
}

/** The key of the label in an index entry. */
function labelKeyOf(place: string): string | undefined {
  if (!place.startsWith('list ')) return undefined
  const end = place.lastIndexOf('=')
  return end < 0 ? undefined : place.slice(place.lastIndexOf(' ') + 1, end)
}

/** Index entries under which readers of an object may be recorded. */
function placesOf(of: Resource, object: KubeObject): readonly string[] {
  const known = latest.find((one) => one.object === object && one.of === of)
  if (known) return known.places
  const resource = formatResource(of)
  const { name, namespace = '', ownerReferences = [] } = object.metadata
  const places = [
    `object ${resource} ${namespace}/${name}`,
    `list ${resource} ${namespace}`,
    `list ${resource} *`,
    ...ownerReferences.map(({ uid }) => `owned ${resource} ${uid}`),
  ]
  latest = [{ object, of, places }, ...latest.slice(0, 1)]
  return places
}

/**
 * The index entries of the two objects of the latest change: fifty tables look up the same ones in a row, and strings
 * that were looked up before are found faster.
 */
let latest: readonly { readonly object: KubeObject; readonly of: Resource; readonly places: readonly string[] }[] = []
