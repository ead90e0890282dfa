/**
 * The intern pool: equal values are kept once.
 *
 * Values are interned from the leaves up. So two nodes are equal exactly if their members are the same references, and one
 * comparison per member decides; results are frozen. The pool has two generations: a value found in the old one moves to
 * the young one; when the young one is full it becomes the old one, and values that were not used since are dropped. There
 * is no reference counting, no sweep and no rehash, and the memory of the pool is bounded. Dropping a value costs sharing,
 * never correctness.
 */
import type { Json, JsonObject } from '../../kube/json.ts'
import type { Cursor } from './cursor.ts'

/** An object or an array. */
export type InternNode = readonly Json[] | JsonObject

interface InternOptions {
  /** Values per generation. @default 16_384: more find no more duplicates, measured on 20,000 Pods */
  readonly entries?: number
  /** Characters of strings per generation. @default 1_048_576 */
  readonly characters?: number
}

export interface InternPool {
  /** The interned equal of a parsed value; a new value is frozen, deeply. The argument must not be used afterwards. */
  value(fresh: Json): Json
  string(text: string): string
  /** Interns the string whose quotes are at these positions, and which contains no escape. */
  stringAt(cursor: Cursor, opening: number, closing: number): string
  /**
   * The interned equal of a node whose members are interned already; `fresh` itself, frozen, if there is none. `since` is
   * the value of `created` before its members were interned.
   */
  node<T extends InternNode>(fresh: T, since: number): T
  /** How many values were new. A node with a new part cannot have an interned equal. */
  readonly created: number
  stats(): InternStats
}

interface InternStats {
  readonly strings: { readonly held: number; readonly hits: number; readonly misses: number }
  readonly nodes: { readonly held: number; readonly hits: number; readonly misses: number }
}

/** Slots to probe for a value. A longer search would let crafted keys make the pool slow. */
const reach = 8

/** Deeper nodes are frozen but not interned: the recursion must not overflow the stack. */
const deepest = 500

const firstSlots = 1 << 10

interface Generation<T> {
  readonly hashes: Int32Array
  readonly values: (T | undefined)[]
  readonly mask: number
  held: number
  characters: number
}

function generation<T>(slots: number): Generation<T> {
  return {
    hashes: new Int32Array(slots),
    values: Array<T | undefined>(slots).fill(undefined),
    mask: slots - 1,
    held: 0,
    characters: 0,
  }
}

/** Two generations of one kind of value. */
class Generations<T> {
  young: Generation<T>
  old: Generation<T>
  readonly #entries: number
  readonly #characters: number
  hits = 0
  misses = 0

  constructor(entries: number, characters: number) {
    // Many pools are never used.
    this.young = generation(1)
    this.old = generation(1)
    this.#entries = entries
    this.#characters = characters
  }

  add(hash: number, value: T, characters: number): void {
    if (this.young.held >= this.young.mask >> 1 || this.young.characters > this.#characters) this.#age()
    const { hashes, values, mask } = this.young
    let slot = hash & mask
    for (let step = 0; step < reach && values[slot] !== undefined; step++) slot = (slot + 1) & mask
    if (values[slot] === undefined) this.young.held++
    this.young.characters += characters
    hashes[slot] = hash
    values[slot] = value
  }

  #age(): void {
    const slots = Math.min(Math.max(2 * (this.young.mask + 1), firstSlots), 2 * this.#entries)
    this.old = this.young
    this.young = generation(slots)
  }
}

export function createInternPool(options: InternOptions = {}): InternPool {
  const entries = options.entries ?? 1 << 14
  const characters = options.characters ?? 1 << 20
  const strings = new Generations<string>(entries, characters)
  const nodes = new Generations<InternNode>(entries, Infinity)

  const findString = ({ hashes, values, mask }: Generation<string>, hash: number, text: string): string | undefined => {
    let slot = hash & mask
    for (let step = 0; step < reach; step++) {
      const candidate = values[slot]
      if (candidate === undefined) return undefined
      if (hashes[slot] === hash && candidate === text) return candidate
      slot = (slot + 1) & mask
    }
    return undefined
  }

  const findNode = (
    { hashes, values, mask }: Generation<InternNode>,
    hash: number,
    node: InternNode,
  ): InternNode | undefined => {
    let slot = hash & mask
    for (let step = 0; step < reach; step++) {
      const candidate = values[slot]
      if (candidate === undefined) return undefined
      if (hashes[slot] === hash && sameMembers(candidate, node)) return candidate
      slot = (slot + 1) & mask
    }
    return undefined
  }

  /** The interned string, if there is one. */
  const lookUp = (hash: number, text: string): string | undefined => {
    let found = findString(strings.young, hash, text)
    if (found === undefined) {
      found = findString(strings.old, hash, text)
      if (found === undefined) {
        strings.misses++
        pool.created++
        return undefined
      }
      strings.add(hash, found, found.length)
    }
    strings.hits++
    return found
  }

  const string = (text: string): string => {
    const hash = hashText(text)
    const found = lookUp(hash, text)
    if (found !== undefined) return found
    strings.add(hash, text, text.length)
    return text
  }

  const node = <T extends InternNode>(fresh: T, since: number): T => {
    if (pool.created !== since) {
      pool.created++
      return Object.freeze(fresh)
    }
    const hash = hashNode(fresh)
    const held = findNode(nodes.young, hash, fresh)
    if (held !== undefined) {
      nodes.hits++
      return held as T
    }
    const found = findNode(nodes.old, hash, fresh)
    if (found === undefined) {
      nodes.misses++
      pool.created++
      Object.freeze(fresh)
    } else nodes.hits++
    nodes.add(hash, found ?? fresh, 0)
    return (found ?? fresh) as T
  }

  const value = (fresh: Json, depth: number): Json => {
    if (typeof fresh === 'string') return string(fresh)
    if (typeof fresh !== 'object' || fresh === null) return fresh
    if (depth > deepest) return freezeDeep(fresh)
    const since = pool.created
    if (Array.isArray(fresh)) {
      const items = fresh as Json[]
      for (let index = 0; index < items.length; index++) items[index] = value(items[index]!, depth + 1)
      return node(items, since)
    }
    const members = fresh as Record<string, Json>
    // An own member named __proto__ is assigned like any other: it exists already, so no setter is called.
    for (const key in members) members[key] = value(members[key]!, depth + 1)
    return node(members, since)
  }

  const pool: InternPool & { created: number } = {
    created: 0,
    value: (fresh) => value(fresh, 0),
    string,
    stringAt(cursor, opening, closing) {
      const text = cursor.text.slice(opening + 1, closing)
      const hash = cursor.isAscii ? hashCodes(cursor.codes, opening + 1, closing) : hashText(text)
      const found = lookUp(hash, text)
      if (found !== undefined) return found
      const copy = cursor.parseString(opening, closing)
      strings.add(hash, copy, copy.length)
      return copy
    },
    node,
    stats() {
      const told = ({ young, old, hits, misses }: Generations<unknown>) => ({
        held: young.held + old.held,
        hits,
        misses,
      })
      return { strings: told(strings), nodes: told(nodes) }
    },
  }
  return pool
}

/**
 * Freezes a whole tree of any depth, level by level, with native functions: an extensible value is a node not frozen yet.
 */
export function freezeDeep<T extends Json>(root: T): T {
  let level: readonly unknown[] = [root].filter(Object.isExtensible)
  while (level.length > 0) {
    level.forEach(Object.freeze)
    level = level.flatMap(valuesOf).filter(Object.isExtensible)
  }
  return root
}

const valuesOf = Object.values as (node: unknown) => readonly unknown[]

/** The same reference, or the same scalar; 0 and -0 differ. */
export function isSameValue(a: Json, b: Json | undefined): boolean {
  return a === b && (a !== 0 || 1 / a === 1 / (b as number))
}

function sameMembers(a: InternNode, b: InternNode): boolean {
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    for (let index = 0; index < a.length; index++) if (!isSameValue(a[index] as Json, b[index] as Json)) return false
    return true
  }
  const left = a as JsonObject
  const right = b as JsonObject
  let surplus = 0
  for (const key in left) {
    if (!isSameValue(left[key]!, right[key])) return false
    surplus++
  }
  for (const _ in right) surplus--
  return surplus === 0
}

/**
 * The hash of a node covers its scalars and, of each inner node, the first scalar only. Its cost does not depend on the size
 * of the tree below; trees that differ elsewhere merely share a slot.
 */
function hashNode(node: InternNode): number {
  return Array.isArray(node) ? hashItems(node as readonly Json[]) : hashMembers(node as JsonObject)
}

function hashItems(items: readonly Json[]): number {
  let hash = items.length + 1
  for (let index = 0; index < items.length && index < 32; index++) hash = mix(hash, hashValue(items[index]!, 0))
  return hash
}

function hashMembers(members: JsonObject): number {
  let hash = 17
  for (const key in members) hash = mix(mix(hash, key.length), hashValue(members[key]!, 0))
  return hash
}

function hashValue(value: Json, depth: number): number {
  if (typeof value === 'string') return hashText(value)
  if (typeof value === 'number') return value | 0
  if (typeof value !== 'object') return typeof value === 'bigint' ? Number(value & 0xffffn) : value ? 5 : 3
  if (value === null) return 1
  if (depth > 3) return 7
  if (Array.isArray(value)) return value.length === 0 ? 11 : mix(value.length, hashValue(value[0] as Json, depth + 1))
  const members = value as JsonObject
  for (const key in members) return mix(key.length, hashValue(members[key]!, depth + 1))
  return 13
}

/** Of a long string: length, end and some of the middle, where names, times and ids differ. */
function hashText(text: string): number {
  const { length } = text
  let hash = length
  for (let index = Math.max(0, length - 8); index < length; index++) hash = mix(hash, text.charCodeAt(index))
  return length > 8 ? mix(mix(hash, text.charCodeAt(length >> 1)), text.charCodeAt(length >> 2)) : hash
}

/** The same for ASCII characters between two positions of a cursor. */
function hashCodes(codes: Uint8Array, start: number, end: number): number {
  const length = end - start
  let hash = length
  for (let index = Math.max(start, end - 8); index < end; index++) hash = mix(hash, codes[index]!)
  return length > 8 ? mix(mix(hash, codes[start + (length >> 1)]!), codes[start + (length >> 2)]!) : hash
}

function mix(hash: number, code: number): number {
  const mixed = Math.imul(hash ^ code, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}
