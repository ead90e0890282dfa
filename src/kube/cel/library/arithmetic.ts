/** `+ - * / %` on values whose types are known only at run time. */
import {
  addInts,
  checkedUint,
  divideInts,
  moduloInts,
  multiplyInts,
  negateInt,
  subtractInts,
} from '../value/integer.ts'
import { CelCostError, CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { addDurations, moveTimestamp, negateDuration, timeBetween } from '../value/time.ts'
import {
  CelConcatenation,
  CelDouble,
  CelDuration,
  CelList,
  CelTimestamp,
  CelUint,
  type CelValue,
  isInt,
  typeOfValue,
} from '../value/value.ts'

export function addValues(a: CelValue, b: CelValue): CelValue {
  if (isInt(a) && isInt(b)) return addInts(a, b)
  if (typeof a === 'string' && typeof b === 'string') return a + b
  if (a instanceof CelDouble && b instanceof CelDouble) return new CelDouble(a.value + b.value)
  if (a instanceof CelList && b instanceof CelList) return addLists(a, b)
  if (a instanceof CelUint && b instanceof CelUint) return new CelUint(checkedUint(a.value + b.value))
  if (a instanceof CelDuration && b instanceof CelDuration) return addDurations(a, b)
  if (a instanceof CelTimestamp && b instanceof CelDuration) return moveTimestamp(a, b.nanos)
  if (a instanceof CelDuration && b instanceof CelTimestamp) return moveTimestamp(b, a.nanos)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.concat([a, b])
  throw unfit('_+_', a)
}

/** Longer than any list in a request; lists can double with each operator of an expression. */
const longestList = 10_000_000

function addLists(a: CelList, b: CelList): CelValue {
  if (a.plus) return a.plus(b)
  if (a.size === 0) return b
  if (b.size === 0) return a
  if (a.size + b.size > longestList) throw new CelCostError()
  return new CelConcatenation(a, b)
}

export function subtractValues(a: CelValue, b: CelValue): CelValue {
  if (isInt(a) && isInt(b)) return subtractInts(a, b)
  if (a instanceof CelDouble && b instanceof CelDouble) return new CelDouble(a.value - b.value)
  if (a instanceof CelUint && b instanceof CelUint) return new CelUint(checkedUint(a.value - b.value))
  if (a instanceof CelDuration && b instanceof CelDuration) return addDurations(a, negateDuration(b))
  if (a instanceof CelTimestamp && b instanceof CelDuration) return moveTimestamp(a, -b.nanos)
  if (a instanceof CelTimestamp && b instanceof CelTimestamp) return timeBetween(b, a)
  throw unfit('_-_', a)
}

export function multiplyValues(a: CelValue, b: CelValue): CelValue {
  if (isInt(a) && isInt(b)) return multiplyInts(a, b)
  if (a instanceof CelDouble && b instanceof CelDouble) return new CelDouble(a.value * b.value)
  if (a instanceof CelUint && b instanceof CelUint) return new CelUint(checkedUint(a.value * b.value))
  throw unfit('_*_', a)
}

export function divideValues(a: CelValue, b: CelValue): CelValue {
  if (isInt(a) && isInt(b)) return divideInts(a, b)
  if (a instanceof CelDouble && b instanceof CelDouble) return new CelDouble(a.value / b.value)
  if (a instanceof CelUint && b instanceof CelUint) {
    if (b.value === 0n) throw new CelRuntimeError('division by zero')
    return new CelUint(a.value / b.value)
  }
  throw unfit('_/_', a)
}

export function moduloValues(a: CelValue, b: CelValue): CelValue {
  if (isInt(a) && isInt(b)) return moduloInts(a, b)
  if (a instanceof CelUint && b instanceof CelUint) {
    if (b.value === 0n) throw new CelRuntimeError('modulus by zero')
    return new CelUint(a.value % b.value)
  }
  throw unfit('_%_', a)
}

export function negateValue(value: CelValue): CelValue {
  if (isInt(value)) return negateInt(value)
  if (value instanceof CelDouble) return new CelDouble(-value.value)
  if (value instanceof CelDuration) return negateDuration(value)
  throw unfit('-_', value)
}

/** Types with the operator report the other operand, types with functions report nothing; others report the operator. */
const talkative = new Set(['string', 'google.protobuf.Timestamp', 'google.protobuf.Duration'])
const knows: Readonly<Record<string, readonly string[]>> = {
  '_+_': ['int', 'uint', 'double', 'bytes', 'list'],
  '_-_': ['int', 'uint', 'double'],
  '_*_': ['int', 'uint', 'double'],
  '_/_': ['int', 'uint', 'double'],
  '_%_': ['int', 'uint'],
  '-_': ['bool'],
}

function unfit(operator: string, left: CelValue): CelRuntimeError {
  const { name } = typeOfValue(left)
  return noSuchOverload(talkative.has(name) || knows[operator]!.includes(name) ? undefined : operator)
}
