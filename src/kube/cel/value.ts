/**
 * Values of CEL expressions, and the JavaScript that stands for them:
 *
 * | CEL       | JavaScript                                                            |
 * | --------- | --------------------------------------------------------------------- |
 * | bool      | boolean                                                               |
 * | int       | number while it is a safe integer, bigint beyond: never both for one  |
 * | uint      | {@link CelUint}                                                       |
 * | double    | {@link CelDouble}: integers are many and doubles few, so these pay    |
 * | string    | string                                                                |
 * | bytes     | Uint8Array                                                            |
 * | null      | null                                                                  |
 * | timestamp | {@link CelTimestamp}                                                  |
 * | duration  | {@link CelDuration}                                                   |
 * | list, map | {@link CelList}, {@link CelMap}: made by an expression, or a view of JSON |
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

/** A point of time. It remembers the zone that it was written in, and is written in that zone again. */
export class CelTimestamp {
  /** Since the epoch, rounded down. */
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
  /** undefined: there is none. */
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

/** A value that only functions can look into. */
export class CelOpaque {
  readonly type: CelType
  readonly content: unknown
  constructor(type: CelType, content: unknown) {
    this.type = type
    this.content = content
  }
}

/** A list; `Lists` of JSON make their elements when they are asked for. */
export abstract class CelList implements Iterable<CelValue> {
  abstract readonly size: number
  /** `index` is within bounds. */
  abstract at(index: number): CelValue
  /** Lists that are sets or maps to Kubernetes compare and add in their own way; undefined: as lists do. */
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

/** Two lists in a row. Adding costs one however long they are, so nothing is copied. */
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
    // Not by recursion: a chain may be longer than the stack.
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
  /** undefined: there is no such key. A key that the map cannot have may raise an error. */
  abstract find(key: CelValue): CelValue | undefined
  abstract keys(): Iterable<CelValue>
  /** Objects of a schema compare what the schema does not know as well; undefined: as maps do. */
  equals?(other: CelMap): boolean
}

type PlainKey = string | boolean | number | bigint
type Entries = ReadonlyMap<PlainKey, { readonly key: CelValue; readonly value: CelValue }>

/** A map that an expression made. Keys are strings, bools, ints and uints; numbers that are equal are the same key. */
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

/** A map in the making. */
export class CelPairs {
  readonly #entries = new Map<PlainKey, { readonly key: CelValue; readonly value: CelValue }>()

  /** False when the key is there already. */
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
  // Keys of other types can be made, but nothing finds them again.
  return plainKey(key) ?? (key instanceof CelDouble ? `double ${key.value}` : typeOfValue(key).name)
}

/** Equal numbers of any type find the same entry; undefined: nothing can be found by it. */
function plainKey(key: CelValue): PlainKey | undefined {
  if (typeof key === 'string' || typeof key === 'boolean' || typeof key === 'number' || typeof key === 'bigint')
    return key
  if (key instanceof CelUint) return intOf(key.value)
  if (key instanceof CelDouble) return Number.isInteger(key.value) ? intOf(BigInt(key.value)) : undefined
  return undefined
}

/** The one representation of an integer: a number if that is exact. */
export function intOf(value: bigint): CelInt {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value
}

export function isInt(value: CelValue): value is CelInt {
  return typeof value === 'number' || typeof value === 'bigint'
}

/** The type of a value as `type()` gives it: without parameters. */
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

/** Whether a value may be passed where `type` is declared. Of a list or map only the first element is looked at. */
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

/** What `value` counts as in costs: elements of a list, characters of a string, 1 of anything else. */
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

/** CEL counts characters, JavaScript halves of them. */
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

/** Absent, empty or null: what `optional.ofNonZeroValue` leaves out. */
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
  // Views of JSON do not say that they are empty: to the server they never are.
  if (value instanceof CelArray || value instanceof CelConcatenation) return value.size === 0
  if (value instanceof CelEntries) return value.size === 0
  return false
}
