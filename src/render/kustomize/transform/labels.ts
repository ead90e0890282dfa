/** `labels`, `commonLabels` and `commonAnnotations`. */
import { changeSpecified, type FieldSpec, mergeSpec, mergeSpecs } from '../config/field-spec.ts'
import type { TransformerConfig } from '../config/transformer-config.ts'
import { failingAt } from '../failure.ts'
import type { LabelChange } from '../kustomization.ts'
import { describeId } from '../model/resource-id.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import { isMapping, isNull, isScalar, replaceMember, SharedScalar, unshared } from '../model/value.ts'
import { rewrittenText } from '../model/written-scalar.ts'

/** The fields that an entry of `labels` changes. */
export function labelFields(label: LabelChange, config: TransformerConfig, place: string): readonly FieldSpec[] {
  const own = mergeSpecs(label.fields ?? [], config.labels, place)
  if (label.includeSelectors) return mergeSpecs(own, config.commonLabels, place)
  const templates = label.includeTemplates ? mergeSpecs(own, config.templateLabels, place) : own
  const claims = label.includeVolumeClaimTemplates
    ? mergeSpecs(templates, config.volumeClaimTemplateLabels, place)
    : templates
  return mergeSpec(claims, { path: 'metadata/labels', create: true }, place)
}

/** Sets members of all mappings that the specifications name. */
export function setMembers(
  resources: ResourceMap,
  members: Readonly<Record<string, string>>,
  specs: readonly FieldSpec[],
  place: string,
): void {
  const names = Object.keys(members)
  if (names.length === 0) return
  for (const { object, id } of resources.all) {
    if (!object) continue
    failingAt('KustomizationTransformFailed', `${place} of ${describeId(id)}`, () => {
      const added = new Map(names.map((name) => [name, new SharedScalar(members[name]!)]))
      for (const spec of specs) {
        changeSpecified(
          object,
          id,
          spec,
          (slot) => {
            const map = slot.get()
            if (isNull(map)) return
            if (!isMapping(map)) throw new Error(`${spec.path ?? ''} is no mapping`)
            for (const name of names) {
              const old = unshared(map.get(name))
              const text = members[name]!
              if (old !== undefined) replaceMember(map, name, isScalar(old) ? rewrittenText(old, text) : text)
              else map.set(name, added.get(name)!)
            }
          },
          'mapping',
        )
      }
    })
  }
}
