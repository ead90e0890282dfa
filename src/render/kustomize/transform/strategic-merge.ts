/**
 * Strategic merge as kustomize does it, which is not quite as an API server does: null deletes, unmatched items of the patch
 * come first, a list with several keys matches by those that an item has, and the patch loses its own nulls and directives when
 * it creates a mapping.
 *
 * Both the object and the patch are changed. A part of the patch that becomes a part of the object is the same value in both:
 * it is merged with itself, which removes its nulls and obeys its directives.
 */
import { YamlScalar } from '../../../kube/yaml/yaml-value.ts'
import { itemPlace, type KindTable, memberPlace, mergeKeysOf, type SchemaPlace } from '../model/kind-table.ts'
import { parseApiVersion } from '../../../kube/kind.ts'
import {
  compareTexts,
  isMapping,
  isMissing,
  isNull,
  isScalar,
  type Mapping,
  replaceItems,
  replaceMember,
  type ScalarValue,
  textOf,
  unshared,
  type Value,
} from '../model/value.ts'
import { quotedIfNeeded, quotedLike } from '../model/written-scalar.ts'
import { mergeItems } from './merge-list.ts'

const directive = '$patch'

/** The object after the patch; undefined if the patch deletes it. @throws Error if the patch does not fit */
export function mergePatch(object: Mapping, patch: Mapping, kinds: KindTable): Mapping | undefined {
  const merged = mergeValues(object, patch, schemaOf(object, kinds) ?? schemaOf(patch, kinds), '')
  return isMapping(merged) ? merged : undefined
}

function schemaOf(object: Mapping, kinds: KindTable): SchemaPlace | undefined {
  const [apiVersion, kind] = [textOf(object.get('apiVersion')), textOf(object.get('kind'))]
  if (apiVersion === '' || kind === '') return undefined
  return kinds.schemaOf({ ...parseApiVersion(apiVersion), kind })
}

/** The value to put in place; undefined removes it. */
function mergeValues(
  old: Value | undefined,
  patch: Value | undefined,
  place: SchemaPlace | undefined,
  path: string,
): Value | undefined {
  const first = isMissing(old) ? patch : old
  if (isMissing(first)) {
    // A null that is written out stays, unless the patch says something about it.
    return patch === undefined && isWrittenNull(old) ? old : undefined
  }
  if (isMapping(first)) return mergeMappings(asMapping(old, path), asMapping(patch, path), place, path)
  if (Array.isArray(first)) return mergeLists(asList(old, path), asList(patch, path), place, path)
  if (!isMissing(patch) && !isScalar(patch)) throw misfit(path, 'is a scalar')
  return patch === undefined ? old : isNull(patch) ? undefined : patch
}

function isWrittenNull(value: Value | undefined): boolean {
  return value === null || (value instanceof YamlScalar && value.value === null && value.text !== '')
}

/** Undefined if there is none; null if the field is null. */
type Part<Kind> = Kind | null | undefined

function asMapping(value: Value | undefined, path: string): Part<Mapping> {
  if (value === undefined || isMapping(value)) return value
  if (isNull(value)) return null
  throw misfit(path, 'is a mapping on one side only')
}

function asList(value: Value | undefined, path: string): Part<Value[]> {
  if (value === undefined || Array.isArray(value)) return value
  if (isNull(value)) return null
  throw misfit(path, 'is a list on one side only')
}

function mergeMappings(
  old: Part<Mapping>,
  patch: Part<Mapping>,
  place: SchemaPlace | undefined,
  path: string,
): Mapping | undefined {
  if (patch === null) return undefined
  const order = patch ? takeDirective(patch, path) : 'merge'
  if (order === 'delete') return undefined
  const target = order === 'replace' || !old ? patch : old
  if (!target) return undefined
  const names = new Set([...target.keys(), ...(patch?.keys() ?? [])])
  for (const name of [...names].toSorted(compareTexts)) {
    const at = path === '' ? name : `${path}.${name}`
    const merged = mergeValues(target.get(name), patch?.get(name), memberPlace(place, name), at)
    if (merged === undefined) target.delete(name)
    else if (isScalar(merged)) mergeScalar(target, name, merged)
    else if (merged !== target.get(name)) replaceMember(target, name, merged)
  }
  return target
}

/** Quotes belong to the field: what is merged into a text in quotes is a text. */
function mergeScalar(target: Mapping, name: string, merged: ScalarValue): void {
  const [old, scalar] = [unshared(target.get(name)), unshared(merged)]
  const isNew = old === undefined || !isScalar(old) || merged === target.get(name)
  const styled = isNew ? quotedIfNeeded(scalar) : quotedLike(old, scalar)
  if (styled !== old) replaceMember(target, name, styled)
}

type Order = 'merge' | 'replace' | 'delete'

/** The directive of a mapping, which loses it. */
function takeDirective(patch: Mapping, path: string): Order {
  const value = patch.get(directive)
  if (value === undefined) return 'merge'
  const order = orderOf(value, path)
  patch.delete(directive)
  return order
}

function orderOf(value: Value, path: string): Order {
  const text = textOf(value)
  if (text === 'merge' || text === 'replace' || text === 'delete') return text
  throw misfit(path, `has a ${directive} that is none of merge, replace and delete`)
}

function mergeLists(
  old: Part<Value[]>,
  patch: Part<Value[]>,
  place: SchemaPlace | undefined,
  path: string,
): Value | undefined {
  const keys = mergeKeysOf(place)
  if (keys === undefined) return patch === undefined ? (old ?? undefined) : (patch ?? undefined)
  if (patch === null) return undefined
  const order = old && patch ? takeListDirective(patch, path) : 'merge'
  if (order === 'delete') return undefined
  const target = order === 'replace' || !old ? patch : old
  if (!target) return undefined
  const mergeItem = (item: Value | undefined, change: Value | undefined): Value | undefined =>
    mergeValues(item, change, itemPlace(place), `${path}[]`)
  return mergeItems(target, patch, keys, mergeItem)
}

/** A list says what to do with itself in an item that consists of a directive. */
function takeListDirective(patch: Value[], path: string): Order {
  const item = patch.find((one) => isMapping(one) && one.has(directive))
  if (!isMapping(item) || item.size > 1) return 'merge'
  const text = textOf(item.get(directive))
  const order = orderOf(text, path)
  replaceItems(
    patch,
    patch.filter((one) => !isMapping(one) || textOf(one.get(directive)) !== text),
  )
  return order
}

function misfit(path: string, problem: string): Error {
  return new Error(`the patch does not fit: ${path === '' ? 'the object' : path} ${problem}`)
}
