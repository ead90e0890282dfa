/**
 * Templates: how objects of one make spell what they have in common.
 *
 * Thousands of Pods of one ReplicaSet differ in a few dozen strings: names, addresses, times. The text in between is
 * the same for all of them. A template, learnt from one object and a sibling of it, holds that text cut at the places
 * where the two differ; along it, an object is decoded with one comparison a cut. What no longer fits, at whatever
 * level, is decoded in the ordinary way: a template that is wrong or missing costs time, never correctness.
 */
import type { Json, JsonObject } from '../kube/json.ts'
import type { KubeObject, ObjectMeta } from '../kube/object.ts'
import { backslash, closeArray, closeObject, colon, cursor, quote } from './cursor.ts'
import { type Filter, isUnwanted } from './filter.ts'
import { isSameValue, type InternNode } from './intern.ts'

/** The spelling of one node. */
export interface Template {
  /** What the template was learnt from. */
  readonly node: InternNode
  /** For each member or item its key, then what all objects of this make have there: undefined where they differ. */
  readonly slots: readonly (Json | undefined)[]
  readonly parts: readonly TemplatePart[]
  /** The text behind the last part. */
  readonly tail: string
  /** How else the node is spelled: an object that is ready may say other things than one that is not. */
  other: Template | undefined
  /** How often the text was neither the one nor the other. */
  misses: number
}

/** A place where objects of one make differ. */
export interface TemplatePart {
  /** The text from the part before, or the beginning, to the value. */
  readonly text: string
  /** The member or item; undefined if it is not kept. */
  readonly key: string | number | undefined
  /** The spelling of a node that is alike in part. */
  readonly inner: Template | undefined
  /** For what is not kept: how to step over it. */
  readonly skip: Skip | undefined
}

/** Text that is stepped over. */
export interface Skip {
  /** Spellings known: the pieces between strings that may differ. */
  readonly spellings: (readonly string[])[]
  /** A text that was spelled otherwise. The next such text tells what the two have in common. */
  odd: string | undefined
}

/** Objects of one make: the spelling of their members. */
export interface Make {
  readonly members: ReadonlyMap<string, Template>
  /** Members that are not kept. */
  readonly skips: ReadonlyMap<string, Skip>
}

export interface Templates {
  /** How objects like this one are spelled, if it is known. */
  find(object: KubeObject): Make | undefined
  /** An object whose text the cursor holds was decoded along this guide. */
  observe(object: KubeObject, guide: KubeObject): void
}

/** Objects that are alike. */
interface Kin {
  /** One of them, to compare others with. */
  sample: KubeObject
  /** How often one of them was seen while their make was not known. */
  sightings: number
  make: Make | undefined
  /** About how much text the make holds. */
  characters: number
}

/** Characters that the templates of one resource hold. When they are used up, the oldest is forgotten. */
const limit = 1 << 23

/** A make that is asked for so often is worth its memory. */
const enough = 6

/** Of so many texts that are not known, one is learnt. */
const patience = 3

/** How many spellings are kept of text that is stepped over. */
const spellings = 2

/** Deeper nodes are not worth a template. */
const deepest = 64

/**
 * The makes of one resource. Objects with the same labels are taken to be of one make: as labels are shared, the node
 * itself tells. All others are taken to be of a common one.
 */
export function createTemplates(filter: Filter | undefined, ofMetadata: Filter): Templates {
  const isKept = (key: string): boolean => key === 'metadata' || !filter || !isUnwanted(filter, key)
  const filterOf = (key: string): Filter | undefined => (key === 'metadata' ? ofMetadata : filter?.only?.get(key))
  const families = new WeakMap<object, Kin>()
  const learnt: Kin[] = []
  let others: Kin | undefined
  let held = 0

  const kinOf = (object: KubeObject, guide: KubeObject): Kin => {
    const labels = labelsOf(object)
    const known = labels && families.get(labels)
    if (known) return known
    const kin = { sample: guide, sightings: 0, make: undefined, characters: 0 }
    if (labels && labels === labelsOf(guide) && isOther(object, guide)) {
      families.set(labels, kin)
      return kin
    }
    return (others ??= kin)
  }

  const makeRoom = (characters: number): void => {
    held += characters
    while (held > limit) {
      const oldest = learnt.shift()!
      oldest.make = undefined
      held -= oldest.characters
    }
  }

  const learnMake = (object: JsonObject, guide: JsonObject): Make => {
    const members = new Map<string, Template>()
    const skips = new Map<string, Skip>()
    cursor.at = 0
    for (let key = cursor.firstKey(); key !== undefined; key = cursor.nextKey()) {
      cursor.token()
      const start = cursor.at
      if (isKept(key)) {
        const template =
          key !== '__proto__' &&
          isAlike(object[key], guide[key]) &&
          learnNode(object[key] as InternNode, guide[key] as InternNode, filterOf(key), 0)
        if (template) members.set(key, template)
        cursor.at = start
        cursor.skipValue()
      } else skips.set(key, readSkip())
    }
    return { members, skips }
  }

  return {
    find(object) {
      const labels = labelsOf(object)
      return (labels && families.get(labels)?.make) ?? others?.make
    },
    observe(object, guide) {
      if (!cursor.isAscii) return
      const kin = kinOf(object, guide)
      if (kin.make || !isOther(object, kin.sample) || ++kin.sightings < enough) return
      kin.sightings = 0
      // Other spellings, learnt later, may take as much again.
      kin.characters = 2 * cursor.text.length
      if (kin.characters > limit) return
      makeRoom(kin.characters)
      kin.make = learnMake(object as unknown as JsonObject, kin.sample as unknown as JsonObject)
      learnt.push(kin)
    },
  }
}

/** Nobody has checked yet that the metadata is what it should be. */
function labelsOf({ metadata }: { readonly metadata?: unknown }): object | undefined {
  const labels = (metadata as ObjectMeta | null | undefined)?.labels
  return typeof labels === 'object' && labels !== null ? labels : undefined
}

/** Two objects, not two states of one. */
export function isOther(a: { readonly metadata?: unknown }, b: { readonly metadata?: unknown }): boolean {
  const left = a.metadata as ObjectMeta | null | undefined
  return left?.uid !== (b.metadata as ObjectMeta | null | undefined)?.uid
}

/** The text from `start` to the cursor, decoded into `value`, was not spelled as the template says. */
export function learnOther(template: Template, value: Json, filter: Filter | undefined, start: number): void {
  if (++template.misses % patience > 0 || !cursor.isAscii || !isAlike(value, template.node)) return
  const end = cursor.at
  cursor.at = start
  template.other = learnNode(value as InternNode, template.node, filter, 0)
  cursor.at = end
}

/** Learns from text that was decoded into `node`, and from the node in its place in a sibling. The cursor stands before it. */
function learnNode(
  node: InternNode,
  sibling: InternNode,
  filter: Filter | undefined,
  depth: number,
): Template | undefined {
  const isArray = Array.isArray(node)
  const close = isArray ? closeArray : closeObject
  const parts: TemplatePart[] = []
  const keys = new Set<string | number>()
  let from = cursor.at
  const cut = (part: Partial<TemplatePart>, at: number): void => {
    parts.push({ text: cursor.copy(from, at), key: undefined, inner: undefined, skip: undefined, ...part })
    from = cursor.at
  }
  cursor.at++
  for (let code = cursor.token(); code !== close; code = cursor.next(close)) {
    const key = isArray ? keys.size : readPlainKey()
    if (key === undefined || key === '__proto__' || keys.has(key)) return undefined
    keys.add(key)
    const start = cursor.at
    if (typeof key === 'string' && filter && isUnwanted(filter, key)) {
      cut({ skip: readSkip() }, start)
      continue
    }
    const value = (node as JsonObject)[key]!
    const other = Object.hasOwn(sibling, key) ? (sibling as JsonObject)[key] : undefined
    const below = typeof key === 'string' ? filter?.only?.get(key) : filter
    if (below === undefined && isSameValue(value, other)) cursor.skipValue()
    else if (isAlike(value, other) && depth < deepest) {
      const inner = learnNode(value as InternNode, other as InternNode, below, depth + 1)
      if (inner === undefined) return undefined
      cut({ key, inner }, start)
    } else {
      if (below !== undefined) return undefined
      cursor.skipValue()
      cut({ key }, start)
    }
  }
  cursor.at++
  const differing = new Set(parts.map(({ key }) => String(key)))
  const slots = Object.entries(node).flatMap(([key, value]) => [key, differing.has(key) ? undefined : (value as Json)])
  return { node, slots, parts, tail: cursor.copy(from, cursor.at), other: undefined, misses: 0 }
}

/** Two objects, or two arrays. */
function isAlike(a: Json | undefined, b: Json | undefined): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  return Array.isArray(a) === Array.isArray(b)
}

function readSkip(): Skip {
  const start = cursor.at
  cursor.skipValue()
  return { spellings: [], odd: cursor.copy(start, cursor.at) }
}

/** The key before the cursor, which goes on to the value; undefined if it is spelled with escapes. */
function readPlainKey(): string | undefined {
  const opening = cursor.at
  const closing = cursor.skipString()
  if (cursor.hasEscape) return undefined
  cursor.expect(colon)
  cursor.token()
  return cursor.parseString(opening, closing)
}

/** Steps over a value that is not kept, and learns how such values are spelled. */
export function skipAlong(skip: Skip): void {
  const start = cursor.at
  for (const pieces of skip.spellings) {
    if (skipPieces(pieces)) return
    cursor.at = start
  }
  cursor.skipValue()
  if (skip.spellings.length >= spellings || !cursor.isAscii) return
  const text = cursor.copy(start, cursor.at)
  const pieces = skip.odd === undefined ? undefined : commonPieces(skip.odd, text)
  if (pieces) skip.spellings.push(pieces)
  skip.odd = pieces ? undefined : text
}

function skipPieces(pieces: readonly string[]): boolean {
  for (let index = 0; index < pieces.length; index++) {
    if (index > 0) {
      if (cursor.codes[cursor.at] !== quote) return false
      cursor.skipString()
    }
    if (!cursor.skipText(pieces[index]!)) return false
  }
  return true
}

/** The text of two values between the strings in which they differ; undefined if they differ in more than that. */
export function commonPieces(a: string, b: string): readonly string[] | undefined {
  const pieces: string[] = []
  let from = 0
  let opened = -1
  let left = 0
  let right = 0
  while (left < a.length || right < b.length) {
    const code = a.charCodeAt(left)
    if (code === b.charCodeAt(right)) {
      left++
      right++
      if (opened >= 0 && code === backslash) {
        // What is escaped is never the end of a string.
        if (a.charCodeAt(left) !== b.charCodeAt(right)) return undefined
        left++
        right++
      } else if (code === quote) opened = opened < 0 ? left - 1 : -1
      continue
    }
    if (opened < 0) return undefined
    pieces.push(a.slice(from, opened))
    left = stringEnd(a, left)
    right = stringEnd(b, right)
    from = left
    opened = -1
  }
  pieces.push(a.slice(from))
  return pieces
}

/** From within a string to behind its closing quote. */
function stringEnd(text: string, at: number): number {
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1
  return at + 1
}
