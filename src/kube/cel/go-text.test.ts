import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { goDouble, goFixed } from './go-text.ts'

describe('a double', () => {
  it.each<readonly [number, string]>([
    [1.5, '1.5'],
    [999_999, '999999'],
    [1_000_000, '1e+06'],
    [1_234_567.5, '1.2345675e+06'],
    [1e21, '1e+21'],
    [0.0001, '0.0001'],
    [0.000_01, '1e-05'],
    [-0, '-0'],
    [-Infinity, '-Inf'],
  ])('%d has an exponent from a million on, and below a ten thousandth', (value, text) => {
    expect(goDouble(value)).toBe(text)
  })

  it('can be read back', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Object.is(Number(goDouble(value)), value)).toBe(true)
      }),
    )
  })

  it.each<readonly [number, number, string]>([
    [2.25, 1, '2.2'],
    [2.75, 1, '2.8'],
    [1.007_812_5, 6, '1.007812'],
    [0.5, 0, '0'],
    [1.5, 0, '2'],
    [-0, 6, '-0.000000'],
    [1e21, 1, '1000000000000000000000.0'],
  ])('%d with %d digits goes to the even one from half way', (value, digits, text) => {
    expect(goFixed(value, digits)).toBe(text)
  })
})
