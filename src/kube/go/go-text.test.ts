import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatGoFixed, formatGoFloat, formatGoJson, formatGoValue, isGoInteger } from './go-text.ts'

describe('values formatted as in Go', () => {
  it('formats integers in full, and values beyond int64 as floats', () => {
    expect([1000000, 9007199254740993n, 2 ** 63].map(formatGoValue)).toEqual([
      '1000000',
      '9007199254740993',
      '9.223372036854776e+18',
    ])
    expect([1, 1.5, 2 ** 63, -(2 ** 63), 9223372036854775808n].map(isGoInteger)).toEqual([
      true,
      false,
      false,
      true,
      false,
    ])
  })

  it('sorts the keys of objects and escapes HTML characters', () => {
    expect(formatGoJson({ b: ['<', 1.5, null], a: { '&': true }, c: undefined })).toBe(
      String.raw`{"a":{"\u0026":true},"b":["\u003c",1.5,null]}`,
    )
  })

  it('quotes any text', () => {
    expect(formatGoValue('é"\u0007\u200b\u007f')).toBe(String.raw`"é\"\a\u200b\x7f"`)
  })
})

describe('a double', () => {
  it.each<readonly [number, string]>([
    [1.5, '1.5'],
    [999_999, '999999'],
    [123_456.5, '123456.5'],
    [-2.5, '-2.5'],
    [0, '0'],
    [1_000_000, '1e+06'],
    [1_234_567.5, '1.2345675e+06'],
    [1e21, '1e+21'],
    [0.0001, '0.0001'],
    [0.000_01, '1e-05'],
    [-0, '-0'],
    [-Infinity, '-Inf'],
  ])('%d has an exponent from a million on, and below a ten thousandth', (value, text) => {
    expect(formatGoFloat(value)).toBe(text)
  })

  it('round-trips', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Object.is(Number(formatGoFloat(value)), value)).toBe(true)
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
  ])('%d with %d digits rounds half to even', (value, digits, text) => {
    expect(formatGoFixed(value, digits)).toBe(text)
  })
})
