/** `replacements`: a value of one object, or a given one, is written into fields of others. */
import { readYamlDocuments } from '../../../kube/yaml/yaml.ts'
import type { Slot } from '../config/field-spec.ts'
import { failingAt, failure } from '../failure.ts'
import type { KustomizationFolder } from '../files.ts'
import {
  type ReplacementOptions,
  type Replacement,
  replacementFields,
  type ReplacementSource,
} from '../kustomization.ts'
import type { BuildResource } from '../model/resource.ts'
import { describeId, isSelected, type ResourceId } from '../model/resource-id.ts'
import { type ResourceMap, objectMatcher } from '../model/resource-list.ts'
import { splitFieldPath } from '../model/path.ts'
import { cloneValue, isEmptyValue, isMapping, isScalar, textOf, unshared, type Value } from '../model/value.ts'
import { documentText, untypedScalar, withText } from '../model/written-scalar.ts'
import { readFields } from '../typed-fields.ts'
import { type Creation, findSlots, lookUp } from './field-path.ts'
import { setInsideText } from './structured-text.ts'

/** The replacements of a kustomization; those in files are read. */
export function readReplacements(
  replacements: readonly Replacement[],
  folder: KustomizationFolder,
  place: string,
): readonly Replacement[] {
  return replacements.flatMap((replacement, index) => {
    const { path, source, targets = [] } = replacement
    if (!path) return [replacement]
    const where = `${place}[${index}]`
    if (source || targets.length > 0) {
      throw failure('KustomizationInvalid', where, 'path, and source or targets, are both set')
    }
    const file = folder.pathOf(path)
    const text = folder.text(path, where)
    const [document = null] = failingAt('KustomizationInvalid', file, () =>
      readYamlDocuments(text, { source: file, keepsEnd: true }),
    )
    const list = Array.isArray(document) ? document : [document]
    return list.map((one) => readFields(one, replacementFields, file) as Replacement)
  })
}

export function replaceFields(resources: ResourceMap, replacements: readonly Replacement[], place: string): void {
  for (const [index, replacement] of replacements.entries()) {
    const where = `${place}[${index}]`
    const { source, sourceValue, targets = [] } = replacement
    if ((!source && sourceValue === undefined) || targets.length === 0) {
      throw failure('KustomizationInvalid', where, 'a replacement needs a source and targets')
    }
    if (source && sourceValue !== undefined) {
      throw failure('KustomizationInvalid', where, 'source and sourceValue are both set')
    }
    const given = untypedScalar(sourceValue ?? '')
    const read = source ? sourceOf(resources, source, where) : (): Value => given
    for (const [at, target] of targets.entries()) writeTarget(resources, target, read, `${where}.targets[${at}]`)
  }
}

/** Reads the value anew for every target: one of the targets may be the source itself. */
function sourceOf(resources: ResourceMap, source: ReplacementSource, place: string): () => Value {
  const where = `${place}.source`
  const matches = resources.all.filter((resource) => idsOf(resource).some((id) => isFrom(id, source)))
  const [only, ...others] = matches
  if (!only?.object || others.length > 0) {
    const number = only ? `${matches.length} objects match` : 'no object matches'
    throw failure(
      'KustomizationTransformFailed',
      where,
      `${number} ${describeId({ group: '', version: '', kind: '', name: '', namespace: '', ...source })}`,
    )
  }
  const path = source.fieldPath || 'metadata.name'
  const value = failingAt('KustomizationTransformFailed', where, () =>
    lookUp(only.object ?? null, splitFieldPath(path)),
  )
  if (value === undefined || isEmptyValue(value)) {
    throw failure('KustomizationTransformFailed', where, `${describeId(only.id)} has no ${path}`)
  }
  const part = refined(value, source.options, where)
  return () => (part === value ? (lookUp(only.object ?? null, splitFieldPath(path)) ?? value) : part)
}

function isFrom(id: ResourceId, source: ReplacementSource): boolean {
  const { name, namespace } = source
  return (
    (!name || name === id.name) && (!namespace || namespace === (id.namespace || 'default')) && isSelected(id, source)
  )
}

function idsOf(resource: BuildResource): readonly ResourceId[] {
  return [resource.id, ...resource.formerIds]
}

/** One part of a text between delimiters. */
function refined(value: Value, { delimiter, index = 0 }: ReplacementOptions = {}, place: string): Value {
  if (!delimiter) return value
  if (!isScalar(value)) throw failure('KustomizationTransformFailed', place, 'a delimiter needs a text')
  const part = textOf(value).split(delimiter)[index]
  if (part === undefined) {
    throw failure('KustomizationTransformFailed', place, `options.index ${index} is beyond the parts of the value`)
  }
  return withText(unshared(value), part)
}

function writeTarget(
  resources: ResourceMap,
  target: NonNullable<Replacement['targets']>[number],
  read: () => Value,
  place: string,
): void {
  const { select, reject = [], options } = target
  if (!select) throw failure('KustomizationInvalid', place, 'a target needs select')
  const selected = objectMatcher(select, `${place}.select`)
  const rejected = reject.map((one, index) => ({ one, matches: objectMatcher(one, `${place}.reject[${index}]`) }))
  const paths = target.fieldPaths && target.fieldPaths.length > 0 ? target.fieldPaths : ['metadata.name']
  for (const resource of resources.all) {
    const ids = idsOf(resource)
    const fits = ({ kind, name, namespace }: typeof selected): boolean =>
      ids.some((id) => kind(id) && name(id.name) && namespace(id.namespace))
    const isRejected = rejected.some(({ one, matches }) => {
      const { labelSelector, annotationSelector, ...id } = one
      const byLabels = Boolean(labelSelector || annotationSelector) && matches.labels(resource)
      return byLabels || (Object.values(id).some(Boolean) && fits(matches))
    })
    if (isRejected || !selected.labels(resource) || !fits(selected)) continue
    for (const path of paths) {
      const where = `${place} for ${describeId(resource.id)}`
      failingAt('KustomizationTransformFailed', where, () => writeField(resource, path, read, options))
    }
  }
}

function writeField(resource: BuildResource, path: string, read: () => Value, options: ReplacementOptions = {}): void {
  const object = resource.object ?? new Map<string, Value>()
  const parts = splitFieldPath(path)
  const create = options.create ? kindOf(read()) : undefined
  if (setInsideText(object, parts, create, (slot) => setValue(slot, read(), options))) return
  const slots = findSlots({ get: () => object, set: () => undefined }, parts, create)
  if (slots.length === 0) throw new Error(`there is no field ${path}${create ? '' : '; options.create would add it'}`)
  for (const slot of slots) setValue(slot, read(), options)
}

function kindOf(value: Value): Exclude<Creation, undefined> {
  return isMapping(value) ? 'mapping' : Array.isArray(value) ? 'list' : 'scalar'
}

function setValue(slot: Slot, value: Value, { delimiter, index = 0 }: ReplacementOptions): void {
  const old = slot.get()
  if (!delimiter) {
    // A mapping or a list has no text.
    slot.set(isScalar(old) ? withText(old, isScalar(value) ? documentText(unshared(value)) : '') : cloneValue(value))
    return
  }
  if (!isScalar(old)) throw new Error('a delimiter needs a field that is a text')
  const parts = documentText(old).split(delimiter)
  const text = textOf(value)
  if (index < 0) parts.unshift(text)
  else if (index >= parts.length) parts.push(text)
  else parts[index] = text
  slot.set(withText(old, parts.join(delimiter)))
}
