/** sprig's functions for maps. `set`, `unset` and the merges change their first argument. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError, nilDereference } from '../template/go-error.ts'
import {
  anyMapType,
  elementType,
  type GoMap,
  GoObject,
  hasMember,
  isGoList,
  isMap,
  isNilMap,
  isGoTrue,
  setMapMember,
  sortedKeys,
  stringList,
  typeOf,
  underlying,
  withType,
} from '../template/values.ts'
import { isEmpty } from './lists.ts'
import { stringValue } from './string-value.ts'

type Values = readonly unknown[]
type Maps = readonly GoMap[]

const merge = (isOverwriting: boolean): GoFunction =>
  goFunction('map ...map', ([first, ...sources]: [GoMap, ...GoMap[]], { budget }) => {
    const target: GoMap = isNilMap(first) && !sources.every(isNilMap) ? {} : first
    for (const source of sources) mergeInto(target, source, isOverwriting, (steps) => budget.step(steps))
    return target
  })

const deepCopy = goFunction('any', ([value]: Values) => {
  if ((value ?? null) === null) throw new GoError('reflect: call of reflect.Value.Type on zero Value')
  return copy(value, 0)
})

export const dictFunctions: FunctionTable = new Map<string, GoFunction>([
  ['dict', goFunction('...any', (args: Values, { budget }) => dict(args, (key) => budget.measure(key)))],
  ['get', goFunction('map string', ([map, key]: [GoMap, string]) => (hasMember(map, key) ? (map[key] ?? null) : ''))],
  [
    'set',
    goFunction('map string any', ([map, key, value]: [GoMap, string, unknown]) => {
      if (isNilMap(map)) throw new GoError('assignment to entry in nil map')
      setMapMember(map, key, value)
      return map
    }),
  ],
  [
    'unset',
    goFunction('map string', ([map, key]: [GoMap, string]) => {
      delete map[key]
      return map
    }),
  ],
  ['hasKey', goFunction('map string', ([map, key]: [GoMap, string]) => hasMember(map, key))],
  [
    'pluck',
    goFunction('string ...map', ([key, ...maps]: [string, ...GoMap[]]) =>
      maps.filter((map) => hasMember(map, key)).map((map) => map[key]),
    ),
  ],
  ['keys', goFunction('...map', (maps: Maps) => stringList(maps.flatMap(sortedKeys)))],
  ['values', goFunction('map', ([map]: [GoMap]) => sortedKeys(map).map((key) => map[key]))],
  [
    'pick',
    goFunction('map ...string', ([map, ...keys]: [GoMap, ...string[]]) => {
      const picked: GoMap = {}
      for (const key of keys) if (hasMember(map, key)) setMapMember(picked, key, map[key])
      return picked
    }),
  ],
  [
    'omit',
    goFunction('map ...string', ([map, ...keys]: [GoMap, ...string[]]) => {
      const omitted = new Set(keys)
      const kept: GoMap = {}
      for (const key of Object.keys(map)) if (!omitted.has(key)) setMapMember(kept, key, map[key])
      return kept
    }),
  ],
  ['merge', merge(false)],
  ['mustMerge', merge(false)],
  ['mergeOverwrite', merge(true)],
  ['mustMergeOverwrite', merge(true)],
  ['deepCopy', deepCopy],
  ['mustDeepCopy', deepCopy],
  ['dig', goFunction('...any', (args: Values) => dig(args))],
  ['default', goFunction('any ...any', ([fallback, given]: Values) => (isEmpty(given) ? fallback : given))],
  ['empty', goFunction('any', ([value]: Values) => isEmpty(value))],
  ['coalesce', goFunction('...any', (args: Values) => args.find((value) => !isEmpty(value)) ?? null)],
  ['all', goFunction('...any', (args: Values) => args.every((value) => !isEmpty(value)))],
  ['any', goFunction('...any', (args: Values) => args.some((value) => !isEmpty(value)))],
  ['ternary', goFunction('any any bool', ([yes, no, isTrueValue]: Values) => (isTrueValue ? yes : no))],
])

function dict(args: Values, measure: (key: unknown) => void): GoMap {
  const map: GoMap = {}
  for (let index = 0; index < args.length; index += 2) {
    const key = args[index]
    measure(key)
    const value = index + 1 < args.length ? args[index + 1] : ''
    setMapMember(map, (key ?? null) === null ? '<nil>' : stringValue(key), value)
  }
  return map
}

function dig(args: Values): unknown {
  if (args.length < 3) throw new GoError('dig needs at least three arguments')
  const keys = args.slice(0, -2)
  let current = asMap(args.at(-1))
  const texts = keys.map((key) => {
    if (typeof key !== 'string') throw conversion(key, 'string')
    return key
  })
  for (const [index, key] of texts.entries()) {
    if (!hasMember(current, key)) return args.at(-2)
    if (index === texts.length - 1) return current[key]
    current = asMap(current[key])
  }
  return args.at(-2)
}

/** A type assertion: named types are other types. */
function asMap(value: unknown): GoMap {
  if (isMap(value) && typeOf(value) === anyMapType) return value
  throw conversion(value, anyMapType)
}

function conversion(value: unknown, type: string): GoError {
  const actual = (value ?? null) === null ? 'nil' : typeOf(value)
  return new GoError(`interface conversion: interface {} is ${actual}, not ${type}`)
}

/** As sprig merges: maps by their members, everything else as a whole; without overwriting, only empty values change. */
function mergeInto(target: GoMap, source: GoMap, isOverwriting: boolean, spend: (steps: number) => void): void {
  const keys = Object.keys(source)
  spend(keys.length)
  for (const key of keys) {
    const value = source[key]
    const isKnown = hasMember(target, key)
    const current = isKnown ? target[key] : undefined
    if ((value ?? null) === null) {
      if (isOverwriting) setMapMember(target, key, value)
      continue
    }
    if (isMap(value) && isMap(current) && target !== source) {
      if (current !== value) mergeInto(current, value, isOverwriting, spend)
      if (isGoTrue(current)) continue
    } else if (isGoList(value) && isKnown && isGoTrue(current)) {
      if (isOverwriting) setMapMember(target, key, value)
      continue
    }
    if (isOverwriting || !isKnown || isEmptyForMerge(current)) setMapMember(target, key, value)
  }
}

function isEmptyForMerge(value: unknown): boolean {
  return !(value instanceof GoObject) && isEmpty(value)
}

/** Deeper values contain themselves. */
const deepest = 1000

/** Bounded by the budget: the value was measured before. */
function copy(value: unknown, depth: number): unknown {
  if (depth > deepest) throw nilDereference()
  if (isGoList(value)) {
    const items = value.map((item) => copy(item, depth + 1))
    return withTypeOf(items, value)
  }
  if (!isMap(value)) return value
  const copied: GoMap = {}
  for (const key of Object.keys(value)) setMapMember(copied, key, copy(value[key], depth + 1))
  return withTypeOf(copied, value)
}

function withTypeOf<Value extends object>(copied: Value, original: object): Value {
  const type = typeOf(original)
  const isUsual = type === underlying(type) && elementType(original) === 'interface {}'
  return isUsual ? copied : withType(copied, type)
}
