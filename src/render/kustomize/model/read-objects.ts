/** Files of objects: YAML or JSON, several documents, lists of objects at any depth. */
import { readYamlValues } from '../../../kube/yaml/yaml.ts'
import { failingAt, failure } from '../failure.ts'
import type { KindTable } from './kind-table.ts'
import { BuildResource } from './resource.ts'
import { isEmptyValue, isMapping, isNull, type Mapping, mappingAt, textOf, type Value, valueOf } from './value.ts'

/** All objects of a text, in their order; the items of a list come after the other documents. */
export function readObjects(text: string, source: string, kinds: KindTable): readonly BuildResource[] {
  const documents = failingAt('KustomizationResourceInvalid', source, () => readYamlValues(text, { source }))
  const queue: Value[] = documents.map(valueOf)
  const objects: Mapping[] = []
  for (const document of queue) {
    if (isEmptyValue(document)) continue
    const object = checked(document, source)
    const items = textOf(object.get('kind')).endsWith('List') ? object.get('items') : undefined
    if (items === undefined) objects.push(object)
    else for (const item of itemsOf(items, object, source)) queue.push(item)
  }
  return objects.map((object) => new BuildResource(object, kinds))
}

function itemsOf(items: Value, list: Mapping, source: string): readonly Value[] {
  if (Array.isArray(items)) return items
  if (isNull(items)) return []
  throw failure('KustomizationResourceInvalid', source, `the items of a ${textOf(list.get('kind'))} are no list`)
}

function checked(document: Value, source: string): Mapping {
  const invalid = (problem: string): Error => failure('KustomizationResourceInvalid', source, problem)
  if (!isMapping(document)) throw invalid('a document is no object')
  const kind = textOf(document.get('kind'))
  if (kind === '') throw invalid('an object has no kind')
  const name = textOf(mappingAt(document, 'metadata')?.get('name'))
  if (name === '' && !kind.endsWith('List')) throw invalid(`an object of kind ${kind} has no metadata.name`)
  return document
}
