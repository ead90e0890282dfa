/**
 * Decoding by difference: JSON text becomes a frozen object that shares all it can with one we hold already.
 *
 * Text is read along a *guide*: the object stored under the same key or, for a new one, a sibling. Where the text says
 * what the guide holds, the guide's own frozen sub-tree is taken and nothing is allocated; only what differs is
 * parsed, and it goes through the intern pool. Whatever the guide is, the result equals that of `parseJson`: a good
 * guide makes it fast and lean, a bad one merely slower. If the text holds no news at all, the guide itself comes back.
 *
 * Strings that are kept never are cuts of the text they came in: a cut would keep the whole answer alive.
 */
import type { Json, JsonObject } from '../kube/json.ts'
import type { KubeObject } from '../kube/object.ts'
import { closeArray, closeObject, colon, cursor, openArray, openObject, quote } from './cursor.ts'
import { detailFilter, type Filter, isUnwanted, metadataFilter } from './filter.ts'
import { type InternPool, isSame, type Node } from './intern.ts'
import type { Detail } from './need.ts'
import { createTemplates, type Make, skipAlong, type Template } from './template.ts'

export interface DecoderOptions {
  /** Filled in where the text has none, as in lists; always used for metadata alone, which says PartialObjectMetadata. */
  readonly apiVersion: string
  readonly kind: string
  readonly pool: InternPool
  /** How much is kept. @default "full" */
  readonly detail?: Detail | undefined
  /** @default false */
  readonly keepManagedFields?: boolean | undefined
}

/** Decodes the objects of one resource. It learns how they are spelled: keep it as long as the resource is read. */
export interface Decoder {
  /**
   * The object in a stretch of text. The guide, if there is one, must be frozen and of this decoder.
   * @throws ProtocolError when the stretch is not exactly one JSON object
   */
  decode(text: string, start: number, end: number, guide?: KubeObject): KubeObject
}

/** Deeper values are left to the parser: the recursion must end before the stack does. */
const deepest = 200

const noMembers: JsonObject = Object.freeze({})
const noItems: readonly Json[] = Object.freeze([])

/** How many nodes have not been spelled as their template says. */
let misfits = 0

export function createDecoder(options: DecoderOptions): Decoder {
  const { apiVersion, kind, pool, detail = 'full', keepManagedFields = false } = options
  const filter = detailFilter(detail)
  const metadata = metadataFilter(keepManagedFields)
  const templates = createTemplates(filter, metadata)

  const decodeRoot = (guide: JsonObject, make: Make | undefined): JsonObject => {
    // apiVersion and kind come first, wherever the text has them: objects of a list and of a watch get one shape.
    const members = new Map<string, Json>([
      ['apiVersion', apiVersion],
      ['kind', kind],
    ])
    for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
      const isMetadata = key === 'metadata'
      if (filter && !isMetadata && isUnwanted(filter, key)) {
        skip(make, key)
        continue
      }
      const below = isMetadata ? metadata : filter?.only?.get(key)
      const template = make?.members.get(key)
      const before = member(guide, key)
      const value = template ? decodeAlong(pool, template, before, below, 0) : decodeValue(pool, before, below, 0)
      if (detail !== 'metadata' || isMetadata) members.set(key, value)
    }
    return build(guide, members)
  }

  return {
    decode(text, start, end, guide) {
      cursor.load(text, start, end)
      try {
        const make = guide && templates.find(guide)
        misfits = 0
        const object = decodeRoot((guide ?? noMembers) as unknown as JsonObject, make) as unknown as KubeObject
        cursor.end()
        if (guide) templates.observe(object, guide, make, misfits > 0)
        return Object.freeze(object)
      } finally {
        cursor.unload()
      }
    },
  }
}

/** Decodes one object that stands alone. Where many of a resource are read, keep a decoder. */
export function decodeObject(
  text: string,
  start: number,
  end: number,
  options: DecoderOptions & { readonly guide?: KubeObject | undefined },
): KubeObject {
  return createDecoder(options).decode(text, start, end, options.guide)
}

function skip(make: Make | undefined, key: string): void {
  const known = make?.skips.get(key)
  if (known) skipAlong(known)
  else cursor.skipValue()
}

function member(guide: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(guide, key) ? guide[key] : undefined
}

function decodeValue(pool: InternPool, guide: Json | undefined, filter: Filter | undefined, depth: number): Json {
  const code = cursor.token()
  if (code === quote) return decodeString(pool, guide)
  if (code === openObject) {
    if (isNode(guide) && !Array.isArray(guide) && depth < deepest)
      return decodeMembers(pool, guide as JsonObject, filter, depth)
    return filter ? decodeMembers(pool, noMembers, filter, depth) : parseFresh(pool)
  }
  if (code === openArray) {
    if (Array.isArray(guide) && depth < deepest) return decodeItems(pool, guide as readonly Json[], filter, depth)
    return filter ? decodeItems(pool, noItems, filter, depth) : parseFresh(pool)
  }
  return cursor.readScalar()
}

function isNode(value: Json | undefined): value is Node {
  return typeof value === 'object' && value !== null
}

function decodeString(pool: InternPool, guide: Json | undefined): string {
  const opening = cursor.at
  const closing = cursor.skipString()
  if (cursor.hasEscape) {
    const value = cursor.parseString(opening, closing)
    return value === guide ? guide : pool.string(value)
  }
  if (
    typeof guide === 'string' &&
    guide.length === closing - opening - 1 &&
    cursor.text.slice(opening + 1, closing) === guide
  ) {
    return guide
  }
  return pool.stringAt(cursor, opening, closing)
}

/** A node that has no guide. */
function parseFresh(pool: InternPool): Json {
  const start = cursor.at
  cursor.skipValue()
  return pool.value(cursor.parse(start, cursor.at))
}

/** An object whose members are expected to be the guide's, in the guide's order. */
function decodeMembers(pool: InternPool, guide: JsonObject, filter: Filter | undefined, depth: number): JsonObject {
  const start = cursor.at
  const since = pool.created
  cursor.at++
  let code = cursor.token()
  let copy: Record<string, Json> | undefined
  let seen = 0
  for (const key in guide) {
    const before = guide[key]
    while (code !== closeObject && !cursor.skipKey(key)) {
      if (!filter || !skipUnwanted(filter)) return decodeOthers(pool, guide, filter, depth, start, since, seen, copy)
      code = cursor.next(closeObject)
    }
    if (code === closeObject) return decodeOthers(pool, guide, filter, depth, start, since, seen, copy)
    cursor.expect(colon)
    const value = decodeValue(pool, before, filter?.only?.get(key), depth + 1)
    if (!isSame(value, before)) {
      copy ??= { ...guide } as Record<string, Json>
      copy[key] = value
    }
    seen++
    code = cursor.next(closeObject)
  }
  while (code !== closeObject) {
    if (!filter || !skipUnwanted(filter)) return decodeOthers(pool, guide, filter, depth, start, since, seen, copy)
    code = cursor.next(closeObject)
  }
  cursor.at++
  return copy === undefined ? guide : finish(pool, copy, filter, since)
}

/** Steps over a member if it is not wanted. */
function skipUnwanted(filter: Filter): boolean {
  const start = cursor.at
  if (cursor.codes[start] !== quote) cursor.fail()
  const closing = cursor.skipString()
  const key = cursor.hasEscape ? cursor.parseString(start, closing) : cursor.text.slice(start + 1, closing)
  if (!isUnwanted(filter, key)) {
    cursor.at = start
    return false
  }
  cursor.expect(colon)
  cursor.skipValue()
  return true
}

/** The rest of an object whose keys are not the guide's, or not in its order; `seen` members were. */
function decodeOthers(
  pool: InternPool,
  guide: JsonObject,
  filter: Filter | undefined,
  depth: number,
  start: number,
  since: number,
  seen: number,
  copy: JsonObject | undefined,
): JsonObject {
  if (filter === undefined && isFlat(guide)) {
    // Nothing in it is worth comparing: strings go through the pool anyway.
    cursor.at = start
    return parseFresh(pool) as JsonObject
  }
  const members = new Map<string, Json>()
  for (const key in guide) {
    if (members.size === seen) break
    members.set(key, (copy ?? guide)[key]!)
  }
  for (let code = cursor.token(); code !== closeObject; code = cursor.next(closeObject)) {
    if (code !== quote) cursor.fail()
    const opening = cursor.at
    const closing = cursor.skipString()
    const key = cursor.hasEscape ? cursor.parseString(opening, closing) : pool.stringAt(cursor, opening, closing)
    cursor.expect(colon)
    if (filter && isUnwanted(filter, key)) cursor.skipValue()
    else members.set(key, decodeValue(pool, member(guide, key), filter?.only?.get(key), depth + 1))
  }
  cursor.at++
  const object = build(guide, members)
  return object === guide ? guide : finish(pool, object, filter, since)
}

function isFlat(guide: JsonObject): boolean {
  for (const key in guide) if (isNode(guide[key])) return false
  return true
}

/** An object with these members; the guide itself if it is one. */
function build(guide: JsonObject, members: ReadonlyMap<string, Json>): JsonObject {
  let copy: Record<string, Json> | undefined
  if (hasKeys(guide, members)) {
    for (const [key, value] of members) {
      if (isSame(value, guide[key])) continue
      copy ??= { ...guide } as Record<string, Json>
      copy[key] = value
    }
    return copy ?? guide
  }
  // The parser makes objects without room to spare, and takes __proto__ for a key like any other.
  const template = Array.from(members.keys(), (key) => `${JSON.stringify(key)}:0`)
  copy = JSON.parse(`{${template.join(',')}}`) as Record<string, Json>
  for (const [key, value] of members) copy[key] = value
  return copy
}

/** Does the object have these keys, in this order? */
function hasKeys(object: JsonObject, members: ReadonlyMap<string, Json>): boolean {
  const keys = members.keys()
  let count = 0
  for (const key in object) {
    if (keys.next().value !== key) return false
    count++
  }
  return count === members.size
}

function decodeItems(
  pool: InternPool,
  guide: readonly Json[],
  filter: Filter | undefined,
  depth: number,
): readonly Json[] {
  const since = pool.created
  cursor.at++
  let copy: Json[] | undefined
  let index = 0
  for (let code = cursor.token(); code !== closeArray; code = cursor.next(closeArray)) {
    const before = index < guide.length ? guide[index] : guide[guide.length - 1]
    const value = decodeValue(pool, before, filter, depth + 1)
    if (copy === undefined && (index >= guide.length || !isSame(value, before))) copy = guide.slice(0, index)
    copy?.push(value)
    index++
  }
  cursor.at++
  if (copy === undefined && index === guide.length) return guide
  // A slice has no room to spare.
  return pool.node(copy === undefined ? guide.slice(0, index) : copy.slice(), since)
}

function finish<T extends Node>(pool: InternPool, fresh: T, filter: Filter | undefined, since: number): T {
  return filter?.isUnique ? Object.freeze(fresh) : pool.node(fresh, since)
}

/** A node that is expected to be spelled as its template says. */
function decodeAlong(
  pool: InternPool,
  template: Template,
  guide: Json | undefined,
  filter: Filter | undefined,
  depth: number,
): Json {
  const start = cursor.at
  const since = pool.created
  const { node, parts, tail } = template
  const hasGuide = isNode(guide) && Array.isArray(guide) === Array.isArray(node)
  const before = (hasGuide ? guide : node) as JsonObject
  // What is no part is taken from the guide, so that nodes that have not changed stay the same references.
  if (before !== node && !fits(before, template)) return decodeMisfit(pool, before, filter, depth, start)
  const values: Json[] = []
  let isChanged = !hasGuide
  for (const { text, key, inner, skip: skipped } of parts) {
    if (!cursor.skipText(text)) return decodeMisfit(pool, before, filter, depth, start)
    if (key === undefined) {
      skipAlong(skipped!)
      continue
    }
    const old = before[key]
    const value = inner
      ? decodeAlong(pool, inner, old, typeof key === 'string' ? filter?.only?.get(key) : filter, depth + 1)
      : decodeValue(pool, old, undefined, depth + 1)
    if (!isSame(value, old)) isChanged = true
    values.push(value)
  }
  if (!cursor.skipText(tail)) return decodeMisfit(pool, before, filter, depth, start)
  if (!isChanged) return before
  const copy = (Array.isArray(before) ? before.slice() : { ...before }) as Record<string, Json>
  let index = 0
  for (const { key } of parts) if (key !== undefined) copy[key] = values[index++]!
  return finish(pool, copy, filter, since)
}

function decodeMisfit(pool: InternPool, guide: Json, filter: Filter | undefined, depth: number, start: number): Json {
  misfits++
  cursor.at = start
  return decodeValue(pool, guide, filter, depth)
}

/** Is all of the node that is no part of the template the same as in what the template was learnt from? */
function fits(node: Node, { keys, values }: Template): boolean {
  if (Array.isArray(node)) {
    if (node.length !== values.length) return false
    for (let index = 0; index < values.length; index++) {
      if (values[index] !== undefined && node[index] !== values[index]) return false
    }
    return true
  }
  let index = 0
  for (const key in node) {
    const value = (node as JsonObject)[key]
    if (key !== keys[index] || (values[index] !== undefined && value !== values[index])) return false
    index++
  }
  return index === keys.length
}
