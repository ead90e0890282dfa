/** `namespace`: of all namespaced objects, of Namespaces themselves, and of fields that name a namespace. */
import { changeSpecified, type FieldSpec, memberSlot, type Slot } from '../config/field-spec.ts'
import { failingAt } from '../failure.ts'
import { describeId } from '../model/resource-id.ts'
import type { BuildResource } from '../model/resource.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import { isMapping, isScalar, textOf, type Value } from '../model/value.ts'
import { rewrittenText } from '../model/written-scalar.ts'

export function setNamespace(
  resources: ResourceMap,
  namespace: string,
  specs: readonly FieldSpec[],
  place: string,
): void {
  for (const resource of resources.all) {
    if (resource.isEmpty) continue
    resource.rememberName()
    failingAt('KustomizationTransformFailed', `${place} of ${describeId(resource.id)}`, () => {
      changeResource(resource, namespace, specs)
    })
  }
  failingAt('KustomizationConflict', place, () => resources.reset(resources.all))
}

const bindings = new Set(['RoleBinding', 'ClusterRoleBinding'])

function changeResource(resource: BuildResource, namespace: string, specs: readonly FieldSpec[]): void {
  const { object, id, apiVersion } = resource
  if (!object) return
  const set = (slot: Slot): void => {
    const old = slot.get()
    if (!isScalar(old)) throw new Error('a field of a namespace is no text')
    slot.set(rewrittenText(old, namespace))
  }
  if (!id.isClusterScoped) changeSpecified(object, id, { path: 'metadata/namespace', create: true }, set, 'scalar')
  const isBinding = bindings.has(id.kind)
  if (isBinding) setSubjects(object.get('subjects'), set)
  for (const spec of specs) {
    if (spec.path === 'metadata/namespace') continue
    if (spec.path === 'metadata/name' && apiVersion !== 'v1') continue
    if (isBinding && bindings.has(spec.kind ?? '') && spec.path === 'subjects/namespace') continue
    changeSpecified(object, id, spec, set, 'scalar')
  }
}

/** The default account of a namespace moves with it; references to other accounts follow their objects. */
function setSubjects(subjects: Value | undefined, set: (slot: Slot) => void): void {
  if (!Array.isArray(subjects)) return
  for (const subject of subjects) {
    if (isMapping(subject) && textOf(subject.get('name')) === 'default') set(memberSlot(subject, 'namespace'))
  }
}
