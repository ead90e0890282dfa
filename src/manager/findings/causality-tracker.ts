/**
 * Tracks what the operators of one manager did to the objects of a cluster, as evidence for findings.
 *
 * *Origins*: the external change that a change goes back to. A change by a client outside of this manager is a new
 * origin. A write by an operator here, made in a reconcile of that change, has the same origin, and so has a write by
 * another operator here that reacts to that write. A key that is enqueued by no newer origin than it has handled has no
 * reason to write again: this distinguishes operators that trigger each other endlessly from operators that follow a
 * changing input.
 *
 * *Quarrels*: which operators reported a conflict recently. `managedFields` names only the last writer of a field, so
 * it shows that operator to its opponent, but shows no opponent to the operator itself.
 */
import type { Clock } from '../../clock/clock.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { InputChange, ObjectName } from '../../operator/view.ts'
import type { ConflictFinding } from './finding.ts'

export interface CausalityTracker {
  /** The origin of a change: the same for every caller. Later ones are higher. */
  originOf(change: InputChange): number
  /** A new origin, for a cause that is not a change of an object. */
  newOrigin(): number
  /**
   * An operator here starts to write an object, in reaction to an origin: events of that object count as its own until
   * the response arrives. Call the returned function with the response.
   */
  writing(resource: Resource, name: ObjectName, origin: number): (written: KubeObject | undefined) => void
  /** Records that an operator here is in conflict about an object. */
  quarrel(conflict: ConflictFinding): void
  /** Other operators here that recently reported a conflict about one of the same fields. */
  opponents(conflict: ConflictFinding): readonly string[]
}

/** Versions whose origin is remembered: the watch event of a write arrives soon. */
const mostVersions = 4096
const quarrelMs = 300_000

export function createCausalityTracker(clock: Clock): CausalityTracker {
  let latest = 0
  /** By resourceVersion, oldest first. */
  const origins = new Map<string, number>()
  const underWay = new Map<string, readonly number[]>()
  const quarrels = new Map<string, readonly ConflictFinding[]>()

  const remember = (version: string, origin: number): void => {
    origins.set(version, origin)
    if (origins.size > mostVersions) origins.delete(origins.keys().next().value!)
  }

  return {
    originOf({ resource, before, after }) {
      const version = versionOf(before, after)
      const known = origins.get(version)
      if (known !== undefined) return known
      const name = (after ?? before)?.metadata
      const pending = underWay.size > 0 && name ? underWay.get(placeOf(resource, name)) : undefined
      if (pending) return Math.max(...pending)
      remember(version, ++latest)
      return latest
    },
    newOrigin: () => ++latest,
    writing(resource, name, origin) {
      const place = placeOf(resource, name)
      underWay.set(place, [...(underWay.get(place) ?? []), origin])
      return (written) => {
        const left = [...underWay.get(place)!]
        left.splice(left.indexOf(origin), 1)
        if (left.length > 0) underWay.set(place, left)
        else underWay.delete(place)
        if (written) remember(versionOf(undefined, written), origin)
      }
    },
    quarrel(conflict) {
      const place = quarrelPlace(conflict)
      const recent = (quarrels.get(place) ?? []).filter(({ at }) => clock.now() - at < quarrelMs)
      quarrels.set(place, [...recent.filter(({ operator }) => operator !== conflict.operator), conflict])
      for (const [other, found] of quarrels) {
        if (found.every(({ at }) => clock.now() - at >= quarrelMs)) quarrels.delete(other)
      }
    },
    opponents(conflict) {
      const { operator, fields } = conflict
      return (quarrels.get(quarrelPlace(conflict)) ?? [])
        .filter((other) => other.operator !== operator && clock.now() - other.at < quarrelMs)
        .filter((other) => other.fields.some((field) => fields.includes(field)))
        .map((other) => other.operator)
    },
  }
}

/** The resourceVersion of a delete is not known to the writer: the uid identifies it. */
function versionOf(before: KubeObject | undefined, after: KubeObject | undefined): string {
  return after ? `${after.metadata.resourceVersion}` : `gone ${before?.metadata.uid}`
}

function placeOf(resource: Resource, { namespace = '', name = '' }: Partial<ObjectName>): string {
  return `${formatResource(resource)} ${namespace}/${name}`
}

function quarrelPlace({ object: { kind, name } }: ConflictFinding): string {
  return `${kind} ${name.namespace ?? ''}/${name.name}`
}
