/**
 * Equality and order. Numbers of different types are equal if they are the same number; values of different types are unequal,
 * except if one of them is a view of JSON or a type of Kubernetes: then the server fails.
 */
import { compareQuantities } from '../../units/quantity.ts'
import { CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { type Address, type Prefix, addressText, ipType, cidrType, prefixText } from './address.ts'
import { type Semver, compareSemvers, semverType } from './semver.ts'
import { spendSteps } from '../value/steps.ts'
import {
  CelDouble,
  CelDuration,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelInt,
  type CelValue,
  isInt,
} from '../value/value.ts'
import { type QuantityValue, quantityType } from './quantity.ts'

/** Shorter texts compare in one step. */
const longText = 1000

export function equalValues(a: CelValue, b: CelValue): boolean {
  if (a === null || b === null) return a === b
  switch (typeof a) {
    case 'string':
      if (a.length > longText) spendSteps(Math.floor(a.length / 100))
      return a === b
    case 'boolean':
      return a === b
    case 'number':
    case 'bigint':
      return typeof b === typeof a ? a === b : isNumber(b) && compareNumbers(a, b) === 0
    default:
  }
  if (a instanceof CelDouble || a instanceof CelUint) return isNumber(b) && compareNumbers(a, b) === 0
  if (a instanceof CelList) return equalLists(a, b)
  if (a instanceof CelMap) return equalMaps(a, b)
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.seconds === b.seconds && a.nanos === b.nanos
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanos === b.nanos
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.type.name === b.type.name
  if (a instanceof CelOptional) {
    if (!(b instanceof CelOptional)) return false
    if (a.value === undefined || b.value === undefined) return a.value === b.value
    return equalValues(a.value, b.value)
  }
  return equalOpaque(a, b)
}

function equalLists(a: CelList, b: CelValue): boolean {
  if (a.equals) {
    if (!(b instanceof CelList)) throw noSuchOverload()
    return a.equals(b)
  }
  if (!(b instanceof CelList) || a.size !== b.size) return false
  for (let index = 0; index < a.size; index++) {
    spendSteps(1)
    if (!isCertainlyEqual(a.at(index), b.at(index))) return false
  }
  return true
}

/** In lists and maps constructed by an expression, elements that cannot be compared count as equal, as on the server. */
function isCertainlyEqual(a: CelValue, b: CelValue): boolean {
  try {
    return equalValues(a, b)
  } catch (error) {
    if (error instanceof CelRuntimeError) return true
    throw error
  }
}

function equalMaps(a: CelMap, b: CelValue): boolean {
  if (a.equals) {
    if (!(b instanceof CelMap)) throw noSuchOverload()
    return a.equals(b)
  }
  if (!(b instanceof CelMap) || a.size !== b.size) return false
  for (const key of a.keys()) {
    spendSteps(1)
    const other = b.find(key)
    if (other === undefined || !isCertainlyEqual(a.find(key)!, other)) return false
  }
  return true
}

function equalOpaque(a: CelOpaque, b: CelValue): boolean {
  if (!(b instanceof CelOpaque) || a.type.name !== b.type.name) throw noSuchOverload()
  switch (a.type.name) {
    case quantityType.name: {
      const [left, right] = [a.content as QuantityValue, b.content as QuantityValue]
      // A sum on the right side has another Go type than a parsed quantity, and the server does not compare the two.
      if (right.isComputed) throw noSuchOverload()
      return compareQuantities(left.quantity, right.quantity) === 0
    }
    case ipType.name:
      return addressText(a.content as Address) === addressText(b.content as Address)
    case cidrType.name:
      return prefixText(a.content as Prefix) === prefixText(b.content as Prefix)
    case semverType.name:
      return compareSemvers(a.content as Semver, b.content as Semver) === 0
    default:
      return a.content === b.content || comparable(a.content) === comparable(b.content)
  }
}

/** Contents that are compared as text have `text`. */
function comparable(content: unknown): unknown {
  return typeof content === 'object' && content !== null && 'text' in content ? content.text : content
}

type CelNumber = CelInt | CelDouble | CelUint

function isNumber(value: CelValue): value is CelNumber {
  return isInt(value) || value instanceof CelDouble || value instanceof CelUint
}

/** NaN if one of them is. An integer compared with a double is converted, with loss of precision. */
function compareNumbers(a: CelNumber, b: CelNumber): number {
  if (a instanceof CelDouble || b instanceof CelDouble) {
    const [x, y] = [asDouble(a), asDouble(b)]
    return x < y ? -1 : x > y ? 1 : x === y ? 0 : Number.NaN
  }
  const [x, y] = [a instanceof CelUint ? a.value : a, b instanceof CelUint ? b.value : b]
  return x < y ? -1 : x > y ? 1 : 0
}

function asDouble(value: CelNumber): number {
  return value instanceof CelDouble || value instanceof CelUint ? Number(value.value) : Number(value)
}

/** −1, 0 or 1. */
export function compareCelValues(a: CelValue, b: CelValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b)
  if (isNumber(a) && isNumber(b)) {
    const order = compareNumbers(a, b)
    if (Number.isNaN(order)) throw new CelRuntimeError('NaN values cannot be ordered')
    return order
  }
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof CelTimestamp && b instanceof CelTimestamp) {
    return Math.sign(a.seconds - b.seconds) || Math.sign(a.nanos - b.nanos)
  }
  if (a instanceof CelDuration && b instanceof CelDuration) return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b)
  throw noSuchOverload()
}

export function isComparable(value: CelValue): boolean {
  return (
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    isNumber(value) ||
    value instanceof CelTimestamp ||
    value instanceof CelDuration ||
    value instanceof Uint8Array
  )
}

/** By UTF-8 bytes, which is by code points; JavaScript's order differs for surrogates and U+E000 and above. */
function compareStrings(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (x !== y) {
      const [highX, highY] = [x >= 0xd800 && x <= 0xdfff, y >= 0xd800 && y <= 0xdfff]
      if (highX !== highY) return highX ? 1 : -1
      return x < y ? -1 : 1
    }
  }
  return a.length < b.length ? -1 : 1
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    if (a[index] !== b[index]) return a[index]! < b[index]! ? -1 : 1
  }
  return Math.sign(a.length - b.length)
}

export function containsValue(list: CelList, value: CelValue): boolean {
  let failure: CelRuntimeError | undefined
  for (const element of list) {
    spendSteps(1)
    try {
      if (equalValues(element, value)) return true
    } catch (error) {
      if (!(error instanceof CelRuntimeError)) throw error
      failure ??= error
    }
  }
  // Matters only for a view of JSON, not for a list constructed by an expression.
  if (failure && list.equals) throw failure
  return false
}
