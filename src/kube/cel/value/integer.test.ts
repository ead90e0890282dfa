import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addInts, divideInts, moduloInts, multiplyInts, negateInt, subtractInts } from './integer.ts'
import { type CelInt, intOf } from './value.ts'

const least = -(2n ** 63n)
const greatest = 2n ** 63n - 1n
/** Any int64, with those most at home where doubles end and where int64 does. */
const int64 = fc.oneof(
  fc.bigInt({ min: least, max: greatest }),
  fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
  fc.bigInt({ min: -100n, max: 100n }),
  fc.constantFrom(least, greatest, 2n ** 53n, 2n ** 53n - 1n, -(2n ** 53n), 1n - 2n ** 53n),
)

function agrees(ours: () => CelInt, exact: bigint): void {
  // Each integer has one representation, so that === compares: no -0, no bigint where a number will do.
  expect(outcome(ours)).toBe(exact < least || exact > greatest ? 'integer overflow' : intOf(exact))
}

function outcome(compute: () => CelInt): CelInt | string {
  try {
    return compute()
  } catch (error) {
    return (error as Error).message
  }
}

describe('int64 arithmetic', () => {
  it('is exact, or fails', () => {
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        agrees(() => addInts(intOf(a), intOf(b)), a + b)
        agrees(() => subtractInts(intOf(a), intOf(b)), a - b)
        agrees(() => multiplyInts(intOf(a), intOf(b)), a * b)
        agrees(() => negateInt(intOf(a)), -a)
      }),
    )
  })

  it('divides toward zero, and the remainder has the sign of the dividend', () => {
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        fc.pre(b !== 0n && !(a === least && b === -1n))
        agrees(() => divideInts(intOf(a), intOf(b)), a / b)
        agrees(() => moduloInts(intOf(a), intOf(b)), a % b)
      }),
    )
  })

  it('does not divide by zero', () => {
    expect(() => divideInts(1, 0)).toThrow('division by zero')
    expect(() => moduloInts(1, 0)).toThrow('modulus by zero')
    expect(() => divideInts(intOf(least), -1)).toThrow('integer overflow')
  })
})
