/**
 * The objects of a build while they are changed: mappings are Maps, lists are arrays, both changed in place. Scalars keep the
 * text of the document where it differs from their value, because kustomize compares and joins texts: `1.10` is not `1.1`.
 */
import type { Json } from '../../../kube/json.ts'
import { isFlowCollection, YamlScalar, type YamlValue } from '../../../kube/yaml/yaml-value.ts'
import { readScalar, rewritten, WrittenScalar } from './written-scalar.ts'

/**
 * One scalar in several places. When kustomize adds a label to an object, all its fields get the same one: a later change of
 * the label in one field changes it in the others, too.
 */
export class SharedScalar {
  scalar: PlainScalar

  constructor(scalar: PlainScalar) {
    this.scalar = scalar
  }
}

type PlainScalar = null | boolean | number | bigint | string | YamlScalar
export type ScalarValue = PlainScalar | SharedScalar
export type Mapping = Map<string, Value>
export type Value = ScalarValue | Value[] | Mapping

/**
 * Mappings and lists that are written as `{ }` and `[ ]`, as they stood in their file. Inside of them kustomize writes an empty
 * scalar without a type in quotes, elsewhere as nothing: it is an empty text here, and a null there.
 */
const flowStyled = new WeakSet<Value[] | Mapping>()

export function isMapping(value: unknown): value is Mapping {
  return value instanceof Map
}

export function isScalar<Kind extends Value>(value: Kind): value is Exclude<Kind, Value[] | Mapping> {
  return !isMapping(value) && !Array.isArray(value)
}

/** The scalar itself, if it is a shared one. */
export function unshared<Kind extends Value | undefined>(
  value: Kind | SharedScalar,
): Exclude<Kind, SharedScalar> | PlainScalar {
  return value instanceof SharedScalar ? value.scalar : (value as Exclude<Kind, SharedScalar>)
}

/** Sets a member; a shared scalar is changed in all its places. */
export function replaceMember(mapping: Mapping, name: string, value: Value): void {
  const old = mapping.get(name)
  const plain = unshared(value)
  if (old instanceof SharedScalar && isScalar(plain)) old.scalar = plain
  else mapping.set(name, plain)
}

/** Writes a text into a member anew, without a type. */
export function rewriteMember(mapping: Mapping, name: string, text: string): void {
  const old = unshared(mapping.get(name))
  replaceMember(mapping, name, rewritten(old === undefined || !isScalar(old) ? undefined : old, text))
}

/** A null, written in whatever way. */
export function isNull(value: Value | undefined): boolean {
  if (value instanceof SharedScalar) return isNull(value.scalar)
  if (value instanceof WrittenScalar) return value.type === 'null'
  return value === null || (value instanceof YamlScalar && value.value === null)
}

export function isMissing(value: Value | undefined): value is undefined | null {
  return value === undefined || isNull(value)
}

/** Missing, null, or a mapping or list without members. */
export function isEmptyValue(value: Value | undefined): boolean {
  if (isMissing(value)) return true
  return isMapping(value) ? value.size === 0 : Array.isArray(value) && value.length === 0
}

/** The text of a scalar as it stands in the document; the empty text for everything else. */
export function textOf(value: Value | undefined): string {
  if (value instanceof YamlScalar) return value.text
  if (value instanceof SharedScalar) return textOf(value.scalar)
  if (value === undefined || value === null || !isScalar(value)) return ''
  return String(value)
}

/** Like {@link textOf}, but a null that is written out is the text `null`. */
export function writtenText(value: Value): string {
  return unshared(value) === null ? 'null' : textOf(value)
}

/** A copy that shares nothing with the value. Aliases of a document become copies. */
export function valueOf(read: YamlValue | Json): Value {
  if (typeof read !== 'object' || read === null || read instanceof YamlScalar) return readScalar(read)
  if (Array.isArray(read)) {
    return styled(
      read.map((item: YamlValue) => valueOf(item)),
      isFlowCollection(read),
    )
  }
  const members = Object.entries(read).flatMap(([key, member]): (readonly [string, Value])[] =>
    member === undefined ? [] : [[key, valueOf(member)]],
  )
  return styled(new Map(members), isFlowCollection(read))
}

function styled<Collection extends Value[] | Mapping>(collection: Collection, isFlow: boolean): Collection {
  if (isFlow) flowStyled.add(collection)
  return collection
}

export function cloneValue(value: Value): Value {
  if (isMapping(value))
    return styled(new Map([...value].map(([key, member]) => [key, cloneValue(member)])), flowStyled.has(value))
  return Array.isArray(value) ? styled(value.map(cloneValue), flowStyled.has(value)) : unshared(value)
}

/**
 * The value as it is written and read again.
 *
 * @param isInFlow a collection around it is written as `{ }` or `[ ]`
 * @throws Error if a transformation wrote a text into a field of another type
 */
export function jsonOf(value: Value, isInFlow = false): Json {
  if (value instanceof WrittenScalar && value.problem !== '') throw new Error(value.problem)
  if (isInFlow && value instanceof WrittenScalar && value.type === 'none' && value.text === '') return ''
  if (value instanceof YamlScalar) return value.value
  if (value instanceof SharedScalar) return jsonOf(value.scalar, isInFlow)
  if (isScalar(value)) return value
  const isFlow = isInFlow || flowStyled.has(value)
  if (isMapping(value)) return Object.fromEntries([...value].map(([key, member]) => [key, jsonOf(member, isFlow)]))
  return value.map((item) => jsonOf(item, isFlow))
}

/** The mapping at `path`, if there is one. */
export function mappingAt(value: Value | undefined, ...path: readonly string[]): Mapping | undefined {
  let current = value
  for (const name of path) current = isMapping(current) ? current.get(name) : undefined
  return isMapping(current) ? current : undefined
}

/** The mapping at `path`; missing ones are added on the way. */
export function ensureMapping(parent: Mapping, ...path: readonly string[]): Mapping {
  let current = parent
  for (const name of path) {
    const member = current.get(name)
    const next: Mapping = isMapping(member) ? member : new Map()
    if (next !== member) current.set(name, next)
    current = next
  }
  return current
}

/** Replaces the items of a list in place. */
export function replaceItems(list: Value[], items: readonly Value[]): void {
  list.length = 0
  for (const item of items) list.push(item)
}

/** Code-point order, as Go sorts text. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
