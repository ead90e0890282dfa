/**
 * Who owns the replicas of an object that is scaled. A Scale is an object of its own, with a record of its own: whoever
 * owns the replicas of the parent owns those of the Scale, the write is recorded there, and the outcome goes back into
 * the parent's record. On the way back nobody who updates is recognized, since that depends on the version, which is
 * another for a Scale: so the replicas are taken out of the parent's entry, and come back as an entry without a time.
 */
import { type Ownership, decodeManagers, encodeManagers, managerId } from '../../kube/apply/managed-fields.ts'
import { updateObject } from '../../kube/apply/apply.ts'
import { difference, fieldSet, hasPath } from '../../kube/apply/field-set.ts'
import { fieldElement } from '../../kube/apply/path-element.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { ManagedFieldsEntry, UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { readAt } from '../catalog/scale.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import type { Writing } from './writing.ts'

const scaleVersion = 'autoscaling/v1'
const replicasOfScale = ['spec', 'replicas']

/** The record of `live` after an update through scale that made `scaled` of it. */
export function ownersAfterScale(
  state: ClusterState,
  { served, manager }: Writing,
  live: StoredObject,
  scaled: UntypedObject,
): readonly ManagedFieldsEntry[] {
  const place = served.scale!.replicas
  const written = updateObject<UntypedObject>({
    manager,
    subresource: 'scale',
    schema: undefined,
    now: state.clock.now(),
    live: scaleAt(readAt(live as unknown as JsonObject, place), ownersOfScale(state, served, live)),
    updated: scaleAt(readAt(scaled as unknown as JsonObject, place)),
  })
  return ownersFromScale(state, served, live, written.metadata.managedFields)
}

/** The record of the Scale of `live`. */
export function ownersOfScale(
  state: ClusterState,
  served: ServedResource,
  live: StoredObject,
): readonly ManagedFieldsEntry[] {
  const places = placesByVersion(state, served.table)
  const parents = decodeManagers(live.metadata.managedFields)
  const owners = [...parents.values()].filter(({ apiVersion, fields }) => owns(fields, places.get(apiVersion)))
  const known = owners.map((owner): [string, Ownership] => {
    const own = { apiVersion: scaleVersion, fields: fieldSet(replicasOfScale) }
    return [managerId({ ...owner, ...own }), { ...owner, ...own }]
  })
  return encodeManagers(new Map(known))
}

/** The record of `live` after its Scale was written, and has this record now. */
export function ownersFromScale(
  state: ClusterState,
  served: ServedResource,
  live: StoredObject,
  written: readonly ManagedFieldsEntry[] | undefined,
): readonly ManagedFieldsEntry[] {
  const places = placesByVersion(state, served.table)
  const parents = decodeManagers(live.metadata.managedFields)
  const rest = new Map(decodeManagers(written))
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
    const fields = fieldSet(served.scale!.replicas)
    out.set(id, { ...owner, apiVersion: formatApiVersion(served), fields, time })
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
