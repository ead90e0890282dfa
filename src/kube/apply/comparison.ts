/** The difference of two values: which fields were added, removed and modified. */
import { equalJson, type Json, type JsonObject } from '../json.ts'
import { ownMember } from '../json-member.ts'
import { type FieldNode, type FieldSet, fieldSetOfNodes, noFields } from './field-set.ts'
import { itemElement } from './list-item.ts'
import { encodeElement, fieldElement, type PathElement } from './path-element.ts'
import { type ListShape, type MapShape, memberShape, type ApplyShape } from './shape.ts'
import { asList, asMap, isEmptyMap, type ValueKind, valueKind, valueNames, settleValue } from './value.ts'

/** The sets are disjoint, except for items whose key is no longer (or not yet) unique. */
export interface FieldComparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

/** Compares two values that conform to the shape. */
export function compareValues(before: Json, after: Json, shape: ApplyShape): FieldComparison {
  const changes = noChanges()
  compareAt(before, after, shape, changes)
  return {
    added: fieldSetOfNodes(changes.added),
    modified: fieldSetOfNodes(changes.modified),
    removed: fieldSetOfNodes(changes.removed),
  }
}

type Change = keyof FieldComparison

const allChanges: readonly Change[] = ['added', 'modified', 'removed']

/** The changes below one place, by type. */
type Changes = Readonly<Record<Change, FieldNode[]>>

function noChanges(): Changes {
  return { added: [], modified: [], removed: [] }
}

/** Collects the changes below a place and returns what happened to the place itself. */
function compareAt(
  before: Json | undefined,
  after: Json | undefined,
  shape: ApplyShape,
  changes: Changes,
): Change | undefined {
  const was = valueKind(shape, before)
  const is = valueKind(shape, after)
  if (after === undefined) return compareAs(settleValue(shape, was), before, after, shape, changes)
  // If the type changed, the value of the old type is removed.
  const former = before !== undefined && was !== is && compareAs(settleValue(shape, was), before, after, shape, changes)
  return compareAs(settleValue(shape, is), before, after, shape, changes) ?? (former || undefined)
}

function compareAs(
  kind: ValueKind,
  before: Json | undefined,
  after: Json | undefined,
  shape: ApplyShape,
  changes: Changes,
): Change | undefined {
  const presence = before === undefined ? 'added' : after === undefined ? 'removed' : undefined
  const divided =
    (kind === 'map' && compareMaps(asMap(before), asMap(after), shape.map as MapShape, changes)) ||
    (kind === 'list' && compareLists(asList(before), asList(after), shape.list as ListShape, changes))
  if (divided) return presence
  return presence ?? (equalJson(before, after) ? undefined : 'modified')
}

/** Compares field by field; `false` if the maps must be compared as a whole: atomic, or empty. */
function compareMaps(
  before: JsonObject | undefined,
  after: JsonObject | undefined,
  shape: MapShape,
  changes: Changes,
): boolean {
  if (shape.atomic || (shape.zeros.size === 0 && isEmptyMap(before) && isEmptyMap(after))) return false
  const names = new Set(before && valueNames(before))
  if (after) for (const name of valueNames(after)) names.add(name)
  // If only one side exists, its zero values are the only difference.
  if (!before !== !after) for (const name of shape.zeros.keys()) names.add(name)
  for (const name of names) {
    const left = valueOf(before, name, shape)
    const right = valueOf(after, name, shape)
    if (left !== right) compareChild(fieldElement(name), left, right, memberShape(shape, name), changes)
  }
  return true
}

/** A member as the server sees it: a struct exists even if no client set it. */
function valueOf(map: JsonObject | undefined, name: string, shape: MapShape): Json | undefined {
  if (!map) return undefined
  const own = ownMember(map, name)
  const zero = shape.zeros.get(name)
  return own ?? (zero === undefined ? own : zero)
}

/** Compares item by item; `false` if the lists must be compared as a whole: atomic, or both empty. */
function compareLists(
  before: readonly Json[] = [],
  after: readonly Json[] = [],
  shape: ListShape,
  changes: Changes,
): boolean {
  if (shape.atomic || (before.length === 0 && after.length === 0)) return false
  const items = new Map<string, Items>()
  for (const item of before) itemsOf(items, item, shape).before.push(item)
  for (const item of after) itemsOf(items, item, shape).after.push(item)
  for (const same of items.values()) compareItems(same, shape.item(), changes)
  return true
}

/** The items of one key, before and after. One of each, unless the list has duplicates. */
interface Items {
  readonly element: PathElement
  readonly before: Json[]
  readonly after: Json[]
}

function itemsOf(items: Map<string, Items>, item: Json, shape: ListShape): Items {
  const element = itemElement(shape, item)
  const key = encodeElement(element)
  const known = items.get(key)
  if (known) return known
  const found = { element, before: [], after: [] }
  items.set(key, found)
  return found
}

function compareItems({ element, before, after }: Items, shape: ApplyShape, changes: Changes): void {
  const wasMany = before.length > 1
  const isMany = after.length > 1
  const whole: FieldNode = { element, owned: true, below: noFields }
  if (!wasMany && !isMany) return compareChild(element, before[0], after[0], shape, changes)
  // Duplicates are owned as one indivisible field: becoming one, or ceasing to be one, replaces the item.
  if (wasMany && isMany) {
    if (!equalJson(before, after)) changes.modified.push(whole)
  } else if (wasMany) {
    if (after.length > 0) compareChild(element, undefined, after[0], shape, changes)
    changes.removed.push(whole)
  } else {
    if (before.length > 0) compareChild(element, before[0], undefined, shape, changes)
    changes.added.push(whole)
  }
}

function compareChild(
  element: PathElement,
  before: Json | undefined,
  after: Json | undefined,
  shape: ApplyShape,
  changes: Changes,
): void {
  const leaf = shape.scalar === undefined ? undefined : compareLeaves(before, after)
  if (leaf !== undefined) {
    if (leaf !== 'same') changes[leaf].push({ element, owned: true, below: noFields })
    return
  }
  const inner = noChanges()
  const own = compareAt(before, after, shape, inner)
  for (const change of allChanges) {
    if (own !== change && inner[change].length === 0) continue
    changes[change].push({ element, owned: own === change, below: fieldSetOfNodes(inner[change]) })
  }
}

/** Most fields are leaves, with nothing below them to collect; undefined if one side may be more than that. */
function compareLeaves(before: Json | undefined, after: Json | undefined): Change | 'same' | undefined {
  if (before === undefined) return isLeaf(after) ? 'added' : undefined
  if (!isLeaf(before)) return undefined
  if (after === undefined) return 'removed'
  if (!isLeaf(after)) return undefined
  return before === after ? 'same' : 'modified'
}

function isLeaf(value: Json | undefined): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
}
