/**
 * Decoding by difference: JSON text becomes a frozen object that shares its parts with an object already in memory.
 *
 * Text is compared with a *guide*: the object stored under the same key or, for a new one, a similar object (see
 * `decode-hints.ts`). Where they are equal, the guide's own frozen sub-tree is reused and nothing is allocated; only
 * differences are parsed, and they go through the intern pool. The result always equals that of `parseJson`: a good guide
 * makes decoding fast and lean, a bad one only slower. If nothing differs, the guide itself is returned.
 *
 * Strings that are kept are never slices of the text: V8 would keep the whole response alive for a slice.
 */
import { type Json, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'
import { closeArray, closeObject, colon, cursor, openArray, openObject, quote } from './cursor.ts'
import { detailFilter, type Filter, isUnwanted, metadataFilter } from './filter.ts'
import { adoptValue } from './adopt.ts'
import { type InternPool, isSameValue, type InternNode } from './intern.ts'
import type { Detail } from '../need.ts'
import { createDecodeHints, type DecodeHints } from './decode-hints.ts'
import { finishNode, hasMembers, isInternNode, noItems, noMembers, buildShared } from './shared-node.ts'
import {
  createTemplates,
  isOther,
  learnOther,
  type ObjectTemplate,
  type TemplatePart,
  skipAlong,
  type Template,
  type Templates,
} from './template.ts'

export interface DecoderOptions {
  /** Used where the text has none, as in lists, and always for metadata alone, where the text says PartialObjectMetadata. */
  readonly apiVersion: string
  readonly kind: string
  readonly pool: InternPool
  /** How much of the object is kept. @default "full" */
  readonly detail?: Detail | undefined
  /** @default false */
  readonly keepManagedFields?: boolean | undefined
}

/** Decodes the objects of one resource. It learns their common text: keep it as long as the resource is watched. */
export interface Decoder {
  /**
   * Decodes a range of the text. The guide, if given, must be frozen and come from this decoder.
   * @throws ProtocolError unless the range is exactly one JSON object
   */
  decode(text: string, start: number, end: number, guide?: KubeObject): KubeObject
  /** The same for an object that is parsed already: the response of a write. The object itself is left alone. */
  adopt(object: KubeObject, guide?: KubeObject): KubeObject
  /** A guide for an object that is not stored yet. */
  hint(namespace: string | undefined, name: string): KubeObject | undefined
}

/** Deeper values are parsed natively and kept whole: the recursion must not overflow the stack. */
const deepest = 200

/**
 * Limit of restarts per object: after a template that did not match, or for an array that must be aligned. Nested restarts
 * multiply, and the author of an object could provoke them.
 */
const restarts = 24

let restarted = 0

export function createDecoder(options: DecoderOptions): Decoder {
  return new JsonDecoder(options)
}

/** A class because a process may hold thousands, most of them idle: until its first object it holds only its options. */
class JsonDecoder implements Decoder {
  readonly #options: DecoderOptions
  #work: Work | undefined

  constructor(options: DecoderOptions) {
    this.#options = options
  }

  decode(text: string, start: number, end: number, guide?: KubeObject): KubeObject {
    this.#work ??= prepare(this.#options)
    const { templates, hints } = this.#work
    cursor.load(text, start, end)
    restarted = 0
    try {
      const objectTemplate = guide && templates.find(guide)
      const object = this.#decodeRoot(this.#work, asJson(guide ?? noMembers), objectTemplate)
      cursor.end()
      if (guide) templates.observe(object, guide)
      if (!guide || isOther(object, guide)) hints.note(object)
      return Object.freeze(object)
    } finally {
      cursor.unload()
    }
  }

  adopt(object: KubeObject, guide?: KubeObject): KubeObject {
    const { apiVersion, kind, pool, detail } = this.#options
    const { filter, metadata, hints } = (this.#work ??= prepare(this.#options))
    const before = asJson(guide ?? noMembers)
    const members = new Map<string, Json>([
      ['apiVersion', apiVersion],
      ['kind', kind],
    ])
    for (const [key, value] of Object.entries(asJson(object))) {
      const isMetadata = key === 'metadata'
      if (value === undefined || (filter && !isMetadata && isUnwanted(filter, key))) continue
      if (detail === 'metadata' && !isMetadata) continue
      const below = isMetadata ? metadata : filter?.only?.get(key)
      members.set(key, adoptValue(pool, value, ownMember(before, key), below))
    }
    const adopted = asObject(buildShared(before, members))
    if (!guide || isOther(adopted, guide)) hints.note(adopted)
    return Object.freeze(adopted)
  }

  hint(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#work?.hints.find(namespace, name)
  }

  #decodeRoot({ filter, metadata }: Work, guide: JsonObject, objectTemplate: ObjectTemplate | undefined): KubeObject {
    const { apiVersion, kind, pool, detail } = this.#options
    // apiVersion and kind come first, in any text: objects of lists and of watches get the same hidden class.
    const members = new Map<string, Json>([
      ['apiVersion', apiVersion],
      ['kind', kind],
    ])
    const keys = Object.keys(guide).slice(0, 16)
    for (let key = cursor.firstKey(keys); key !== undefined; key = cursor.nextKey(keys)) {
      const isMetadata = key === 'metadata'
      if (filter && !isMetadata && isUnwanted(filter, key)) {
        skip(objectTemplate, key)
        continue
      }
      const below = isMetadata ? metadata : filter?.only?.get(key)
      const template = objectTemplate?.members.get(key)
      const before = ownMember(guide, key)
      const value = template ? decodeAlong(pool, template, before, below, 0) : decodeValue(pool, before, below, 0)
      if (detail !== 'metadata' || isMetadata) members.set(key, value)
    }
    return asObject(buildShared(guide, members))
  }
}

/** The state of a decoder, created with its first object. */
interface Work {
  readonly filter: Filter | undefined
  readonly metadata: Filter
  readonly templates: Templates
  readonly hints: DecodeHints
}

function prepare({ detail = 'full', keepManagedFields = false }: DecoderOptions): Work {
  const filter = detailFilter(detail)
  const metadata = metadataFilter(keepManagedFields)
  const templates = createTemplates(filter, metadata)
  return { filter, metadata, templates, hints: createDecodeHints() }
}

function skip(objectTemplate: ObjectTemplate | undefined, key: string): void {
  const known = objectTemplate?.skips.get(key)
  if (known) skipAlong(known)
  else cursor.skipValue()
}

function decodeValue(pool: InternPool, guide: Json | undefined, filter: Filter | undefined, depth: number): Json {
  const code = cursor.token()
  if (code === quote) return decodeString(pool, guide)
  if (code !== openObject && code !== openArray) return cursor.readScalar()
  if (depth > deepest) return parseFresh(pool)
  if (code === openObject) {
    if (isInternNode(guide) && !Array.isArray(guide)) return decodeMembers(pool, guide as JsonObject, filter, depth)
    return filter ? decodeMembers(pool, noMembers, filter, depth) : parseFresh(pool)
  }
  if (Array.isArray(guide)) return decodeItems(pool, guide as readonly Json[], filter, depth)
  return filter ? decodeItems(pool, noItems, filter, depth) : parseFresh(pool)
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

/** Parses a node without a guide. */
function parseFresh(pool: InternPool): Json {
  const start = cursor.at
  cursor.skipValue()
  return pool.value(cursor.parse(start, cursor.at))
}

/** Decodes an object whose members are expected to be the guide's, in the same order. */
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
    if (!isSameValue(value, before)) {
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
  return copy === undefined ? guide : finishNode(pool, copy, filter, since)
}

/** Skips a member if it is not kept. */
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

/** Decodes the rest of an object whose keys or their order differ from the guide's; the first `seen` members did not. */
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
    // Scalars only: parsing natively is faster, and strings go through the pool anyway.
    cursor.at = start
    cursor.skipValue()
    const fresh = cursor.parse(start, cursor.at) as JsonObject
    return hasMembers(guide, fresh) ? guide : (pool.value(fresh) as JsonObject)
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
    else members.set(key, decodeValue(pool, ownMember(guide, key), filter?.only?.get(key), depth + 1))
  }
  cursor.at++
  const object = buildShared(guide, members)
  return object === guide ? guide : finishNode(pool, object, filter, since)
}

function isFlat(guide: JsonObject): boolean {
  for (const key in guide) if (isInternNode(guide[key])) return false
  return true
}

/** Decodes an array whose items are expected to be the guide's: at the same index or, if `isAligned`, nearby. */
function decodeItems(
  pool: InternPool,
  guide: readonly Json[],
  filter: Filter | undefined,
  depth: number,
  isAligned = false,
): readonly Json[] {
  const start = cursor.at
  const since = pool.created
  cursor.at++
  let copy: Json[] | undefined
  let index = 0
  let shift = 0
  for (let code = cursor.token(); code !== closeArray; code = cursor.next(closeArray)) {
    if (isAligned) shift = align(guide, index, shift)
    const before = guide[Math.min(index + shift, guide.length - 1)]
    const value = decodeValue(pool, before, filter, depth + 1)
    if (copy === undefined && (index >= guide.length || !isSameValue(value, guide[index]))) copy = guide.slice(0, index)
    copy?.push(value)
    index++
  }
  cursor.at++
  if (index === guide.length) return copy === undefined ? guide : pool.node(copy.slice(), since)
  if (!isAligned && isInternNode(guide[0]) && restarted++ < restarts) {
    cursor.at = start
    return decodeItems(pool, guide, filter, depth, true)
  }
  // A slice has no spare capacity.
  return pool.node(copy === undefined ? guide.slice(0, index) : copy.slice(), since)
}

/** After items were added or removed: the offset of the guide's item that corresponds to the next item. */
function align(guide: readonly Json[], index: number, shift: number): number {
  for (let distance = 0; distance <= 8; distance++) {
    if (beginsAs(guide[index + shift + distance])) return shift + distance
    if (beginsAs(guide[index + shift - distance])) return shift - distance
  }
  return shift
}

/** Does the text begin with the same first member, a string, as the object? In most lists that is the name or type. */
function beginsAs(object: Json | undefined): boolean {
  if (!isInternNode(object)) return false
  const [key] = Object.keys(object)
  const value = key === undefined ? undefined : (object as JsonObject)[key]
  return typeof value === 'string' && cursor.text.startsWith(`{"${key}":"${value}"`, cursor.at)
}

/** Decodes a node whose text is expected to match its template, or the second one. */
function decodeAlong(
  pool: InternPool,
  template: Template,
  guide: Json | undefined,
  filter: Filter | undefined,
  depth: number,
): Json {
  const start = cursor.at
  const before = isInternNode(guide) && Array.isArray(guide) === Array.isArray(template.node) ? guide : template.node
  const known =
    fill(pool, template, before, filter, depth) ?? (template.other && fill(pool, template.other, before, filter, depth))
  if (known !== undefined) return known
  const value = decodeValue(pool, before, filter, depth)
  learnOther(template, value, filter, start)
  return value
}

/** Takes differing values from the text, all others from the guide or the template. Undefined if the text does not match. */
function fill(
  pool: InternPool,
  template: Template,
  guide: InternNode,
  filter: Filter | undefined,
  depth: number,
): Json | undefined {
  const base = restarted < restarts ? baseOf(guide, template) : undefined
  if (base === undefined) return undefined
  const start = cursor.at
  const since = pool.created
  const { node, parts, tail } = template
  const values: Json[] = []
  let isChanged = base !== guide
  for (const { text, key, inner, skip: skipped } of parts) {
    if (!cursor.skipText(text)) return startOver(start)
    if (key === undefined) {
      skipAlong(skipped!)
      continue
    }
    // An empty list matches the text before a first item.
    if (key === 0 && cursor.token() === closeArray) return startOver(start)
    const old = (guide as JsonObject)[key]
    const before = old === undefined ? (node as JsonObject)[key] : old
    const value = inner
      ? decodeAlong(pool, inner, before, typeof key === 'string' ? filter?.only?.get(key) : filter, depth + 1)
      : decodeValue(pool, before, undefined, depth + 1)
    if (!isSameValue(value, before)) isChanged = true
    values.push(value)
  }
  if (!cursor.skipText(tail)) return startOver(start)
  if (!isChanged) return base
  const copy = (Array.isArray(base) ? base.slice() : { ...(base as JsonObject) }) as Record<string, Json>
  let index = 0
  for (const { key } of parts) if (key !== undefined) copy[key] = values[index++]!
  return finishNode(pool, copy, filter, since)
}

function startOver(start: number): undefined {
  restarted++
  cursor.at = start
}

/**
 * The source of the values that are fixed in the template: the guide if it has the same ones, otherwise the node that the
 * template was learnt from. Undefined if the guide has another node in such a place: it may be equal and must then be kept.
 */
function baseOf(guide: InternNode, template: Template): InternNode | undefined {
  return Array.isArray(guide)
    ? baseOfItems(guide as readonly Json[], template)
    : baseOfMembers(guide as JsonObject, template)
}

function baseOfItems(guide: readonly Json[], { node, slots }: Template): InternNode | undefined {
  let isFit = 2 * guide.length === slots.length
  for (let index = 0; index < guide.length; index++) {
    const value = guide[index]!
    const fixed = 2 * index < slots.length ? slots[2 * index + 1] : null
    if (fixed === undefined || isSameValue(value, fixed)) continue
    if (isInternNode(value)) return undefined
    isFit = false
  }
  return isFit ? guide : node
}

function baseOfMembers(guide: JsonObject, { node, slots, parts }: Template): InternNode | undefined {
  let isFit = true
  let slot = 0
  for (const key in guide) {
    const value = guide[key]
    if (key !== slots[slot]) {
      isFit = false
      if (isInternNode(value) && value !== (node as JsonObject)[key] && !hasPart(parts, key)) return undefined
    } else {
      const fixed = slots[slot + 1]
      if (fixed !== undefined && !isSameValue(fixed, value)) {
        isFit = false
        if (isInternNode(value)) return undefined
      }
    }
    slot += 2
  }
  return isFit && slot === slots.length ? guide : node
}

function hasPart(parts: readonly TemplatePart[], key: string): boolean {
  return parts.some((part) => part.key === key)
}
