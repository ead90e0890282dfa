/** `configMapGenerator` and `secretGenerator`. */
import { failure } from '../failure.ts'
import type { KustomizationFolder } from '../files.ts'
import { behaviorOf, type GeneratorArguments, type GeneratorOptions } from '../kustomization.ts'
import type { KindTable } from '../model/kind-table.ts'
import { describeId, sameId } from '../model/resource-id.ts'
import { BuildResource } from '../model/resource.ts'
import type { ResourceMap } from '../model/resource-list.ts'
import {
  cloneValue,
  compareTexts,
  isMapping,
  isNull,
  type Mapping,
  mappingAt,
  textOf,
  type Value,
} from '../model/value.ts'
import { readPairs } from './key-values.ts'

/** The object that one entry generates. */
export function generate(
  kind: 'ConfigMap' | 'Secret',
  given: GeneratorArguments,
  common: GeneratorOptions | undefined,
  folder: KustomizationFolder,
  kinds: KindTable,
  place: string,
): BuildResource {
  if (!given.name) throw failure('KustomizationInvalid', place, 'the generator has no name')
  const options = mergedOptions(given.options, common)
  const metadata: Mapping = new Map([['name', given.name]])
  if (given.namespace) metadata.set('namespace', given.namespace)
  for (const field of ['labels', 'annotations'] as const) {
    const entries = Object.entries(options[field] ?? {})
    if (entries.length > 0) metadata.set(field, new Map(entries))
  }
  const object: Mapping = new Map<string, Value>([
    ['apiVersion', 'v1'],
    ['kind', kind],
    ['metadata', metadata],
  ])
  const pairs = readPairs(given, folder, place)
  if (kind === 'Secret') {
    object.set('type', given.type || 'Opaque')
    object.set('data', new Map([...pairs].map(([key, bytes]) => [key, base64(bytes)])))
  } else setConfigMapData(object, pairs)
  if (options.immutable) object.set('immutable', true)
  const resource = new BuildResource(object, kinds)
  resource.needsHash = !options.disableNameSuffixHash
  resource.behavior = behaviorOf(given.behavior)
  return resource
}

/** The options of the kustomization fill in what an entry does not say; true wins. */
function mergedOptions(own: GeneratorOptions = {}, common: GeneratorOptions = {}): GeneratorOptions {
  return {
    labels: { ...common.labels, ...own.labels },
    annotations: { ...common.annotations, ...own.annotations },
    disableNameSuffixHash: common.disableNameSuffixHash || own.disableNameSuffixHash || false,
    immutable: common.immutable || own.immutable || false,
  }
}

function setConfigMapData(object: Mapping, pairs: ReadonlyMap<string, Uint8Array>): void {
  for (const [key, bytes] of [...pairs].toSorted(([a], [b]) => compareTexts(a, b))) {
    const text = utf8Text(bytes)
    const field = text === undefined ? 'binaryData' : 'data'
    const map = mappingAt(object, field) ?? new Map<string, Value>()
    map.set(key, text ?? base64(bytes))
    object.set(field, map)
  }
}

/** Undefined if the bytes are not valid UTF-8. */
function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** In lines of seventy characters, if it is longer. */
function base64(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('base64')
  return text.length < lineLength ? text : text.replaceAll(/.{1,70}/g, '$&\n')
}

const lineLength = 70

/** Adds a generated object, or merges it with the one that it is for. */
export function absorb(resources: ResourceMap, generated: BuildResource, place: string): void {
  const { id, behavior } = generated
  const matches = resources.withAnyId((other) => sameId(id, other))
  const [old, ...others] = matches
  if (others.length > 0) throw failure('KustomizationConflict', place, `several objects are ${describeId(id)}`)
  if (!old) {
    if (behavior === 'merge' || behavior === 'replace') {
      throw failure('KustomizationInvalid', place, `there is no ${describeId(id)} to ${behavior}`)
    }
    resources.append([generated])
    return
  }
  if (behavior !== 'merge' && behavior !== 'replace') {
    const cure = 'set its behavior to merge or replace, or rename it'
    throw failure('KustomizationConflict', place, `there is already a ${describeId(id)}: ${cure}`)
  }
  takeMetadata(generated, old)
  if (behavior === 'merge') {
    mergeData(generated, old)
    generated.origin = old.origin ?? generated.origin
  }
  resources.replace(old, generated)
}

/** Name and history are those of the old object; labels and annotations are merged. */
function takeMetadata(generated: BuildResource, old: BuildResource): void {
  for (const field of ['labels', 'annotations'] as const) {
    generated.setTextMap(field, new Map([...old.textMap(field), ...generated.textMap(field)]))
  }
  const { name, namespace } = old
  generated.setName(name)
  generated.setNamespace(namespace)
  generated.formerNames = old.formerNames
  generated.prefixes = old.prefixes
  generated.suffixes = old.suffixes
  generated.varNames = old.varNames
  generated.needsHash = generated.needsHash && old.needsHash
  generated.behavior = old.behavior
  for (const transformation of old.transformations) generated.transformations.push(transformation)
}

function mergeData(generated: BuildResource, old: BuildResource): void {
  const data = new Map([...dataOf(old, generated.kind === 'Secret'), ...textsIn(generated.object?.get('data'))])
  const binary = new Map([...textsIn(old.object?.get('binaryData')), ...textsIn(generated.object?.get('binaryData'))])
  for (const [field, map] of [
    ['data', data],
    ['binaryData', binary],
  ] as const) {
    generated.object?.delete(field)
    if (map.size > 0) generated.object?.set(field, new Map<string, Value>(map))
  }
}

function textsIn(value: Value | undefined): readonly [string, string][] {
  return isMapping(value) ? [...value].map(([key, member]) => [key, isNull(member) ? '' : textOf(member)]) : []
}

/** The data of a Secret includes its `stringData`. */
function dataOf(resource: BuildResource, isSecret: boolean): readonly [string, string][] {
  const data = textsIn(cloneValue(resource.object?.get('data') ?? null))
  if (!isSecret || resource.apiVersion !== 'v1') return data
  const plain = textsIn(resource.object?.get('stringData'))
  return [...data, ...plain.map(([key, text]): [string, string] => [key, base64(Buffer.from(text))])]
}
