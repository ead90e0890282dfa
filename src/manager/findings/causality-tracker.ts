/**
 * History: what the operators of one manager have done to the objects of a cluster, as far as findings go by it.
 *
 * *Origins*: what a change goes back to. Somebody outside changes something: that is a new origin. What an operator here writes
 * in answer goes back to the same one, and so does what another one here writes in answer to that. Whoever is woken by nothing
 * newer than what he has answered before has no reason to write again: so those that wake each other without end are told from
 * those that follow something which changes.
 *
 * *Quarrels*: who has found lately that somebody undoes his work. Whoever wrote last owns the fields, and so ownership
 * names him to the other, and nobody to him.
 */
import type { Clock } from '../../clock/clock.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { InputChange, ObjectName } from '../../operator/view.ts'
import type { ConflictFinding } from './finding.ts'

export interface CausalityTracker {
  /** The origin of a change: the same for everybody who asks. Later ones are higher. */
  originOf(change: InputChange): number
  /** A new origin, for what is no change of an object. */
  newOrigin(): number
  /**
   * Somebody here writes an object, in answer to an origin: what is seen of it until he is answered is taken for his.
   * What is returned is to be called with the answer.
   */
  writing(resource: Resource, name: ObjectName, origin: number): (written: KubeObject | undefined) => void
  /** Notes that somebody here is in conflict about an object. */
  quarrel(conflict: ConflictFinding): void
  /** Others here that have found the same about one of the same fields, lately. */
  opponents(conflict: ConflictFinding): readonly string[]
}

/** Versions whose origin is remembered: the echo of a write comes soon. */
const mostVersions = 4096
const quarrelMs = 300_000

export function createCausalityTracker(clock: Clock): CausalityTracker {
  let latest = 0
  /** By version, oldest first. */
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

/** A delete has no version that anybody was told; the life that ended tells it. */
function versionOf(before: KubeObject | undefined, after: KubeObject | undefined): string {
  return after ? `${after.metadata.resourceVersion}` : `gone ${before?.metadata.uid}`
}

function placeOf(resource: Resource, { namespace = '', name = '' }: Partial<ObjectName>): string {
  return `${formatResource(resource)} ${namespace}/${name}`
}

function quarrelPlace({ object: { kind, name } }: ConflictFinding): string {
  return `${kind} ${name.namespace ?? ''}/${name.name}`
}
