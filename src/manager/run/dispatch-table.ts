/**
 * Maps a watch event to the keys that must be reconciled: those whose last reconcile read the changed object. Each
 * reconcile records its reads; the table finds the readers of an object by its name, its owners and the lists it is
 * part of, without looking at other keys.
 */
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { readConcerns, type InputChange, type ObjectName, type ViewRead } from '../../operator/view.ts'

export interface DispatchTable {
  /** Replaces the recorded reads of `key`. */
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
  const readers = new Map<string, Map<string, ViewRead[]>>()
  const places = new Map<string, ReadonlySet<string>>()

  const forget = (key: string): void => {
    for (const place of places.get(key) ?? []) {
      const keys = readers.get(place)
      keys?.delete(key)
      if (keys?.size === 0) readers.delete(place)
    }
    places.delete(key)
  }

  return {
    forget,
    record(key, reads) {
      forget(key)
      const taken = new Set<string>()
      for (const read of reads) {
        const place = placeOf(read)
        taken.add(place)
        let keys = readers.get(place)
        if (!keys) readers.set(place, (keys = new Map()))
        const known = keys.get(key)
        if (known) known.push(read)
        else keys.set(key, [read])
      }
      if (taken.size > 0) places.set(key, taken)
    },
    concerned(change) {
      const found = new Set<string>()
      for (const object of [change.before, change.after]) {
        for (const place of object ? placesOf(change.resource, object) : []) {
          for (const [key, reads] of readers.get(place) ?? []) {
            if (!found.has(key) && reads.some((read) => readConcerns(read, change))) found.add(key)
          }
        }
      }
      return found
    },
    askedByName: (resource, name) => new Set(readers.get(placeOf({ what: 'object', resource, name }))?.keys()),
    askedFor: (resource) => new Set(readers.get(`kind ${formatResource(resource)}`)?.keys()),
  }
}

function placeOf(read: ViewRead): string {
  const resource = formatResource(read.resource)
  switch (read.what) {
    case 'object':
      return `object ${resource} ${read.name.namespace ?? ''}/${read.name.name}`
    case 'list':
      return `list ${resource} ${read.namespace ?? '*'}`
    case 'owned':
      return `owned ${resource} ${read.uid}`
    default:
      return `kind ${resource}`
  }
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
