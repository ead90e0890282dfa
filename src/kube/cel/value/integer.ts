/**
 * int64 and uint64 arithmetic. The common case is one operation on doubles and a check that the result is safe; only results
 * beyond ±2^53 are computed with BigInt. Results beyond 64 bits are errors, as everywhere in CEL.
 */
import { parseInt64 } from '../../go/int64.ts'
import { CelRuntimeError } from './error.ts'
import { type CelInt, intOf } from './value.ts'

const least = -(2n ** 63n)
const greatest = 2n ** 63n - 1n
const greatestUnsigned = 2n ** 64n - 1n

const overflow = (): CelRuntimeError => new CelRuntimeError('integer overflow')

export function checkedInt(value: bigint): CelInt {
  if (value < least || value > greatest) throw overflow()
  return intOf(value)
}

export function checkedUint(value: bigint): bigint {
  if (value < 0n || value > greatestUnsigned) throw new CelRuntimeError('unsigned integer overflow')
  return value
}

export function addInts(a: CelInt, b: CelInt): CelInt {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum)) return sum
  }
  return checkedInt(BigInt(a) + BigInt(b))
}

export function subtractInts(a: CelInt, b: CelInt): CelInt {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b
    if (Number.isSafeInteger(difference)) return difference
  }
  return checkedInt(BigInt(a) - BigInt(b))
}

export function multiplyInts(a: CelInt, b: CelInt): CelInt {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    // `+ 0`: an integer has no negative zero.
    if (Number.isSafeInteger(product)) return product + 0
  }
  return checkedInt(BigInt(a) * BigInt(b))
}

export function divideInts(a: CelInt, b: CelInt): CelInt {
  if (b === 0) throw new CelRuntimeError('division by zero')
  if (typeof a === 'number' && typeof b === 'number') return Math.trunc(a / b) + 0
  return checkedInt(BigInt(a) / BigInt(b))
}

export function moduloInts(a: CelInt, b: CelInt): CelInt {
  if (b === 0) throw new CelRuntimeError('modulus by zero')
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0
  if (BigInt(a) === least && BigInt(b) === -1n) throw overflow()
  return intOf(BigInt(a) % BigInt(b))
}

export function negateInt(value: CelInt): CelInt {
  return typeof value === 'number' ? 0 - value : checkedInt(-value)
}

/** The integer part of a double. */
export function doubleToInt(value: number): CelInt {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw overflow()
  const whole = Math.trunc(value) + 0
  return Number.isSafeInteger(whole) ? whole : intOf(BigInt(whole))
}

export function doubleToUint(value: number): bigint {
  if (!(value >= 0 && value < 2 ** 64)) throw new CelRuntimeError('unsigned integer overflow')
  return BigInt(Math.trunc(value))
}

/** A decimal integer as Go parses it; undefined if invalid or out of range. */
export function parseCelInt(text: string): CelInt | undefined {
  const value = parseInt64(text)
  return value === undefined ? undefined : intOf(value)
}
