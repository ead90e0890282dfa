/**
 * Server-side apply through `/scale`: the applied object is a Scale, and is merged into the Scale of the live object,
 * with the field managers of its replicas. Only the result is written back to the object.
 */
import { applyObject } from '../../kube/apply/apply.ts'
import { builtinDefinitions } from '../../kube/builtin.ts'
import { equalJson, type Json, type JsonObject } from '../../kube/json.ts'
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { checkVersion } from './change.ts'
import type { SchemaOfKind } from '../codec/prune.ts'
import { conflict, StatusError } from '../errors/status-error.ts'
import { scaleOf, withScale } from '../catalog/scale.ts'
import { ownersFromScale, ownersOfScale } from './scale-owners.ts'
import { resetFields } from './reset-fields.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { checkIdentity, type Writing } from './writing.ts'

/** The kind that is applied through `/scale`, instead of that of the resource. */
export function scaleKind(): GroupVersionKind & SchemaOfKind {
  const definitions = builtinDefinitions()
  const schema = definitions['io.k8s.api.autoscaling.v1.Scale']
  return { group: 'autoscaling', version: 'v1', kind: 'Scale', schema, definitions, custom: false }
}

/** The object with the replicas of the applied Scale, and its new managedFields. */
export function applyScale(
  state: ClusterState,
  writing: Writing,
  live: StoredObject,
  { applied, merge }: { readonly applied: UntypedObject; readonly merge: MergeScale },
): UntypedObject {
  const { served, name = '' } = writing
  const scale = scaleOf(live, served.scale!, true)
  const managedFields = ownersOfScale(state, served, live)
  const merged = merge({ ...scale, metadata: { ...scale.metadata, managedFields } })
  checkConversion(served, scale, merged, applied)
  checkIdentity(writing, merged)
  const scaled = withScale(live, merged as unknown as JsonObject, served.scale!)
  checkVersion(served, live, applied)
  const { uid } = applied.metadata
  if (uid && uid !== live.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid}`
    throw conflict({ group: served.group, plural: `${served.plural}/scale` }, name, why)
  }
  const settled = resetFields(writing, live, scaled)
  const owners = ownersFromScale(state, served, live, merged.metadata.managedFields)
  const { managedFields: _before, ...metadata } = settled.metadata
  return { ...settled, metadata: { ...metadata, ...(owners.length > 0 && { managedFields: owners }) } }
}

type MergeScale = (live: UntypedObject) => UntypedObject

export function scaleMerge(
  state: ClusterState,
  { manager }: Writing,
  applied: UntypedObject,
  force: boolean,
): MergeScale {
  const { schema, definitions } = scaleKind()
  const how = { manager, subresource: 'scale', schema, definitions, now: state.clock.now() }
  return (live) => applyObject<UntypedObject>({ ...how, live, applied, force })
}

/** A merged object must be converted to a Scale again, which is only possible for built-in kinds. */
function checkConversion(
  served: ServedResource,
  before: UntypedObject,
  after: UntypedObject,
  applied: UntypedObject,
): void {
  const replicasIn = ({ spec }: UntypedObject): Json | undefined => (spec as JsonObject | undefined)?.['replicas']
  if (equalJson(replicasIn(before), replicasIn(after))) return
  const { name = '', namespace = '' } = applied.metadata
  const where = `failed to convert new object (${namespace}/${name}; autoscaling/v1, Kind=Scale) to proper version`
  if (served.custom) {
    const why = 'request to convert CR to an invalid group/version: autoscaling/v1'
    throw new StatusError(500, '', `${where}: ${why}`)
  }
  const replicas = replicasIn(after)
  if (typeof replicas === 'number' && !Number.isInteger(replicas)) {
    const why = 'unable to convert unstructured object to autoscaling/v1, Kind=Scale: cannot convert float64 to int32'
    throw new StatusError(500, '', `${where}: ${why}`)
  }
}
