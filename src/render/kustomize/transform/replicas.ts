/** `replicas`: the scale of workloads, by name. */
import { changeSpecified, type FieldSpec } from '../config/field-spec.ts'
import { failingAt, failure } from '../failure.ts'
import { isSelected } from '../model/resource-id.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import { isScalar } from '../model/value.ts'
import { quotedLike } from '../model/written-scalar.ts'

export function setReplicas(
  resources: ResourceMap,
  name: string,
  count: number | bigint,
  specs: readonly FieldSpec[],
  place: string,
): void {
  let isFound = false
  for (const spec of specs) {
    for (const { object, id } of resources.withAnyId((one) => one.name === name && isSelected(one, spec))) {
      isFound = true
      if (!object) continue
      failingAt('KustomizationTransformFailed', place, () => {
        changeSpecified(
          object,
          id,
          spec,
          (slot) => {
            const old = slot.get()
            if (!isScalar(old)) throw new Error(`${spec.path ?? ''} is no number`)
            slot.set(quotedLike(old, count))
          },
          'scalar',
        )
      })
    }
  }
  if (isFound) return
  const kinds = specs.map(({ kind = 'any kind' }) => kind).join(', ')
  throw failure('KustomizationTransformFailed', place, `there is no object "${name}" of kind ${kinds}`)
}
