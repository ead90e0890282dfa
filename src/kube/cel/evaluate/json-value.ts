/**
 * JSON as CEL values. A view is created lazily, and reads the JSON only where the expression does; the type decides how it is
 * read: the same text is a string, a timestamp or bytes. Data without a type is taken as it is: an integer is an int, another
 * number a double.
 */
import { type Json, type JsonObject, equalJson, isJsonObject } from '../../json.ts'
import { parseSchemaDuration } from '../../units/schema-duration.ts'
import { equalValues } from '../library/compare.ts'
import { CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { escapeName, unescapeName } from '../value/escape.ts'
import { checkedInt } from '../value/integer.ts'
import { spendSteps } from '../value/steps.ts'
import { parseDate, parseTimestamp } from '../value/time.ts'
import { type CelType, dynType } from '../value/type.ts'
import { CelArray, CelDouble, CelDuration, CelList, CelMap, CelTimestamp, type CelValue } from '../value/value.ts'

/** Throws a CelRuntimeError if the JSON does not match the type. */
export function celValueOf(json: Json | undefined, type: CelType = dynType): CelValue {
  if (json === null || json === undefined) {
    if (type.kind === 'dyn' ? type.format === undefined || type.nullable : type.nullable) return null
    throw invalid('got null for schema with nullable=false')
  }
  switch (type.kind) {
    case 'string':
      if (typeof json !== 'string') throw invalid(`expected string, got ${goType(json)}`)
      return json
    case 'int':
      if (typeof json === 'number' && Number.isInteger(json)) return json
      if (typeof json === 'bigint') return checkedInt(json)
      throw invalid(`expected int, got ${goType(json)}`)
    case 'bool':
      if (typeof json !== 'boolean') throw invalid(`expected bool, got ${goType(json)}`)
      return json
    case 'double':
      if (typeof json !== 'number' && typeof json !== 'bigint') throw invalid(`expected float, got ${goType(json)}`)
      return new CelDouble(Number(json))
    case 'object':
    case 'map':
      if (!isJsonObject(json)) throw invalid('expected a map for the provided schema with type=object')
      return new JsonMap(json, type)
    case 'list':
      if (!Array.isArray(json)) throw invalid('expected an array for the provided schema with type=array')
      return listOf(json as readonly Json[], type)
    case 'timestamp':
    case 'duration':
    case 'bytes':
      if (typeof json !== 'string') throw invalid(`expected string, got ${goType(json)}`)
      return formatted(json, type)
    default:
      return type.format === 'int-or-string' ? intOrString(json) : untyped(json)
  }
}

const invalid = (message: string): CelRuntimeError => new CelRuntimeError(`invalid data, ${message}`)

function goType(json: Json): string {
  if (typeof json === 'string') return 'string'
  if (typeof json === 'boolean') return 'bool'
  if (typeof json === 'bigint') return 'int64'
  if (typeof json === 'number') return Number.isInteger(json) ? 'int64' : 'float64'
  return Array.isArray(json) ? '[]interface {}' : 'map[string]interface {}'
}

function intOrString(json: Json): CelValue {
  if (typeof json === 'string') return json
  if (typeof json === 'number' && Number.isInteger(json)) return json
  if (typeof json === 'bigint') return checkedInt(json)
  throw invalid('expected XIntOrString value to be either a string or integer')
}

function untyped(json: Json): CelValue {
  switch (typeof json) {
    case 'string':
    case 'boolean':
      return json
    case 'number':
      return Number.isSafeInteger(json) ? json : new CelDouble(json)
    case 'bigint':
      return json >= -(2n ** 63n) && json < 2n ** 63n ? json : new CelDouble(Number(json))
    default:
  }
  if (json === null) return null
  return isJsonObject(json) ? new UntypedMap(json) : new UntypedList(json)
}

function formatted(text: string, type: CelType): CelValue {
  switch (type.kind) {
    case 'duration':
      return readDuration(text)
    case 'bytes':
      return readBytes(text)
    default:
      return type.format === 'date' ? readDate(text) : readDateTime(text)
  }
}

function readDateTime(text: string): CelTimestamp {
  if (text === '') return new CelTimestamp(0, 0)
  const time = parseTimestamp(text) ?? parseTimestamp(`${text}Z`)
  if (!time) throw new CelRuntimeError(`Invalid date-time formatted string ${text}`)
  return time
}

function readDate(text: string): CelTimestamp {
  const time = parseDate(text)
  if (!time) throw new CelRuntimeError(`Invalid date formatted string ${text}`)
  return time
}

/** Go's notation, or a number with a word: `3 days`. */
function readDuration(text: string): CelDuration {
  const nanos = parseSchemaDuration(text)
  if (nanos === undefined) throw new CelRuntimeError(`Invalid duration ${text}: unable to parse ${text} as duration`)
  return new CelDuration(nanos)
}

/** Base64 in the URL alphabet, which the server uses here. */
function readBytes(text: string): Uint8Array {
  const plain = text.replaceAll(/[\r\n]/g, '')
  if (plain.length % 4 !== 0 || !/^[A-Za-z0-9_-]*={0,2}$/.test(plain)) {
    const index = plain.search(/[^A-Za-z0-9_=-]/)
    const place = index < 0 ? plain.length - (plain.length % 4) : index
    throw new CelRuntimeError(`Invalid byte formatted string ${text}: illegal base64 data at input byte ${place}`)
  }
  return Buffer.from(plain, 'base64url')
}

function listOf(json: readonly Json[], type: CelType): CelList {
  const element = type.parameters[0]!
  if (type.listType === 'set') return new JsonSet(json, element)
  if (type.listType === 'map') return new JsonMapList(json, element, type.listKeys ?? [])
  return new JsonList(json, element)
}

/** Data without a schema is compared like lists and maps constructed by an expression. */
class UntypedList extends CelList {
  readonly #json: readonly Json[]

  constructor(json: readonly Json[]) {
    super()
    this.#json = json
  }

  get size(): number {
    return this.#json.length
  }

  at(index: number): CelValue {
    return untyped(this.#json[index]!)
  }
}

/** Each call creates the list of keys. */
function keysOf(json: JsonObject): readonly string[] {
  const keys = Object.keys(json)
  spendSteps(Math.floor(keys.length / 10))
  return keys
}

/** One step for each part of a value without a schema. */
function spendOnParts(json: Json | undefined): void {
  spendSteps(1)
  if (typeof json === 'object' && json !== null) Object.values(json).forEach(spendOnParts)
}

class UntypedMap extends CelMap {
  readonly #json: JsonObject

  constructor(json: JsonObject) {
    super()
    this.#json = json
  }

  get size(): number {
    return keysOf(this.#json).length
  }

  find(key: CelValue): CelValue | undefined {
    const value = typeof key === 'string' && Object.hasOwn(this.#json, key) ? this.#json[key] : undefined
    return value === undefined ? undefined : untyped(value)
  }

  keys(): Iterable<CelValue> {
    return keysOf(this.#json)
  }
}

class JsonList extends CelList {
  readonly json: readonly Json[]
  readonly element: CelType

  constructor(json: readonly Json[], element: CelType) {
    super()
    this.json = json
    this.element = element
  }

  get size(): number {
    return this.json.length
  }

  at(index: number): CelValue {
    return celValueOf(this.json[index], this.element)
  }

  override equals(other: CelList): boolean {
    if (this.size !== other.size) return false
    for (let index = 0; index < this.size; index++) {
      spendSteps(1)
      if (!equalValues(this.at(index), other.at(index))) return false
    }
    return true
  }
}

/** A set list: order and repetition do not matter. */
class JsonSet extends JsonList {
  override equals(other: CelList): boolean {
    if (this.size !== other.size) return false
    spendSteps(this.size)
    const own = new Set(Array.from(this, scalarKey))
    const seen = new Set<unknown>()
    for (const element of other) {
      const key = scalarKey(element)
      if (!own.has(key)) return false
      seen.add(key)
    }
    return seen.size === own.size
  }

  override plus(other: CelList): CelList {
    return uniteSets(this, other)
  }
}

/** A set that was made by adding. */
class SetArray extends CelArray {
  override equals(other: CelList): boolean {
    if (this.size !== other.size) return false
    spendSteps(this.size)
    const own = new Set(Array.from(this, scalarKey))
    return Array.from(other, scalarKey).every((key) => own.has(key))
  }

  override plus(other: CelList): CelList {
    return uniteSets(this, other)
  }
}

function uniteSets(a: CelList, b: CelList): CelList {
  spendSteps(a.size + b.size)
  const elements = new Map(Array.from(a, (element) => [scalarKey(element), element] as const))
  for (const element of b) {
    const key = scalarKey(element)
    if (!elements.has(key)) elements.set(key, element)
  }
  return new SetArray([...elements.values()])
}

function scalarKey(value: CelValue): unknown {
  if (value instanceof CelList || value instanceof CelMap) {
    throw new CelRuntimeError('listSet operations are only supported on lists of scalar values')
  }
  if (value instanceof CelDouble) return `double ${value.value}`
  if (value instanceof CelTimestamp) return `timestamp ${value.seconds}.${value.nanos}`
  if (value instanceof CelDuration) return `duration ${value.nanos}`
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  return typeof value === 'string' ? `string ${value}` : value
}

/** A map list: order does not matter, and adding replaces. */
class JsonMapList extends JsonList {
  readonly #keys: readonly string[]

  constructor(json: readonly Json[], element: CelType, keys: readonly string[]) {
    super(json, element)
    this.#keys = keys
  }

  override equals(other: CelList): boolean {
    return equalMapLists(this, other, this.#keys)
  }

  override plus(other: CelList): CelList {
    return mergeMapLists(this, other, this.#keys)
  }
}

class MapListArray extends CelArray {
  readonly #keys: readonly string[]

  constructor(elements: readonly CelValue[], keys: readonly string[]) {
    super(elements)
    this.#keys = keys
  }

  override equals(other: CelList): boolean {
    return equalMapLists(this, other, this.#keys)
  }

  override plus(other: CelList): CelList {
    return mergeMapLists(this, other, this.#keys)
  }
}

function entryKey(value: CelValue, keys: readonly string[]): string {
  return JSON.stringify(
    keys.map((key) => {
      const found = value instanceof CelMap ? value.find(key) : undefined
      return found === undefined ? null : String(scalarKey(found))
    }),
  )
}

function equalMapLists(a: CelList, b: CelList, keys: readonly string[]): boolean {
  if (a.size !== b.size) return false
  spendSteps(a.size)
  const own = new Map(Array.from(a, (element) => [entryKey(element, keys), element] as const))
  const seen = new Set<string>()
  for (const element of b) {
    const key = entryKey(element, keys)
    const mine = own.get(key)
    if (mine === undefined || !equalValues(mine, element)) return false
    seen.add(key)
  }
  return seen.size === own.size
}

function mergeMapLists(a: CelList, b: CelList, keys: readonly string[]): CelList {
  spendSteps(a.size + b.size)
  const elements = new Map(Array.from(a, (element) => [entryKey(element, keys), element] as const))
  for (const element of b) elements.set(entryKey(element, keys), element)
  return new MapListArray([...elements.values()], keys)
}

/** An object of a schema, or a map. */
export class JsonMap extends CelMap {
  readonly json: JsonObject
  readonly type: CelType

  constructor(json: JsonObject, type: CelType) {
    super()
    this.json = json
    this.type = type
  }

  get size(): number {
    return keysOf(this.json).length
  }

  find(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') throw noSuchOverload()
    if (this.type.kind !== 'object') {
      const value = Object.hasOwn(this.json, key) ? this.json[key] : undefined
      return value === undefined ? undefined : celValueOf(value, this.type.parameters[1])
    }
    const property = this.type.fields!.get(key)?.property ?? unescapeName(key)
    return property === undefined ? undefined : this.member(property)
  }

  /** By the name in JSON. Null means absent in an object of a schema. */
  member(property: string): CelValue | undefined {
    const value = Object.hasOwn(this.json, property) ? this.json[property] : undefined
    const type = this.type.properties!.get(property)
    return value === undefined || value === null || type === undefined ? undefined : celValueOf(value, type)
  }

  *keys(): Iterable<CelValue> {
    for (const key of keysOf(this.json)) {
      if (this.type.kind !== 'object') yield key
      else if (this.type.properties!.has(key)) yield escapeName(key) ?? key
    }
  }

  override equals(other: CelMap): boolean {
    if (this.size !== other.size) return false
    if (this.type.kind !== 'object') {
      for (const key of this.keys()) {
        const theirs = other.find(key)
        if (theirs === undefined || !equalValues(this.find(key)!, theirs)) return false
      }
      return true
    }
    return keysOf(this.json).every((property) => this.#isEqualMember(property, other))
  }

  #isEqualMember(property: string, other: CelMap): boolean {
    const type = this.type.properties!.get(property)
    if (type !== undefined && type.kind !== 'preserved') {
      const [own, theirs] = [this.member(property), other.find(escapeName(property) ?? property)]
      if (own === undefined || theirs === undefined) return own === theirs
      return equalValues(own, theirs)
    }
    if (!(other instanceof JsonMap)) throw noSuchOverload()
    const theirs = Object.hasOwn(other.json, property) ? other.json[property] : undefined
    // Fields unknown to the schema and missing in the other are not compared, as on the server.
    if (theirs === undefined) return type === undefined
    spendOnParts(theirs)
    return equalJson(this.json[property], theirs)
  }
}
