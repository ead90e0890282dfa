/**
 * The field set of a value: the fields that a writer of exactly this value owns. Leaves count; so do items of lists and maps,
 * and empty values. A declared struct counts only through its fields.
 */
import type { Json } from '../json.ts'
import { type FieldNode, type FieldSet, fieldSetOfNodes, noFields, transform, withContent } from './field-set.ts'
import { itemElement } from './list-item.ts'
import { encodeElement, fieldElement, type PathElement } from './path-element.ts'
import { type ListShape, type MapShape, memberShape, type ApplyShape } from './shape.ts'
import { asList, asMap, isEmptyMap, kindIn, valueNames, settleValue } from './value.ts'

/** The fields of a value that conforms to its shape. */
export function fieldSetOf(value: Json, shape: ApplyShape): FieldSet {
  return contentOf(value, shape).below
}

type Content = Omit<FieldNode, 'element'>

const leaf: Content = { owned: true, below: noFields }

function contentOf(value: Json, shape: ApplyShape): Content {
  const kind = kindIn(shape, value)
  if (kind === 'scalar' || shape[kind]?.atomic) return leaf
  const below = kind === 'map' ? fieldsOfMap(value, shape.map as MapShape) : itemsOfList(value, shape.list as ListShape)
  return { owned: false, below }
}

function fieldsOfMap(value: Json, shape: MapShape): FieldSet {
  const map = asMap(value)
  if (!map) return noFields
  const nodes: FieldNode[] = []
  for (const name of valueNames(map)) {
    const member = map[name] as Json
    const { owned, below } = contentOf(member, memberShape(shape, name))
    const counts = owned || !shape.declares(name) || isHollow(member)
    if (counts || below.length > 0) nodes.push({ element: fieldElement(name), owned: counts, below })
  }
  return fieldSetOfNodes(nodes)
}

/** Exists, but without contents that could be owned instead. Not an empty list: only its items count. */
function isHollow(value: Json): boolean {
  return value === null || (typeof value === 'object' && !Array.isArray(value) && isEmptyMap(asMap(value)))
}

function itemsOfList(value: Json, shape: ListShape): FieldSet {
  const nodes = new Map<string, FieldNode>()
  for (const item of asList(value) ?? []) {
    const element = itemElement(shape, item)
    const key = encodeElement(element)
    // Items with the same key are owned as one.
    const below = nodes.has(key) ? noFields : contentOf(item, shape.item()).below
    nodes.set(key, { element, owned: true, below })
  }
  return fieldSetOfNodes([...nodes.values()])
}

/**
 * The set plus every declared field that has fields of the set below it. Pruning needs it: when all fields of a struct are
 * removed, so is the struct.
 */
export function withDeclaredFields(set: FieldSet, shape: ApplyShape | undefined): FieldSet {
  return set.map(({ element, owned, below }) => {
    const { map, list } = shape ?? {}
    const declared = element.kind === 'field' && below.length > 0 && map?.declares(element.name) === true
    let inner: ApplyShape | undefined
    if (element.kind === 'field') inner = map?.field(element.name)
    else if (element.kind === 'key') inner = list?.item()
    return { element, owned: owned || declared, below: withDeclaredFields(below, inner) }
  })
}

/**
 * Converts a set to the current schema: where a list or map has become atomic, owning any part of it means owning the whole.
 * (The other direction is left as it is.)
 */
export function reshapeFields(set: FieldSet, shape: ApplyShape): FieldSet {
  const kind = settleValue(shape, 'open')
  if (kind === 'scalar' || (kind === 'map' && shape.map?.untyped)) return set
  return transform(set, (node) => {
    const inner = kind === 'list' ? shape.list?.item() : fieldShape(shape.map as MapShape, node.element)
    return inner ? reshapeNode(node, inner) : node
  })
}

function fieldShape(map: MapShape, element: PathElement): ApplyShape | undefined {
  return element.kind === 'field' ? map.field(element.name) : map.element()
}

function reshapeNode(node: FieldNode, shape: ApplyShape): FieldNode | undefined {
  const kind = settleValue(shape, 'open')
  if (kind === 'scalar' || (kind === 'map' && shape.map?.untyped)) return node
  if (shape[kind]?.atomic && node.below.length > 0) return { element: node.element, owned: true, below: noFields }
  return withContent(node, node.owned, reshapeFields(node.below, shape))
}
