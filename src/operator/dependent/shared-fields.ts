/**
 * The policy `share`: an object that several field managers write. The controller owns the fields of its desired object and
 * nothing else. What an apply would do is computed here, from the `managedFields` of the live object: an apply that changes
 * nothing is not sent, and fields that another manager has set to another value are left to it and reported.
 */
import { applyObject } from '../../kube/apply/apply.ts'
import { ApplyConflict } from '../../kube/apply/conflict.ts'
import { formatPath, type Path } from '../../kube/apply/path-element.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { operatorErrors } from '../errors.ts'
import type { Apply } from '../plan.ts'
import { withoutField } from './yielded-fields.ts'
import { type Owner, sharedMark, sharedMarkValue, typingOf } from './desired.ts'
import type { Dependent } from './dependent.ts'

/** A field, or an item of a keyed list, that is left to another field manager. */
export interface WithheldField {
  /** `spec.components[name="queue"]` */
  readonly field: string
  readonly manager: string
}

interface SharedWrite {
  /** Undefined: the live object is as it should be. */
  readonly object: UntypedObject | undefined
  readonly withheld: readonly WithheldField[]
}

/** @throws NotOurs if another CR of the same controller shares the object already */
export function sharedWrite<CR extends KubeObject>(
  { kind }: Pick<Dependent<CR>, 'kind'>,
  live: UntypedObject,
  wanted: UntypedObject,
  cr: CR,
  owner: Owner,
): SharedWrite {
  const holder = live.metadata.annotations?.[sharedMark(owner)]
  if (holder !== undefined && holder !== sharedMarkValue(cr, owner)) {
    throw new MusterError(
      operatorErrors.NotOurs,
      `${kind.kind} ${live.metadata.name} has the fields of ${holder} already, and takes those of one ${cr.kind} alone, not of ${cr.metadata.name}, too.`,
    )
  }
  const { applied, withheld } = withoutConflicts(kind, live, wanted, owner)
  return { object: applied && asObject(withUid(asJson(applied), live)), withheld }
}

/** Removes the fields of the CR; undefined if the object has none of them. */
export function withdrawal<CR extends KubeObject>(
  { kind, id }: Pick<Dependent<CR>, 'kind' | 'id'>,
  live: UntypedObject,
  cr: CR,
  owner: Owner,
): Apply | undefined {
  if (live.metadata.annotations?.[sharedMark(owner)] !== sharedMarkValue(cr, owner)) return undefined
  const { name = '', namespace } = live.metadata
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  const bare: JsonObject = { apiVersion: formatApiVersion(kind), kind: kind.kind, metadata }
  const object = asObject(withUid(bare, live))
  return { verb: 'apply', subject: id, resource: kind, object, why: 'changed', force: false }
}

/** The uid is a precondition: an object that was deleted and created again meanwhile is not written to. */
function withUid(object: JsonObject, { metadata: { uid } }: UntypedObject): JsonObject {
  return { ...object, metadata: { ...(object['metadata'] as JsonObject), ...(uid !== undefined && { uid }) } }
}

/** Each round withholds what the one before it found; what is left has fewer fields. */
const mostRounds = 10

function withoutConflicts(
  kind: Dependent<KubeObject>['kind'],
  live: UntypedObject,
  wanted: UntypedObject,
  { operator: manager }: Owner,
): { readonly applied: UntypedObject | undefined; readonly withheld: readonly WithheldField[] } {
  const withheld = new Map<string, WithheldField>()
  let applied: Json = asJson(wanted)
  for (let round = 0; ; round++) {
    try {
      const object = asObject(applied as JsonObject)
      const result = applyObject({ live, applied: object, manager, now: 0, ...typingOf(kind) })
      return { applied: result === live ? undefined : object, withheld: [...withheld.values()] }
    } catch (error) {
      if (!(error instanceof ApplyConflict) || round === mostRounds) throw error
      for (const { path, owner } of error.conflicts) {
        const part = itemOf(path)
        applied = withoutField(applied, part)
        const field = formatPath(part).slice(1)
        withheld.set(field, { field, manager: owner.manager })
      }
    }
  }
}

/** The item of a keyed list that the field is a part of: half an item is no use to its readers. */
function itemOf(path: Path): Path {
  const last = path.findLastIndex(({ kind }) => kind === 'key')
  return last < 0 ? path : path.slice(0, last + 1)
}
