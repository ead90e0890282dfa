/**
 * Who owns the replicas of an object that is scaled. A Scale is an object of its own, with a record of its own: whoever
 * owns the replicas of the parent owns those of the Scale, the write is recorded there, and the outcome goes back into
 * the parent's record. On the way back nobody who updates is recognized, since that depends on the version, which is
 * another for a Scale: so the replicas are taken out of the parent's entry, and come back as an entry without a time.
 */
import { type Ownership, decodeManagers, encodeManagers, managerId } from '../kube/apply/managed-fields.ts'
import { updateObject } from '../kube/apply/apply.ts'
import { difference, fieldSet, hasPath } from '../kube/apply/field-set.ts'
import { fieldElement } from '../kube/apply/path-element.ts'
import type { Json, JsonObject } from '../kube/json.ts'
import { formatApiVersion } from '../kube/kind.ts'
import type { ManagedFieldsEntry, UntypedObject } from '../kube/object.ts'
import { readAt } from './scale.ts'
import type { ClusterState } from './state.ts'
import type { StoredObject } from './storage.ts'
import type { Writing } from './writing.ts'

const scaleVersion = 'autoscaling/v1'
const replicasOfScale = ['spec', 'replicas']

/** The record of `live` after a write through scale that made `scaled` of it. */
export function ownersAfterScale(
  state: ClusterState,
  writing: Writing,
  live: StoredObject,
  scaled: UntypedObject,
): readonly ManagedFieldsEntry[] {
  const { served, manager } = writing
  const places = placesByVersion(state, served.table)
  const parents = decodeManagers(live.metadata.managedFields)
  const owners = [...parents.values()].filter(({ apiVersion, fields }) => owns(fields, places.get(apiVersion)))
  const known = owners.map((owner): [string, Ownership] => {
    const own = { apiVersion: scaleVersion, fields: fieldSet(replicasOfScale) }
    return [managerId({ ...owner, ...own }), { ...owner, ...own }]
  })
  const record = encodeManagers(new Map(known))
  const place = served.scale!.replicas
  const written = updateObject<UntypedObject>({
    manager,
    subresource: 'scale',
    schema: undefined,
    now: state.clock.now(),
    live: scaleAt(readAt(live as unknown as JsonObject, place), record),
    updated: scaleAt(readAt(scaled as unknown as JsonObject, place)),
  })
  const rest = new Map(decodeManagers(written.metadata.managedFields))
  const out = new Map<string, Ownership>()
  for (const [id, parent] of parents) {
    // Versions that are no longer there are forgotten.
    if (!places.has(parent.apiVersion)) continue
    const path = places.get(parent.apiVersion)
    const isKept = !owns(parent.fields, path) || rest.delete(id)
    const fields = isKept ? parent.fields : difference(parent.fields, fieldSet(path!))
    if (fields.length > 0) out.set(id, { ...parent, fields })
  }
  for (const [id, owner] of rest) {
    if (!owns(owner.fields, replicasOfScale)) continue
    const { time } = parents.get(id) ?? { time: undefined }
    out.set(id, { ...owner, apiVersion: formatApiVersion(served), fields: fieldSet(place), time })
  }
  return encodeManagers(out)
}

/** Zero is not written. */
function scaleAt(replicas: Json | undefined, managedFields?: readonly ManagedFieldsEntry[]): UntypedObject {
  return {
    apiVersion: scaleVersion,
    kind: 'Scale',
    metadata: managedFields ? { managedFields } : {},
    spec: replicas ? { replicas } : {},
  }
}

function owns(fields: Ownership['fields'], path: readonly string[] | undefined): boolean {
  return path !== undefined && hasPath(fields, path.map(fieldElement))
}

/** Where each version of a resource has its replicas; undefined for one that cannot be scaled. */
function placesByVersion({ catalog }: ClusterState, table: string): ReadonlyMap<string, readonly string[] | undefined> {
  const versions = catalog.all().filter((served) => served.table === table)
  return new Map(versions.map((served) => [formatApiVersion(served), served.scale?.replicas]))
}
