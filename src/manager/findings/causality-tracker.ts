/**
 * Tracks what the operators of one manager did to the objects of a cluster, as evidence for findings.
 *
 * *Origins*: the external change that a change goes back to. A change by a client outside of this manager is a new
 * origin. A write by an operator here, made in a reconcile of that change, has the same origin, and so has a write by
 * another operator here that reacts to that write. A key that is enqueued by no newer origin than it has handled has no
 * reason to write again: this distinguishes operators that trigger each other endlessly from operators that follow a
 * changing input.
 *
 * *Authors*: the reconcile that made a change. A reconcile is not enqueued by its own writes, however late their watch
 * events arrive; every other reconcile is.
 *
 * *Quarrels*: which operators reported a conflict recently. `managedFields` names only the last writer of a field, so
 * it shows that operator to its opponent, but shows no opponent to the operator itself.
 */
import { deleteVersion, isDeleteVersion } from '../../cache/resource-version.ts'
import type { Clock } from '../../clock/clock.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { InputChange, ObjectName } from '../../operator/view/view.ts'
import type { ConflictFinding } from './finding.ts'

export interface CausalityTracker {
  /** The origin of a change: the same for every caller. Later ones are higher. */
  originOf(change: InputChange): number
  /** A new origin, for a cause that is not a change of an object. */
  newOrigin(): number
  /** The reconcile that made a change. Undefined: another client made it, or the response has not arrived yet. */
  authorOf(change: InputChange): ChangeAuthor | undefined
  /** The reconcile that wrote this state of the object, if one did. */
  writerOf(resource: Resource, object: KubeObject): ChangeAuthor | undefined
  /**
   * A reconcile here starts to write an object, in reaction to an origin: events of that object have the same origin
   * until the response arrives. Call the returned function with the version that was written, as `resource-version.ts`
   * has it.
   */
  writing(resource: Resource, name: ObjectName, by: WriteCause): (version: string | undefined) => void
  /** Records that an operator here is in conflict about an object. */
  quarrel(conflict: ConflictFinding): void
  /** Other operators here that recently reported a conflict about one of the same fields. */
  opponents(conflict: ConflictFinding): readonly string[]
}

/** Identifies a reconcile: the controller that runs it, by reference, and the key. */
interface ChangeAuthor {
  readonly controller: object
  readonly key: string
}

interface WriteCause {
  readonly origin: number
  readonly author: ChangeAuthor
}

/** Versions whose origin is remembered: the watch event of a write arrives soon. */
const mostVersions = 4096
const quarrelMs = 300_000

export function createCausalityTracker(clock: Clock): CausalityTracker {
  let latest = 0
  /** By object and version, oldest first. */
  const causes = new Map<string, { readonly origin: number; readonly author: ChangeAuthor | undefined }>()
  const underWay = new Map<string, readonly number[]>()
  const quarrels = new Map<string, readonly ConflictFinding[]>()

  const remember = (version: string, origin: number, author?: ChangeAuthor): void => {
    causes.set(version, { origin, author })
    if (causes.size > mostVersions) causes.delete(causes.keys().next().value!)
  }

  return {
    originOf({ resource, before, after }) {
      const object = after ?? before!
      const place = placeOf(resource, object.metadata)
      const version = after ? stateOf(place, after) : deleteVersion(object.metadata.uid)
      const known = causes.get(version)
      if (known) return known.origin
      const pending = underWay.get(place)
      if (pending) return Math.max(...pending)
      remember(version, ++latest)
      return latest
    },
    authorOf({ resource, before, after, version }) {
      const { metadata } = after ?? before!
      const known = version ? causes.get(versionKey(placeOf(resource, metadata), version)) : undefined
      return known?.author ?? (after ? undefined : causes.get(deleteVersion(metadata.uid))?.author)
    },
    writerOf: (resource, object) => causes.get(stateOf(placeOf(resource, object.metadata), object))?.author,
    newOrigin: () => ++latest,
    writing(resource, name, { origin, author }) {
      const place = placeOf(resource, name)
      underWay.set(place, [...(underWay.get(place) ?? []), origin])
      return (version) => {
        const left = [...underWay.get(place)!]
        left.splice(left.indexOf(origin), 1)
        if (left.length > 0) underWay.set(place, left)
        else underWay.delete(place)
        if (version !== undefined) remember(versionKey(place, version), origin, author)
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

/** A uid is unique; resource versions are within one resource of one server. */
function versionKey(place: string, version: string): string {
  return isDeleteVersion(version) ? version : `${place} ${version}`
}

function stateOf(place: string, { metadata }: KubeObject): string {
  return versionKey(place, metadata.resourceVersion ?? '')
}

function placeOf(resource: Resource, { namespace = '', name = '' }: Partial<ObjectName>): string {
  return `${formatResource(resource)} ${namespace}/${name}`
}

function quarrelPlace({ object: { kind, name } }: ConflictFinding): string {
  return `${kind} ${name.namespace ?? ''}/${name.name}`
}
