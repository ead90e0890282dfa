/** `optional.of(x)`, `.orValue(y)`: values that may be absent. `or`, `orValue` and the macros are part of the compiler. */
import { CelRuntimeError } from '../value/error.ts'
import { type CelFunction, functionNamed } from './function.ts'
import { showValue } from '../value/show.ts'
import { boolType, dynType, intType, listOf, mapOf, optionalOf, stringType, typeVariable } from '../value/type.ts'
import { CelArray, type CelList, CelOptional, type CelValue, isZeroCelValue, optionalNone } from '../value/value.ts'

const V = typeVariable('V')
const K = typeVariable('K')
const optionalV = optionalOf(V)
const listV = listOf(V)
const mapKV = mapOf(K, V)

function optionalValue(optional: CelOptional): CelValue {
  if (optional.value === undefined) throw new CelRuntimeError('optional.none() dereference')
  return optional.value
}

/** Implemented by the compiler. */
const compiled = (): never => {
  throw new CelRuntimeError('no such overload')
}

function unwrap(list: CelList): CelValue {
  const values: CelValue[] = []
  for (const element of list) {
    if (!(element instanceof CelOptional)) throw new CelRuntimeError(`value ${showValue(element)} is not optional`)
    if (element.value !== undefined) values.push(element.value)
  }
  return new CelArray(values)
}

function end(list: CelList, index: number): CelValue {
  return list.size === 0 ? optionalNone : new CelOptional(list.at(index))
}

export const optionalFunctions: readonly CelFunction[] = [
  functionNamed('optional.of', [
    { id: 'optional_of', params: [V], result: optionalV, call: ([value]) => new CelOptional(value) },
  ]),
  functionNamed('optional.ofNonZeroValue', [
    {
      id: 'optional_ofNonZeroValue',
      params: [V],
      result: optionalV,
      call: ([value]) => (isZeroCelValue(value!) ? optionalNone : new CelOptional(value)),
    },
  ]),
  functionNamed('optional.none', [{ id: 'optional_none', params: [], result: optionalV, call: () => optionalNone }]),
  functionNamed('value', [
    {
      id: 'optional_value',
      member: true,
      params: [optionalV],
      result: V,
      call: ([optional]) => optionalValue(optional as CelOptional),
    },
  ]),
  functionNamed('hasValue', [
    {
      id: 'optional_hasValue',
      member: true,
      params: [optionalV],
      result: boolType,
      call: ([optional]) => (optional as CelOptional).value !== undefined,
    },
  ]),
  functionNamed('or', [
    { id: 'optional_or_optional', member: true, params: [optionalV, optionalV], result: optionalV, call: compiled },
  ]),
  functionNamed('orValue', [
    { id: 'optional_orValue_value', member: true, params: [optionalV, V], result: V, call: compiled },
  ]),
  functionNamed('_?._', [
    { id: 'select_optional_field', params: [dynType, stringType], result: optionalV, call: compiled },
  ]),
  functionNamed('_[?_]', [
    { id: 'list_optindex_optional_int', params: [listV, intType], result: optionalV, call: compiled },
    {
      id: 'optional_list_optindex_optional_int',
      params: [optionalOf(listV), intType],
      result: optionalV,
      call: compiled,
    },
    { id: 'map_optindex_optional_value', params: [mapKV, K], result: optionalV, call: compiled },
    { id: 'optional_map_optindex_optional_value', params: [optionalOf(mapKV), K], result: optionalV, call: compiled },
  ]),
  functionNamed('_[_]', [
    { id: 'optional_list_index_int', params: [optionalOf(listV), intType], result: optionalV, call: compiled },
    { id: 'optional_map_index_value', params: [optionalOf(mapKV), K], result: optionalV, call: compiled },
  ]),
  functionNamed('first', [
    { id: 'list_first', member: true, params: [listV], result: optionalV, call: ([list]) => end(list as CelList, 0) },
  ]),
  functionNamed('last', [
    {
      id: 'list_last',
      member: true,
      params: [listV],
      result: optionalV,
      call: ([list]) => end(list as CelList, (list as CelList).size - 1),
    },
  ]),
  functionNamed('optional.unwrap', [
    { id: 'optional_unwrap', params: [listOf(optionalV)], result: listV, call: ([list]) => unwrap(list as CelList) },
  ]),
  functionNamed('unwrapOpt', [
    {
      id: 'optional_unwrapOpt',
      member: true,
      params: [listOf(optionalV)],
      result: listV,
      call: ([list]) => unwrap(list as CelList),
    },
  ]),
]
