/**
 * Go values as templates see them. Plain JSON values stand for the types that Helm's values have; everything else carries its
 * Go type with it:
 *
 * - `undefined` is the absent value (prints `<no value>`), `null` a nil interface
 * - number is `float64`, bigint is `int`, {@link GoInteger} every other integer type
 * - string is `string`: bytes that are not UTF-8 are lone surrogates U+DC80..U+DCFF
 * - an array is `[]interface {}` and an object `map[string]interface {}`, unless {@link withType} gave it another type
 * - Uint8Array is `[]byte`, {@link GoObject} a struct or a pointer to one, {@link GoFunction} a function
 */
import type { GoFunction } from './function-type.ts'

/** An integer that is not an `int`: `int64`, `uint8`, `time.Duration`. */
export class GoInteger {
  readonly type: string
  readonly value: bigint

  constructor(type: string, value: bigint) {
    this.type = type
    this.value = value
  }

  /** Of the same type. */
  withValue(value: bigint): GoInteger {
    return new GoInteger(this.type, value)
  }
}

interface GoObjectOptions {
  /** Exported fields, in order. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** Types of fields that are not evident from their values. */
  readonly fieldTypes?: Readonly<Record<string, string>>
  readonly methods?: Readonly<Record<string, GoFunction>>
  /** The result of `String()` or `Error()`: what is printed. */
  readonly text?: (() => string) | undefined
  /** The value behind it: an instant, a version. */
  readonly inner?: unknown
  /** As encoded in JSON and YAML. */
  readonly json?: unknown
}

/** A struct, or a pointer to one (its type begins with `*`). */
export class GoObject {
  readonly type: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly fieldTypes: Readonly<Record<string, string>>
  readonly methods: Readonly<Record<string, GoFunction>>
  readonly text: (() => string) | undefined
  readonly inner: unknown
  readonly json: unknown

  constructor(type: string, options: GoObjectOptions = {}) {
    this.type = type
    this.fields = options.fields ?? {}
    this.fieldTypes = options.fieldTypes ?? {}
    this.methods = options.methods ?? {}
    this.text = options.text
    this.inner = options.inner
    this.json = options.json ?? this.fields
  }
}

/** A map as a template changes it. */
export type GoMap = Record<string, unknown>

const typeMark = Symbol('Go type')
const nilMark = Symbol('nil')
const methodsMark = Symbol('methods')
const valuesMark = Symbol('values of a subchart')

interface Marked {
  readonly [typeMark]?: string
  readonly [nilMark]?: boolean
  readonly [methodsMark]?: Readonly<Record<string, GoFunction>>
  readonly [valuesMark]?: boolean
}

export const anyListType = '[]interface {}'
export const anyMapType = 'map[string]interface {}'
export const valuesType = 'common.Values'

/**
 * Gives a list or a map a Go type other than the usual: `[]string`, `map[string]string`, `common.Values`.
 * @param methods callable from templates
 */
export function withType<Value extends object>(
  value: Value,
  type: string,
  methods?: Readonly<Record<string, GoFunction>>,
): Value {
  Object.defineProperty(value, typeMark, { value: type })
  if (methods) Object.defineProperty(value, methodsMark, { value: methods })
  return value
}

/** A nil slice: empty, and `null` in JSON. */
export function nilList(type: string = anyListType): unknown[] {
  const list = withType([], type)
  Object.defineProperty(list, nilMark, { value: true })
  return list
}

/** A nil map: empty, and cannot be changed. */
export function nilMap(): GoMap {
  return Object.defineProperty({}, nilMark, { value: true })
}

export function isNilMap(map: GoMap): boolean {
  return (map as Marked)[nilMark] === true
}

export function stringList(items: string[]): string[] {
  return withType(items, '[]string')
}

export function isGoList(value: unknown): value is unknown[] {
  return Array.isArray(value)
}

export function isMap(value: unknown): value is GoMap {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof GoInteger) &&
    !(value instanceof GoObject) &&
    !(value instanceof Uint8Array)
  )
}

/** Whether it is a nil list; nil interfaces are `null`. */
export function isNilList(value: unknown): boolean {
  return Array.isArray(value) && (value as Marked)[nilMark] === true
}

export function isInteger(value: unknown): value is bigint | GoInteger {
  return typeof value === 'bigint' || value instanceof GoInteger
}

export function integerValue(value: bigint | GoInteger): bigint {
  return typeof value === 'bigint' ? value : value.value
}

export function int64(value: bigint): GoInteger {
  return new GoInteger('int64', BigInt.asIntN(64, value))
}

export function byteValue(byte: number): GoInteger {
  return new GoInteger('uint8', BigInt(byte))
}

/** The same map with another type: a change of one is a change of the other. */
export function mapView(map: GoMap, type: string = anyMapType): GoMap {
  const view = new Proxy<GoMap>(
    {},
    {
      get: (_, key) =>
        key === typeMark ? type : key === nilMark || key === methodsMark ? undefined : Reflect.get(map, key),
      set: (_, key, value) => Reflect.set(map, key, value),
      has: (_, key) => Reflect.has(map, key),
      deleteProperty: (_, key) => Reflect.deleteProperty(map, key),
      defineProperty: (_, key, descriptor) => Reflect.defineProperty(map, key, descriptor),
      ownKeys: () => Object.keys(map),
      getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(map, key),
    },
  )
  return view
}

/** A table that a subchart has as its `.Values`: it has their methods, too. */
export function markAsValues(table: GoMap): void {
  Object.defineProperty(table, valuesMark, { value: true })
}

export function hasValuesMethods(value: unknown): value is GoMap {
  return isMap(value) && ((value as Marked)[typeMark] === valuesType || (value as Marked)[valuesMark] === true)
}

export function methodsOf(value: unknown): Readonly<Record<string, GoFunction>> | undefined {
  if (value instanceof GoObject) return value.methods
  return typeof value === 'object' && value !== null ? (value as Marked)[methodsMark] : undefined
}

/** As `%T` prints it. */
export function typeOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'number':
      return 'float64'
    case 'bigint':
      return 'int'
    case 'boolean':
      return 'bool'
    case 'undefined':
      return '<nil>'
    case 'function':
      return 'func()'
    default:
      break
  }
  if (value === null) return '<nil>'
  if (value instanceof GoInteger || value instanceof GoObject) return value.type
  const type = (value as Marked)[typeMark]
  if (type !== undefined) return type
  if (Array.isArray(value)) return anyListType
  return value instanceof Uint8Array ? '[]uint8' : anyMapType
}

/** Integer types whose name does not say their kind. */
const namedIntegers: Readonly<Record<string, string>> = {
  'time.Duration': 'int64',
  'time.Month': 'int',
  'time.Weekday': 'int',
}

/** As `reflect.Kind` prints it. */
export function goKindOf(value: unknown): string {
  if (value === null || value === undefined) return 'invalid'
  if (value instanceof GoInteger) return namedIntegers[value.type] ?? value.type
  if (value instanceof GoObject) return value.type.startsWith('*') ? 'ptr' : 'struct'
  if (Array.isArray(value) || value instanceof Uint8Array) return 'slice'
  return typeof value === 'object' ? 'map' : typeOf(value)
}

/** The type of the elements of a list or of the values of a map. */
export function elementType(container: unknown): string {
  const type = underlying(typeOf(container))
  if (type.startsWith('[]')) return type.slice(2)
  return type.startsWith('map[string]') ? type.slice('map[string]'.length) : 'interface {}'
}

/** Named types of lists and maps. */
const namedTypes: Readonly<Record<string, string>> = {
  'common.Values': anyMapType,
  'engine.files': 'map[string][]uint8',
  'common.VersionSet': '[]string',
}

export function underlying(type: string): string {
  return namedTypes[type] ?? type
}

/** Whether a map has this key itself: `toString` and `__proto__` are keys like any other. */
export function hasMember(map: GoMap, key: string): boolean {
  return Object.hasOwn(map, key)
}

export function setMapMember(map: GoMap, key: string, value: unknown): void {
  if (key !== '__proto__') map[key] = value
  else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
}

/** In Go's order: by bytes. */
export function sortedKeys(map: GoMap): string[] {
  const keys = Object.keys(map)
  return keys.some(hasSurrogate) ? keys.toSorted(compareGoText) : keys.toSorted()
}

function hasSurrogate(text: string): boolean {
  return /[\ud800-\udfff]/.test(text)
}

/** Code points, as bytes of UTF-8 compare; JavaScript compares UTF-16 units. */
export function compareGoText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (x === y) continue
    const [p, q] = [surrogateLast(x), surrogateLast(y)]
    return p - q
  }
  return a.length - b.length
}

/** Surrogates stand for characters above all others of 16 bits. */
function surrogateLast(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

/** The truth of `if`: not the zero value of its type. */
export function isGoTrue(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return value !== ''
    case 'number':
      return value !== 0
    case 'bigint':
      return value !== 0n
    case 'boolean':
      return value
    case 'undefined':
      return false
    default:
      break
  }
  if (value === null) return false
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length > 0
  if (value instanceof GoInteger) return value.value !== 0n
  if (value instanceof GoObject) return true
  for (const key in value as object) if (Object.hasOwn(value as object, key)) return true
  return false
}

/** `reflect.DeepEqual`: types must be the same at every depth. */
export function deepEqual(a: unknown, b: unknown): boolean {
  const [left, right] = [a ?? null, b ?? null]
  if (left === right) return typeof left !== 'number' || !Number.isNaN(left)
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (typeOf(left) !== typeOf(right)) return false
  if (left instanceof GoInteger) return left.value === (right as GoInteger).value
  if (left instanceof Uint8Array) return Buffer.compare(left, right as Uint8Array) === 0
  if (Array.isArray(left)) {
    const other = right as unknown[]
    if (left.length !== other.length || isNilList(left) !== isNilList(other)) return false
    return left.every((item, index) => deepEqual(item, other[index]))
  }
  if (left instanceof GoObject) {
    const other = right as GoObject
    if (left.inner !== undefined || other.inner !== undefined) return equalInner(left.inner, other.inner)
    return deepEqual(left.fields, other.fields)
  }
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  return keys.every((key) => Object.hasOwn(right, key) && deepEqual((left as GoMap)[key], (right as GoMap)[key]))
}

function equalInner(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a, bigintText) === JSON.stringify(b, bigintText)
}

function bigintText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
