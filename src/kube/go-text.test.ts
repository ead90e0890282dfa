import { describe, expect, it } from 'vitest'
import { formatGoFloat, formatGoJson, formatGoValue, isGoInteger } from './go-text.ts'

describe('values as Go prints them', () => {
  it.each([
    [1.5, '1.5'],
    [123456.5, '123456.5'],
    [1234567.5, '1.2345675e+06'],
    [0.00001, '1e-05'],
    [0.0001, '0.0001'],
    [1e21, '1e+21'],
    [-2.5, '-2.5'],
    [0, '0'],
  ])('writes the float %d as %s', (value, text) => expect(formatGoFloat(value)).toBe(text))

  it('writes integers in full, and what fits no int64 as a float', () => {
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

  it('sorts the keys of objects and escapes what HTML could take for its own', () => {
    expect(formatGoJson({ b: ['<', 1.5, null], a: { '&': true }, c: undefined })).toBe(
      String.raw`{"a":{"\u0026":true},"b":["\u003c",1.5,null]}`,
    )
  })

  it('quotes text, whatever is in it', () => {
    expect(formatGoValue('é"\u0007\u200b\u007f')).toBe(String.raw`"é\"\a\u200b\x7f"`)
  })
})
