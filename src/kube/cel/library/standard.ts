/** The standard functions of CEL: conversions, sizes, time; and the signatures of its operators. */
import { parseUint64 } from '../../go/int64.ts'
import { addValues, divideValues, moduloValues, multiplyValues, negateValue, subtractValues } from './arithmetic.ts'
import { compareCelValues, containsValue, equalValues } from './compare.ts'
import { CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { type CelCost, type CelFunction, type CelOverload, byLength, functionNamed } from './function.ts'
import { checkedInt, checkedUint, doubleToInt, doubleToUint, parseCelInt } from '../value/integer.ts'
import { bytesToText, plainString } from './string-format.ts'
import { calendarOf, parseCelDuration, parseTimestamp, timestampOfSeconds, type CalendarParts } from '../value/time.ts'
import {
  type CelType,
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  stringType,
  timestampType,
  typeOfType,
  typeVariable,
  uintType,
} from '../value/type.ts'
import type { CelDuration, CelTimestamp } from '../value/value.ts'
import {
  CelDouble,
  type CelInt,
  CelList,
  CelMap,
  CelTypeValue,
  CelUint,
  type CelValue,
  intOf,
  celSizeOf,
  typeOfValue,
} from '../value/value.ts'

const A = typeVariable('A')
const B = typeVariable('B')
const listA = listOf(A)
const mapAB = mapOf(A, B)

type Call = CelOverload['call']

const overload = (id: string, params: readonly CelType[], result: CelType, call: Call, cost?: CelCost): CelOverload =>
  cost ? { id, params, result, call, cost } : { id, params, result, call }
const member = (id: string, params: readonly CelType[], result: CelType, call: Call): CelOverload => ({
  id,
  member: true,
  params,
  result,
  call,
})

const identity: Call = ([value]) => value!

function failedConversion(from: CelType, to: CelType): CelRuntimeError {
  return new CelRuntimeError(`type conversion error from '${from.name}' to '${to.name}'`)
}

const fromText =
  (type: CelType, parse: (text: string) => CelValue | undefined): Call =>
  ([value]) => {
    const parsed = parse(value as string)
    if (parsed === undefined) throw failedConversion(stringType, type)
    return parsed
  }

const trueTexts = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const falseTexts = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

function parseBool(text: string): boolean | undefined {
  return trueTexts.has(text) ? true : falseTexts.has(text) ? false : undefined
}

/** `0x1.8p-2`; NaN if it is invalid. */
function hexDouble(text: string): number {
  const [, sign, whole = '', fraction = '', exponent] =
    /^([+-]?)0[xX]([\da-fA-F]*)(?:\.([\da-fA-F]*))?[pP]([+-]?\d+)$/.exec(text) ?? []
  if (exponent === undefined || whole + fraction === '') return Number.NaN
  return Number.parseInt(whole + fraction, 16) * 2 ** (Number(exponent) - fraction.length * 4) * (sign === '-' ? -1 : 1)
}

/** Decimal and hexadecimal numbers, underscores between digits, names of infinity in any case. */
function parseDouble(text: string): CelDouble | undefined {
  const [, sign = '', name] = /^([+-]?)(inf|infinity|nan)$/i.exec(text) ?? []
  if (name !== undefined) {
    if (name.toLowerCase() === 'nan') return sign === '' ? new CelDouble(Number.NaN) : undefined
    return new CelDouble(sign === '-' ? -Infinity : Infinity)
  }
  const digits = text.replaceAll(/(?<=[\da-fA-F])_(?=[\da-fA-F])/g, '')
  const value = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(digits) ? Number(digits) : hexDouble(digits)
  return Number.isFinite(value) ? new CelDouble(value) : undefined
}

const toText: Call = ([value]) => {
  const text = plainString(value!)
  if (text === undefined) throw noSuchOverload()
  return text
}

const conversions: readonly CelFunction[] = [
  functionNamed('type', [overload('type', [A], typeOfType(A), ([value]) => new CelTypeValue(typeOfValue(value!)))]),
  functionNamed('dyn', [overload('to_dyn', [A], dynType, identity)]),
  functionNamed('bool', [
    overload('bool_to_bool', [boolType], boolType, identity),
    overload('string_to_bool', [stringType], boolType, fromText(boolType, parseBool)),
  ]),
  functionNamed('bytes', [
    overload('bytes_to_bytes', [bytesType], bytesType, identity),
    overload('string_to_bytes', [stringType], bytesType, ([text]) => Buffer.from(text as string), byLength(0, 0.1)),
  ]),
  functionNamed('double', [
    overload('double_to_double', [doubleType], doubleType, identity),
    overload('int64_to_double', [intType], doubleType, ([value]) => new CelDouble(Number(value))),
    overload('string_to_double', [stringType], doubleType, fromText(doubleType, parseDouble)),
    overload('uint64_to_double', [uintType], doubleType, ([value]) => new CelDouble(Number((value as CelUint).value))),
  ]),
  functionNamed('duration', [
    overload('duration_to_duration', [durationType], durationType, identity),
    overload('string_to_duration', [stringType], durationType, fromText(durationType, parseCelDuration)),
  ]),
  functionNamed('int', [
    overload('int64_to_int64', [intType], intType, identity),
    overload('double_to_int64', [doubleType], intType, ([value]) => doubleToInt((value as CelDouble).value)),
    overload('duration_to_int64', [durationType], intType, ([value]) => intOf((value as CelDuration).nanos)),
    overload('string_to_int64', [stringType], intType, fromText(intType, parseCelInt)),
    overload('timestamp_to_int64', [timestampType], intType, ([value]) => (value as CelTimestamp).seconds),
    overload('uint64_to_int64', [uintType], intType, ([value]) => checkedInt((value as CelUint).value)),
  ]),
  functionNamed('uint', [
    overload('uint64_to_uint64', [uintType], uintType, identity),
    overload(
      'double_to_uint64',
      [doubleType],
      uintType,
      ([value]) => new CelUint(doubleToUint((value as CelDouble).value)),
    ),
    overload('int64_to_uint64', [intType], uintType, ([value]) => new CelUint(checkedUint(BigInt(value as CelInt)))),
    overload(
      'string_to_uint64',
      [stringType],
      uintType,
      fromText(uintType, (text) => {
        const value = parseUint64(text)
        return value === undefined ? undefined : new CelUint(value)
      }),
    ),
  ]),
  functionNamed('string', [
    overload('string_to_string', [stringType], stringType, identity),
    overload('bool_to_string', [boolType], stringType, toText),
    overload(
      'bytes_to_string',
      [bytesType],
      stringType,
      ([bytes]) => bytesToText(bytes as Uint8Array),
      byLength(0, 0.1),
    ),
    overload('double_to_string', [doubleType], stringType, toText),
    overload('duration_to_string', [durationType], stringType, toText),
    overload('int64_to_string', [intType], stringType, toText),
    overload('timestamp_to_string', [timestampType], stringType, toText),
    overload('uint64_to_string', [uintType], stringType, toText),
  ]),
  functionNamed('timestamp', [
    overload('timestamp_to_timestamp', [timestampType], timestampType, identity),
    overload('int64_to_timestamp', [intType], timestampType, ([value]) => timestampOfSeconds(value as CelInt)),
    overload('string_to_timestamp', [stringType], timestampType, fromText(timestampType, parseTimestamp)),
  ]),
]

const size: Call = ([value]) => celSizeOf(value!)

const sizes: CelFunction = functionNamed('size', [
  overload('size_bytes', [bytesType], intType, size),
  member('bytes_size', [bytesType], intType, size),
  overload('size_list', [listA], intType, size),
  member('list_size', [listA], intType, size),
  overload('size_map', [mapAB], intType, size),
  member('map_size', [mapAB], intType, size),
  overload('size_string', [stringType], intType, size),
  member('string_size', [stringType], intType, size),
])

const calendar = (name: string, ids: readonly [string, string], get: (parts: CalendarParts) => number): CelFunction =>
  functionNamed(name, [
    member(ids[0], [timestampType], intType, ([time]) => get(calendarOf(time as CelTimestamp))),
    member(ids[1], [timestampType, stringType], intType, ([time, zone]) =>
      get(calendarOf(time as CelTimestamp, zone as string)),
    ),
  ])

/** A component of a timestamp, or the total of a duration. */
const clock = (
  name: string,
  ids: readonly [string, string, string],
  ofTime: (time: CelTimestamp, zone?: string) => number,
  nanos: bigint,
): CelFunction =>
  functionNamed(name, [
    member(ids[0], [timestampType], intType, ([time]) => ofTime(time as CelTimestamp)),
    member(ids[1], [timestampType, stringType], intType, ([time, zone]) =>
      ofTime(time as CelTimestamp, zone as string),
    ),
    member(ids[2], [durationType], intType, ([duration]) => intOf((duration as CelDuration).nanos / nanos)),
  ])

const time: readonly CelFunction[] = [
  calendar('getFullYear', ['timestamp_to_year', 'timestamp_to_year_with_tz'], ({ year }) => year),
  calendar('getMonth', ['timestamp_to_month', 'timestamp_to_month_with_tz'], ({ month }) => month),
  calendar(
    'getDayOfYear',
    ['timestamp_to_day_of_year', 'timestamp_to_day_of_year_with_tz'],
    ({ dayOfYear }) => dayOfYear,
  ),
  calendar('getDayOfMonth', ['timestamp_to_day_of_month', 'timestamp_to_day_of_month_with_tz'], ({ date }) => date - 1),
  calendar(
    'getDate',
    ['timestamp_to_day_of_month_1_based', 'timestamp_to_day_of_month_1_based_with_tz'],
    ({ date }) => date,
  ),
  calendar(
    'getDayOfWeek',
    ['timestamp_to_day_of_week', 'timestamp_to_day_of_week_with_tz'],
    ({ dayOfWeek }) => dayOfWeek,
  ),
  clock(
    'getHours',
    ['timestamp_to_hours', 'timestamp_to_hours_with_tz', 'duration_to_hours'],
    (at, zone) => calendarOf(at, zone).hours,
    3_600_000_000_000n,
  ),
  clock(
    'getMinutes',
    ['timestamp_to_minutes', 'timestamp_to_minutes_with_tz', 'duration_to_minutes'],
    (at, zone) => calendarOf(at, zone).minutes,
    60_000_000_000n,
  ),
  // The time zone does not matter for seconds and less, but must be valid.
  clock(
    'getSeconds',
    ['timestamp_to_seconds', 'timestamp_to_seconds_tz', 'duration_to_seconds'],
    (at, zone) => calendarOf(at, zone).seconds,
    1_000_000_000n,
  ),
  clock(
    'getMilliseconds',
    ['timestamp_to_milliseconds', 'timestamp_to_milliseconds_with_tz', 'duration_to_milliseconds'],
    (at, zone) => calendarOf(at, zone) && Math.trunc(at.nanos / 1_000_000),
    1_000_000n,
  ),
]

const binary =
  (call: (a: CelValue, b: CelValue) => CelValue): Call =>
  ([a, b]) =>
    call(a!, b!)
const sum: CelCost = ([a, b]) => Math.ceil((celSizeOf(a!) + celSizeOf(b!)) * 0.1)
const shorter: CelCost = ([a, b]) => Math.ceil(Math.min(celSizeOf(a!), celSizeOf(b!)) * 0.1)

const add = binary(addValues)
const subtract = binary(subtractValues)

const relation = (name: string, word: string, holds: (order: number) => boolean): CelFunction => {
  const call = binary((a, b) => holds(compareCelValues(a, b)))
  const numbers = [intType, uintType, doubleType]
  const names: Readonly<Record<string, string>> = { int: 'int64', uint: 'uint64', double: 'double' }
  return functionNamed(name, [
    overload(`${word}_bool`, [boolType, boolType], boolType, call),
    ...numbers.flatMap((a) =>
      numbers.map((b) =>
        overload(`${word}_${names[a.name]!}${a === b ? '' : `_${names[b.name]!}`}`, [a, b], boolType, call),
      ),
    ),
    overload(`${word}_string`, [stringType, stringType], boolType, call, shorter),
    overload(`${word}_bytes`, [bytesType, bytesType], boolType, call, shorter),
    overload(`${word}_timestamp`, [timestampType, timestampType], boolType, call),
    overload(`${word}_duration`, [durationType, durationType], boolType, call),
  ])
}

const contains: Call = ([value, container]) => {
  if (container instanceof CelList) return containsValue(container, value!)
  if (container instanceof CelMap) return container.find(value!) !== undefined
  throw noSuchOverload()
}

/** Implemented by the compiler. */
const compiled: Call = () => {
  throw noSuchOverload()
}

const operators: readonly CelFunction[] = [
  functionNamed('_?_:_', [overload('conditional', [boolType, A, A], A, compiled)]),
  functionNamed('_&&_', [overload('logical_and', [boolType, boolType], boolType, compiled)]),
  functionNamed('_||_', [overload('logical_or', [boolType, boolType], boolType, compiled)]),
  functionNamed('!_', [
    overload('logical_not', [boolType], boolType, ([value]) => {
      if (typeof value !== 'boolean') throw noSuchOverload()
      return !value
    }),
  ]),
  functionNamed('@not_strictly_false', [overload('not_strictly_false', [boolType], boolType, compiled)]),
  functionNamed('_==_', [overload('equals', [A, A], boolType, binary(equalValues), shorter)]),
  functionNamed('_!=_', [
    overload(
      'not_equals',
      [A, A],
      boolType,
      binary((a, b) => !equalValues(a, b)),
      shorter,
    ),
  ]),
  functionNamed('_+_', [
    overload('add_bytes', [bytesType, bytesType], bytesType, add, sum),
    overload('add_double', [doubleType, doubleType], doubleType, add),
    overload('add_duration_duration', [durationType, durationType], durationType, add),
    overload('add_duration_timestamp', [durationType, timestampType], timestampType, add),
    overload('add_timestamp_duration', [timestampType, durationType], timestampType, add),
    overload('add_int64', [intType, intType], intType, add),
    overload('add_list', [listA, listA], listA, add),
    overload('add_string', [stringType, stringType], stringType, add, sum),
    overload('add_uint64', [uintType, uintType], uintType, add),
  ]),
  functionNamed('_-_', [
    overload('subtract_double', [doubleType, doubleType], doubleType, subtract),
    overload('subtract_duration_duration', [durationType, durationType], durationType, subtract),
    overload('subtract_int64', [intType, intType], intType, subtract),
    overload('subtract_timestamp_duration', [timestampType, durationType], timestampType, subtract),
    overload('subtract_timestamp_timestamp', [timestampType, timestampType], durationType, subtract),
    overload('subtract_uint64', [uintType, uintType], uintType, subtract),
  ]),
  functionNamed('_*_', [
    overload('multiply_double', [doubleType, doubleType], doubleType, binary(multiplyValues)),
    overload('multiply_int64', [intType, intType], intType, binary(multiplyValues)),
    overload('multiply_uint64', [uintType, uintType], uintType, binary(multiplyValues)),
  ]),
  functionNamed('_/_', [
    overload('divide_double', [doubleType, doubleType], doubleType, binary(divideValues)),
    overload('divide_int64', [intType, intType], intType, binary(divideValues)),
    overload('divide_uint64', [uintType, uintType], uintType, binary(divideValues)),
  ]),
  functionNamed('_%_', [
    overload('modulo_int64', [intType, intType], intType, binary(moduloValues)),
    overload('modulo_uint64', [uintType, uintType], uintType, binary(moduloValues)),
  ]),
  functionNamed('-_', [
    overload('negate_double', [doubleType], doubleType, ([value]) => negateValue(value!)),
    overload('negate_int64', [intType], intType, ([value]) => negateValue(value!)),
  ]),
  relation('_<_', 'less', (order) => order < 0),
  relation('_<=_', 'less_equals', (order) => order <= 0),
  relation('_>_', 'greater', (order) => order > 0),
  relation('_>=_', 'greater_equals', (order) => order >= 0),
  functionNamed('_[_]', [
    overload('index_list', [listA, intType], A, compiled),
    overload('index_map', [mapAB, A], B, compiled),
  ]),
  functionNamed('@in', [
    overload('in_list', [A, listA], boolType, contains, ([, list]) => celSizeOf(list!)),
    overload('in_map', [A, mapAB], boolType, contains),
  ]),
  functionNamed('cel.@mapInsert', [
    overload('@mapInsert_map_key_value', [mapAB, A, B], mapAB, compiled),
    overload('@mapInsert_map_map', [mapAB, mapAB], mapAB, compiled),
  ]),
]

export const standardFunctions: readonly CelFunction[] = [...operators, ...conversions, sizes, ...time]
