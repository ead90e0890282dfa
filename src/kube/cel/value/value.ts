/**
 * Values of CEL expressions, and their representation in JavaScript:
 *
 * | CEL       | JavaScript                                                            |
 * | --------- | --------------------------------------------------------------------- |
 * | bool      | boolean                                                               |
 * | int       | number while it is a safe integer, bigint beyond: never both for one  |
 * | uint      | {@link CelUint}                                                       |
 * | double    | {@link CelDouble}: boxed, because integers are common and doubles rare |
 * | string    | string                                                                |
 * | bytes     | Uint8Array                                                            |
 * | null      | null                                                                  |
 * | timestamp | {@link CelTimestamp}                                                  |
 * | duration  | {@link CelDuration}                                                   |
 * | list, map | {@link CelList}, {@link CelMap}: constructed by an expression, or a view of JSON |
 * | optional  | {@link CelOptional}                                                   |
 * | others    | {@link CelOpaque}: a quantity, an address, an authorizer              |
 * | type      | {@link CelTypeValue}                                                  |
 */
import { spendSteps } from './steps.ts'
import {
  type CelType,
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from './type.ts'

export type CelInt = number | bigint

export type CelValue =
  | boolean
  | CelInt
  | string
  | null
  | Uint8Array
  | CelUint
  | CelDouble
  | CelTimestamp
  | CelDuration
  | CelList
  | CelMap
  | CelOptional
  | CelOpaque
  | CelTypeValue

export class CelUint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

export class CelDouble {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** A timestamp. It keeps the zone that it was parsed with, and is formatted in that zone. */
export class CelTimestamp {
  /** Seconds since the epoch, rounded down. */
  readonly seconds: number
  readonly nanos: number
  readonly zoneMinutes: number
  constructor(seconds: number, nanos: number, zoneMinutes = 0) {
    this.seconds = seconds
    this.nanos = nanos
    this.zoneMinutes = zoneMinutes
  }
}

export class CelDuration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class CelOptional {
  /** undefined: absent. */
  readonly value: CelValue | undefined
  constructor(value?: CelValue) {
    this.value = value
  }
}

export const optionalNone: CelOptional = new CelOptional()

export class CelTypeValue {
  readonly type: CelType
  constructor(type: CelType) {
    this.type = type
  }
}

/** A value that only functions can access. */
export class CelOpaque {
  readonly type: CelType
  readonly content: unknown
  constructor(type: CelType, content: unknown) {
    this.type = type
    this.content = content
  }
}

/** A list; lists of JSON create their elements on access. */
export abstract class CelList implements Iterable<CelValue> {
  abstract readonly size: number
  /** `index` is within bounds. */
  abstract at(index: number): CelValue
  /** Set and map lists of Kubernetes have their own comparison and addition; undefined: as for lists. */
  equals?(other: CelList): boolean
  plus?(other: CelList): CelList

  *[Symbol.iterator](): Iterator<CelValue> {
    for (let index = 0; index < this.size; index++) yield this.at(index)
  }
}

export class CelArray extends CelList {
  readonly elements: readonly CelValue[]
  constructor(elements: readonly CelValue[]) {
    super()
    this.elements = elements
  }
  get size(): number {
    return this.elements.length
  }
  at(index: number): CelValue {
    return this.elements[index]!
  }
}

/** Two concatenated lists. Adding costs one for any length, so nothing is copied. */
export class CelConcatenation extends CelList {
  readonly size: number
  readonly #left: CelList
  readonly #right: CelList

  constructor(left: CelList, right: CelList) {
    super()
    this.size = left.size + right.size
    this.#left = left
    this.#right = right
  }

  at(index: number): CelValue {
    const isLeft = index < this.#left.size
    let part = isLeft ? this.#left : this.#right
    let rest = isLeft ? index : index - this.#left.size
    // Iterative: a chain may be longer than the stack.
    while (part instanceof CelConcatenation) {
      spendSteps(1)
      const { size } = part.#left
      if (rest < size) part = part.#left
      else {
        rest -= size
        part = part.#right
      }
    }
    return part.at(rest)
  }

  override *[Symbol.iterator](): Iterator<CelValue> {
    const open: CelList[] = [this]
    for (let part = open.pop(); part; part = open.pop()) {
      spendSteps(1)
      if (part instanceof CelConcatenation) open.push(part.#right, part.#left)
      else yield* part
    }
  }
}

export abstract class CelMap {
  abstract readonly size: number
  /** undefined: no such key. A key of an invalid type may throw. */
  abstract find(key: CelValue): CelValue | undefined
  abstract keys(): Iterable<CelValue>
  /** Objects of a schema also compare fields that the schema does not know; undefined: as for maps. */
  equals?(other: CelMap): boolean
}

type PlainKey = string | boolean | number | bigint
type Entries = ReadonlyMap<PlainKey, { readonly key: CelValue; readonly value: CelValue }>

/** A map constructed by an expression. Keys are strings, bools, ints and uints; equal numbers are the same key. */
export class CelEntries extends CelMap {
  readonly #entries: Entries

  constructor(entries: Entries) {
    super()
    this.#entries = entries
  }

  static of(pairs: Iterable<readonly [CelValue, CelValue]>): CelEntries {
    const entries = new Map<PlainKey, { readonly key: CelValue; readonly value: CelValue }>()
    for (const [key, value] of pairs) entries.set(makeKey(key), { key, value })
    return new CelEntries(entries)
  }

  get size(): number {
    return this.#entries.size
  }

  find(key: CelValue): CelValue | undefined {
    const plain = plainKey(key)
    return plain === undefined ? undefined : this.#entries.get(plain)?.value
  }

  *keys(): Iterable<CelValue> {
    for (const { key } of this.#entries.values()) yield key
  }
}

/** A map under construction. */
export class CelPairs {
  readonly #entries = new Map<PlainKey, { readonly key: CelValue; readonly value: CelValue }>()

  /** False if the key exists. */
  add(key: CelValue, value: CelValue): boolean {
    const plain = makeKey(key)
    if (this.#entries.has(plain)) return false
    this.#entries.set(plain, { key, value })
    return true
  }

  finish(): CelEntries {
    return new CelEntries(this.#entries)
  }
}

function makeKey(key: CelValue): PlainKey {
  // Keys of other types can be stored, but never found.
  return plainKey(key) ?? (key instanceof CelDouble ? `double ${key.value}` : typeOfValue(key).name)
}

/** Equal numbers of any type find the same entry; undefined: never found. */
function plainKey(key: CelValue): PlainKey | undefined {
  if (typeof key === 'string' || typeof key === 'boolean' || typeof key === 'number' || typeof key === 'bigint')
    return key
  if (key instanceof CelUint) return intOf(key.value)
  if (key instanceof CelDouble) return Number.isInteger(key.value) ? intOf(BigInt(key.value)) : undefined
  return undefined
}

/** The canonical representation of an integer: a number if that is exact. */
export function intOf(value: bigint): CelInt {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value
}

export function isInt(value: CelValue): value is CelInt {
  return typeof value === 'number' || typeof value === 'bigint'
}

/** The type of a value as `type()` returns it: without parameters. */
export function typeOfValue(value: CelValue): CelType {
  switch (typeof value) {
    case 'boolean':
      return boolType
    case 'number':
    case 'bigint':
      return intType
    case 'string':
      return stringType
    default:
  }
  if (value === null) return nullType
  if (value instanceof CelList) return listType
  if (value instanceof CelMap) return mapType
  if (value instanceof CelDouble) return doubleType
  if (value instanceof CelUint) return uintType
  if (value instanceof CelTimestamp) return timestampType
  if (value instanceof CelDuration) return durationType
  if (value instanceof Uint8Array) return bytesType
  if (value instanceof CelOptional) return optionalType
  if (value instanceof CelTypeValue) return typeType
  return value.type
}

/** Whether a value is assignable to `type`. Of a list or map only the first element is checked. */
export function isOfType(value: CelValue, type: CelType): boolean {
  if (type.kind === 'dyn' || type.kind === 'variable') return true
  if (type.name !== typeOfValue(value).name) return false
  if (value instanceof CelList) return value.size === 0 || isOfType(value.at(0), type.parameters[0]!)
  if (value instanceof CelMap) {
    for (const key of value.keys()) {
      return isOfType(key, type.parameters[0]!) && isOfType(value.find(key)!, type.parameters[1]!)
    }
  }
  return true
}

/** The size of `value` for costs: elements of a list, characters of a string, 1 for anything else. */
export function celSizeOf(value: CelValue): number {
  if (typeof value === 'string') return codePoints(value)
  if (value instanceof CelList || value instanceof CelMap) return value.size
  if (value instanceof Uint8Array) return value.length
  if (value instanceof CelOptional && value.value !== undefined) return celSizeOf(value.value)
  if (value instanceof CelOpaque && hasSize(value.content)) return value.content.size
  return 1
}

function hasSize(content: unknown): content is { readonly size: number } {
  return typeof content === 'object' && content !== null && 'size' in content && typeof content.size === 'number'
}

/** CEL counts code points, JavaScript UTF-16 units. */
export function codePoints(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length - 1; index++) {
    const high = text.charCodeAt(index)
    if (high >= 0xd800 && high <= 0xdbff) {
      const low = text.charCodeAt(index + 1)
      if (low >= 0xdc00 && low <= 0xdfff) {
        count--
        index++
      }
    }
  }
  return count
}

/** Absent, empty or null: the values that `optional.ofNonZeroValue` omits. */
export function isZeroCelValue(value: CelValue): boolean {
  switch (typeof value) {
    case 'boolean':
      return !value
    case 'number':
      return value === 0
    case 'bigint':
      return false
    case 'string':
      return value === ''
    default:
  }
  if (value === null) return true
  if (value instanceof CelDouble) return value.value === 0
  if (value instanceof CelUint) return value.value === 0n
  if (value instanceof CelDuration) return value.nanos === 0n
  if (value instanceof CelTimestamp) return value.seconds === -62_135_596_800 && value.nanos === 0
  if (value instanceof Uint8Array) return value.length === 0
  // Views of JSON do not report that they are empty: for the server they never are.
  if (value instanceof CelArray || value instanceof CelConcatenation) return value.size === 0
  if (value instanceof CelEntries) return value.size === 0
  return false
}
