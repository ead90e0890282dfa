/**
 * Field ownership of replicas that are written through `/scale`. A Scale is an object with managedFields of its own:
 * the managers of the parent's replicas own those of the Scale, the write is recorded there, and the result is mapped
 * back to the parent's managedFields. On the way back no manager with operation Update matches an existing entry, since
 * entries are matched by version, and a Scale has a different one: so replicas are removed from the parent's entry, and
 * come back as an entry without a time.
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

/** The managedFields of `live` after an update through `/scale` that turned it into `scaled`. */
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

/** The managedFields of the Scale of `live`. */
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

/** The managedFields of `live` after a write of its Scale, which now has these. */
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
    // Entries of versions that are no longer served are dropped.
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

/** Zero replicas are omitted. */
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

/** The path of the replicas in each version of a resource; undefined for a version without `/scale`. */
function placesByVersion({ catalog }: ClusterState, table: string): ReadonlyMap<string, readonly string[] | undefined> {
  const versions = catalog.all().filter((served) => served.table === table)
  return new Map(versions.map((served) => [formatApiVersion(served), served.scale?.replicas]))
}
