/** `namePrefix`, `nameSuffix`, and the hash at the end of generated names. */
import { createHash } from 'node:crypto'
import { formatGoJson } from '../../../kube/go/go-text.ts'
import { isJsonObject, type Json } from '../../../kube/json.ts'
import { changeSpecified, type FieldSpec } from '../config/field-spec.ts'
import { failingAt } from '../failure.ts'
import { describeId, isSelected, type KindSelector } from '../model/resource-id.ts'
import type { BuildResource } from '../model/resource.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import { isScalar, jsonOf, textOf, type Value } from '../model/value.ts'
import { rewritten } from '../model/written-scalar.ts'

/** Kinds whose names have a meaning. */
const unchanged: readonly KindSelector[] = [
  { kind: 'CustomResourceDefinition' },
  { group: 'apiregistration.k8s.io', kind: 'APIService' },
  { kind: 'Namespace' },
]

export function addPrefix(resources: ResourceMap, prefix: string, specs: readonly FieldSpec[]): void {
  renameAll(
    resources,
    specs,
    (name) => prefix + name,
    (resource) => {
      resource.prefixes = [...resource.prefixes, prefix]
    },
  )
}

export function addSuffix(resources: ResourceMap, suffix: string, specs: readonly FieldSpec[]): void {
  renameAll(
    resources,
    specs,
    (name) => name + suffix,
    (resource) => {
      resource.suffixes = [...resource.suffixes, suffix]
    },
  )
}

function renameAll(
  resources: ResourceMap,
  specs: readonly FieldSpec[],
  rename: (name: string) => string,
  note: (resource: BuildResource) => void,
): void {
  for (const resource of resources.all) {
    const { originalId } = resource
    if (unchanged.some((kind) => isSelected(originalId, kind))) continue
    for (const spec of specs.filter((one) => isSelected(originalId, one))) {
      if (spec.path === 'metadata/name') {
        note(resource)
        resource.rememberName()
      }
      if (!resource.object) continue
      changeSpecified(
        resource.object,
        resource.id,
        spec,
        (slot) => {
          const old = slot.get()
          if (!isScalar(old)) throw new Error(`${spec.path ?? ''} is no text`)
          slot.set(rewritten(old, rename(textOf(old))))
        },
        'scalar',
      )
    }
  }
}

/** Generated objects get a hash of their content: a change of the content is a change of the name. */
export function addHashes(resources: ResourceMap): void {
  for (const resource of resources.all) {
    if (!resource.needsHash) continue
    const place = `the hash of ${describeId(resource.id)}`
    const hash = failingAt('KustomizationTransformFailed', place, () => contentHash(resource))
    resource.rememberName()
    resource.setName(`${resource.name}-${hash}`)
  }
}

/** Of the data alone: in kustomize the name, although it is a part of the text, is always empty. */
function contentHash(resource: BuildResource): string {
  const { object } = resource
  const value = (name: string): Json => textOrJson(object?.get(name))
  const optional = (name: string): Readonly<Record<string, Json>> =>
    isJsonObject(value(name)) ? { [name]: value(name) } : {}
  const content: Json =
    resource.kind === 'Secret'
      ? { kind: 'Secret', type: value('type'), name: '', data: value('data'), ...optional('stringData') }
      : { kind: 'ConfigMap', name: '', data: value('data'), ...optional('binaryData') }
  const hex = createHash('sha256').update(formatGoJson(content)).digest('hex')
  // No vowels, and no digits that look like letters: a hash is never a word.
  const letters: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' }
  return Array.from(hex.slice(0, 10), (digit) => letters[digit] ?? digit).join('')
}

function textOrJson(value: Value | undefined): Json {
  if (value === undefined) return ''
  return isScalar(value) ? textOf(value) : jsonOf(value)
}
