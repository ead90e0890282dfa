/**
 * Templates: the JSON text that similar objects have in common.
 *
 * Thousands of Pods of one ReplicaSet differ in a few dozen strings: names, addresses, times. The text in between is
 * identical. A template, learnt from two similar objects, holds that text, split where the two differ; with it an object
 * is decoded by one text comparison per part. Text that does not match, at any level, is decoded in the ordinary way: a
 * wrong or missing template costs time, never correctness.
 */
import type { Json, JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { KubeObject, ObjectMeta } from '../../kube/object.ts'
import { backslash, closeArray, closeObject, colon, cursor, quote } from './cursor.ts'
import { type Filter, isUnwanted } from './filter.ts'
import { isSameValue, type InternNode } from './intern.ts'

/** The text of one node. */
export interface Template {
  /** The node that the template was learnt from. */
  readonly node: InternNode
  /** For each member or item its key, then the value that all objects of the group have: undefined where they differ. */
  readonly slots: readonly (Json | undefined)[]
  readonly parts: readonly TemplatePart[]
  /** The text after the last part. */
  readonly tail: string
  /** A second text of the node: a ready object has other conditions than one that is not ready. */
  other: Template | undefined
  /** How often the text matched neither. */
  misses: number
}

/** A place where the objects of a group differ. */
export interface TemplatePart {
  /** The text between the previous part, or the beginning, and the value. */
  readonly text: string
  /** The member or item; undefined if it is not kept. */
  readonly key: string | number | undefined
  /** The template of a node that is partly the same. */
  readonly inner: Template | undefined
  /** For a member that is not kept: how to skip it. */
  readonly skip: Skip | undefined
}

/** A value that is skipped. */
export interface Skip {
  /** Known texts: the pieces between the strings that may differ. */
  readonly variants: (readonly string[])[]
  /** The last text that did not match. The next one is compared with it to learn their common pieces. */
  unmatched: string | undefined
}

/** The templates of the members of similar objects. */
export interface ObjectTemplate {
  readonly members: ReadonlyMap<string, Template>
  /** Members that are not kept. */
  readonly skips: ReadonlyMap<string, Skip>
}

export interface Templates {
  /** The template for objects similar to this one, if it has been learnt. */
  find(object: KubeObject): ObjectTemplate | undefined
  /** To be called after the object, whose text the cursor holds, was decoded with this guide. */
  observe(object: KubeObject, guide: KubeObject): void
}

/** A group of similar objects. */
interface TemplateGroup {
  /** The object that others are compared with. */
  sample: KubeObject
  /** How many of its objects were decoded without a template. */
  seen: number
  template: ObjectTemplate | undefined
  /** Approximate size of the template. */
  characters: number
}

/** Limit of characters in the templates of one resource. Beyond it, the oldest is dropped. */
const limit = 1 << 23

/** After this many objects a template is worth its memory. */
const enough = 6

/** One of so many texts that do not match is learnt. */
const missesPerLesson = 3

/** How many texts are kept per skipped value. */
const maxVariants = 2

/** Deeper nodes are not worth a template. */
const deepest = 64

/**
 * The templates of one resource. Objects with the same labels form a group: equal labels are interned, so their reference
 * identifies the group. All other objects form one common group.
 */
export function createTemplates(filter: Filter | undefined, ofMetadata: Filter): Templates {
  const isKept = (key: string): boolean => key === 'metadata' || !filter || !isUnwanted(filter, key)
  const filterOf = (key: string): Filter | undefined => (key === 'metadata' ? ofMetadata : filter?.only?.get(key))
  const groups = new WeakMap<object, TemplateGroup>()
  const learnt: TemplateGroup[] = []
  let others: TemplateGroup | undefined
  let held = 0

  const groupOf = (object: KubeObject, guide: KubeObject): TemplateGroup => {
    const labels = labelsOf(object)
    const known = labels && groups.get(labels)
    if (known) return known
    const group = { sample: guide, seen: 0, template: undefined, characters: 0 }
    if (labels && labels === labelsOf(guide) && isOther(object, guide)) {
      groups.set(labels, group)
      return group
    }
    return (others ??= group)
  }

  const makeRoom = (characters: number): void => {
    held += characters
    while (held > limit) {
      const oldest = learnt.shift()!
      oldest.template = undefined
      held -= oldest.characters
    }
  }

  const learnObject = (object: JsonObject, guide: JsonObject): ObjectTemplate => {
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
      return (labels && groups.get(labels)?.template) ?? others?.template
    },
    observe(object, guide) {
      if (!cursor.isAscii) return
      const group = groupOf(object, guide)
      if (group.template || !isOther(object, group.sample) || ++group.seen < enough) return
      group.seen = 0
      // Second texts, learnt later, may take as much again.
      group.characters = 2 * cursor.text.length
      if (group.characters > limit) return
      makeRoom(group.characters)
      group.template = learnObject(asJson(object), asJson(group.sample))
      learnt.push(group)
    },
  }
}

/** The metadata has not been validated yet. */
function labelsOf({ metadata }: { readonly metadata?: unknown }): object | undefined {
  const labels = (metadata as ObjectMeta | null | undefined)?.labels
  return typeof labels === 'object' && labels !== null ? labels : undefined
}

/** Two different objects, not two versions of one. */
export function isOther(a: { readonly metadata?: unknown }, b: { readonly metadata?: unknown }): boolean {
  const left = a.metadata as ObjectMeta | null | undefined
  return left?.uid !== (b.metadata as ObjectMeta | null | undefined)?.uid
}

/** To be called when the text from `start` to the cursor, decoded into `value`, did not match the template. */
export function learnOther(template: Template, value: Json, filter: Filter | undefined, start: number): void {
  if (++template.misses % missesPerLesson > 0 || !cursor.isAscii || !isAlike(value, template.node)) return
  const end = cursor.at
  cursor.at = start
  template.other = learnNode(value as InternNode, template.node, filter, 0)
  cursor.at = end
}

/** Learns from the text of `node`, before which the cursor stands, and from the corresponding node of a similar object. */
function learnNode(
  node: InternNode,
  similar: InternNode,
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
    const other = Object.hasOwn(similar, key) ? (similar as JsonObject)[key] : undefined
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
  return { variants: [], unmatched: cursor.copy(start, cursor.at) }
}

/** Reads a key and moves the cursor to its value; undefined if the key contains escapes. */
function readPlainKey(): string | undefined {
  const opening = cursor.at
  const closing = cursor.skipString()
  if (cursor.hasEscape) return undefined
  cursor.expect(colon)
  cursor.token()
  return cursor.parseString(opening, closing)
}

/** Skips a value that is not kept, and learns the text of such values. */
export function skipAlong(skip: Skip): void {
  const start = cursor.at
  for (const pieces of skip.variants) {
    if (skipPieces(pieces)) return
    cursor.at = start
  }
  cursor.skipValue()
  if (skip.variants.length >= maxVariants || !cursor.isAscii) return
  const text = cursor.copy(start, cursor.at)
  const pieces = skip.unmatched === undefined ? undefined : commonPieces(skip.unmatched, text)
  if (pieces) skip.variants.push(pieces)
  skip.unmatched = pieces ? undefined : text
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
        // An escaped character never ends a string.
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

/** The position after the closing quote, from within a string. */
function stringEnd(text: string, at: number): number {
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1
  return at + 1
}
