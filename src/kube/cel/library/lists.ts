/** Functions on lists: order, search, sums, slices; and lists as sets. */
import { compareCelValues, containsValue, equalValues, isComparable } from './compare.ts'
import { CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { type CelCost, type CelFunction, functionNamed, traversalCost } from './function.ts'
import { spendSteps } from '../value/steps.ts'
import { addValues } from './arithmetic.ts'
import {
  type CelType,
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  stringType,
  timestampType,
  typeVariable,
  uintType,
} from '../value/type.ts'
import {
  CelArray,
  CelDouble,
  CelDuration,
  type CelInt,
  CelList,
  CelUint,
  type CelValue,
  celSizeOf,
  typeOfValue,
} from '../value/value.ts'

const A = typeVariable('A')
const T = typeVariable('T')

const summable: readonly (readonly [string, CelType, CelValue])[] = [
  ['int', intType, 0],
  ['uint', uintType, new CelUint(0n)],
  ['double', doubleType, new CelDouble(0)],
  ['duration', durationType, new CelDuration(0n)],
]

const comparable: readonly (readonly [string, CelType])[] = [
  ['int', intType],
  ['uint', uintType],
  ['double', doubleType],
  ['bool', boolType],
  ['duration', durationType],
  ['timestamp', timestampType],
  ['string', stringType],
  ['bytes', bytesType],
]

const walk: CelCost = ([list]) => traversalCost(list!)

function isSorted(list: CelList): boolean {
  let last: CelValue | undefined
  for (const element of list) {
    if (!isComparable(element)) throw noSuchOverload()
    if (last !== undefined && compareCelValues(last, element) > 0) return false
    last = element
  }
  return true
}

function extreme(list: CelList, name: string, sign: number): CelValue {
  let best: CelValue | undefined
  for (const element of list) {
    if (!isComparable(element)) throw noSuchOverload()
    if (best === undefined || compareCelValues(best, element) * sign < 0) best = element
  }
  if (best === undefined) throw new CelRuntimeError(`${name} called on empty list`)
  return best
}

function indexOf(list: CelList, wanted: CelValue, backwards: boolean): number {
  for (let step = 0; step < list.size; step++) {
    const index = backwards ? list.size - 1 - step : step
    spendSteps(1)
    if (isEqual(list.at(index), wanted)) return index
  }
  return -1
}

/** Values that cannot be compared are unequal here. */
function isEqual(a: CelValue, b: CelValue): boolean {
  try {
    return equalValues(a, b)
  } catch (error) {
    if (error instanceof CelRuntimeError) return false
    throw error
  }
}

/** The elements of a list, each counted as a step. */
function elementsOf(list: CelList): CelValue[] {
  spendSteps(list.size)
  return Array.from(list)
}

function slice(list: CelList, start: CelInt, end: CelInt): CelValue {
  const call = `cannot slice(${start}, ${end})`
  if (start < 0 || end < 0) throw new CelRuntimeError(`${call}, negative indexes not supported`)
  if (start > end) throw new CelRuntimeError(`${call}, start index must be less than or equal to end index`)
  if (list.size < end) throw new CelRuntimeError(`${call}, list is length ${list.size}`)
  return new CelArray(elementsOf(list).slice(Number(start), Number(end)))
}

function flatten(list: CelList, depth: CelInt): readonly CelValue[] {
  if (depth < 0) throw new CelRuntimeError('level must be non-negative')
  const flat: CelValue[] = []
  for (const element of list) {
    spendSteps(1)
    if (element instanceof CelList && depth > 0)
      for (const inner of flatten(element, Number(depth) - 1)) flat.push(inner)
    else flat.push(element)
  }
  return flat
}

/** Sorted by keys: stable, unlike the server's, which leaves the order of equal keys open. */
function sortBy(list: CelList, keys: CelList): CelValue {
  if (list.size !== keys.size) {
    throw new CelRuntimeError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${list.size} and ${keys.size} elements respectively`,
    )
  }
  if (list.size === 0) return list
  const all = elementsOf(keys)
  if (!isComparable(all[0]!)) throw new CelRuntimeError('list elements must be comparable')
  const type = typeOfValue(all[0]!)
  if (all.some((key) => typeOfValue(key) !== type)) throw new CelRuntimeError('list elements must have the same type')
  const order = all.map((_, index) => index).toSorted((a, b) => compareCelValues(all[a]!, all[b]!))
  const values = elementsOf(list)
  return new CelArray(order.map((index) => values[index]!))
}

function distinct(list: CelList): CelValue {
  const seen: CelValue[] = []
  for (const element of list) {
    spendSteps(1 + seen.length)
    if (!seen.some((other) => isEqual(element, other))) seen.push(element)
  }
  return new CelArray(seen)
}

const longestRange = 1_000_000

function range(count: CelInt): CelValue {
  if (count < 0) throw new CelRuntimeError(`lists.range: size must be non-negative, got ${count}`)
  if (count > longestRange) {
    throw new CelRuntimeError(`lists.range: size ${count} exceeds maximum allowed (${longestRange})`)
  }
  return new CelArray(Array.from({ length: Number(count) }, (_, index) => index))
}

const listCreation = 10
const ofResult: CelCost = (_args, result) => celSizeOf(result) + 1 + listCreation
const selfCompare = (list: CelValue): number => {
  const elements = list as CelList
  const isText = elements.size > 0 && (typeof elements.at(0) === 'string' || elements.at(0) instanceof Uint8Array)
  return Math.trunc(elements.size ** 2 * (isText ? 2.1 : 2)) + 1 + listCreation
}

function setContains(list: CelList, part: CelList): boolean {
  return elementsOf(part).every((element) => containsValue(list, element))
}

const setCost =
  (factor: number): CelCost =>
  ([a, b]) =>
    1 + Math.trunc(celSizeOf(a!) * celSizeOf(b!) * factor)

const list = (value: CelValue | undefined): CelList => value as CelList
const listT = listOf(T)

export const listFunctions: readonly CelFunction[] = [
  functionNamed(
    'isSorted',
    comparable.map(([name, type]) => ({
      id: `list_${name}_is_sorted_bool`,
      member: true,
      params: [listOf(type)],
      result: boolType,
      call: ([a]) => isSorted(list(a)),
      cost: walk,
    })),
  ),
  functionNamed(
    'sum',
    summable.map(([name, type, zero]) => ({
      id: `list_${name}_sum_${name}`,
      member: true,
      params: [listOf(type)],
      result: type,
      call: ([a]) => {
        let total = zero
        for (const element of list(a)) total = addValues(total, element)
        return total
      },
      cost: walk,
    })),
  ),
  ...(['max', 'min'] as const).map((name) =>
    functionNamed(
      name,
      comparable.map(([typeName, type]) => ({
        id: `list_${typeName}_${name}_${typeName}`,
        member: true,
        params: [listOf(type)],
        result: type,
        call: ([a]) => extreme(list(a), name, name === 'max' ? 1 : -1),
        cost: walk,
      })),
    ),
  ),
  functionNamed('indexOf', [
    {
      id: 'list_a_index_of_int',
      member: true,
      params: [listOf(A), A],
      result: intType,
      call: ([a, b]) => indexOf(list(a), b!, false),
      cost: walk,
    },
  ]),
  functionNamed('lastIndexOf', [
    {
      id: 'list_a_last_index_of_int',
      member: true,
      params: [listOf(A), A],
      result: intType,
      call: ([a, b]) => indexOf(list(a), b!, true),
      cost: walk,
    },
  ]),
  functionNamed('slice', [
    {
      id: 'list_slice',
      member: true,
      params: [listT, intType, intType],
      result: listT,
      call: ([a, b, c]) => slice(list(a), b as CelInt, c as CelInt),
      cost: ofResult,
    },
  ]),
  functionNamed('flatten', [
    {
      id: 'list_flatten',
      member: true,
      params: [listOf(listT)],
      result: listT,
      call: ([a]) => new CelArray(flatten(list(a), 1)),
      cost: ([a]) => celSizeOf(a!) + 1 + listCreation,
    },
    {
      id: 'list_flatten_int',
      member: true,
      params: [listOf(dynType), intType],
      result: listOf(dynType),
      call: ([a, b]) => new CelArray(flatten(list(a), b as CelInt)),
      cost: ([a, b]) => celSizeOf(a!) * Number(b) + 1 + listCreation,
    },
  ]),
  functionNamed(
    'sort',
    comparable.map(([, type]) => ({
      id: `list_${type.name}_sort`,
      member: true,
      params: [listOf(type)],
      result: listOf(type),
      call: ([a]) => sortBy(list(a), list(a)),
      cost: ([a]) => selfCompare(a!),
    })),
  ),
  functionNamed(
    '@sortByAssociatedKeys',
    comparable.map(([, type]) => ({
      id: `list_${type.name}_sortByAssociatedKeys`,
      member: true,
      params: [listT, listOf(type)],
      result: listT,
      call: ([a, b]) => sortBy(list(a), list(b)),
      cost: ([, b]) => selfCompare(b!),
    })),
  ),
  functionNamed('lists.range', [
    {
      id: 'lists_range',
      params: [intType],
      result: listOf(intType),
      call: ([a]) => range(a as CelInt),
      cost: ofResult,
    },
  ]),
  functionNamed('reverse', [
    {
      id: 'list_reverse',
      member: true,
      params: [listT],
      result: listT,
      call: ([a]) => new CelArray(elementsOf(list(a)).toReversed()),
      cost: ofResult,
    },
  ]),
  functionNamed('distinct', [
    {
      id: 'list_distinct',
      member: true,
      params: [listT],
      result: listT,
      call: ([a]) => distinct(list(a)),
      cost: ([a]) => selfCompare(a!),
    },
  ]),
  functionNamed('sets.contains', [
    {
      id: 'list_sets_contains_list',
      params: [listT, listT],
      result: boolType,
      call: ([a, b]) => setContains(list(a), list(b)),
      cost: setCost(1),
    },
  ]),
  functionNamed('sets.equivalent', [
    {
      id: 'list_sets_equivalent_list',
      params: [listT, listT],
      result: boolType,
      call: ([a, b]) => setContains(list(a), list(b)) && setContains(list(b), list(a)),
      cost: setCost(2),
    },
  ]),
  functionNamed('sets.intersects', [
    {
      id: 'list_sets_intersects_list',
      params: [listT, listT],
      result: boolType,
      call: ([a, b]) => elementsOf(list(a)).some((element) => containsValue(list(b), element)),
      cost: setCost(1),
    },
  ]),
]
