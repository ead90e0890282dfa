import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { equalJson, isJsonObject, type Json, parseJson, stringifyJson } from './json.ts'

const int64 = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)
const unsafe = int64.filter((value) => !Number.isSafeInteger(Number(value)))

/** Values as `parseJson` gives them: an integer is a `bigint` exactly when a `number` cannot hold it. */
const values: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
    unsafe,
    fc.string({ unit: 'grapheme' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toString')), tie('value'), { maxKeys: 4 }),
  ),
})).value

describe('large integers', () => {
  it.each([
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    [' 9223372036854775807 ', 9223372036854775807n],
    ['[9223372036854775807]', [9223372036854775807n]],
    ['{"a":-9223372036854775808}', { a: -9223372036854775808n }],
    ['{"a": 18446744073709551615,"b":1}', { a: 18446744073709551615n, b: 1 }],
    ['[1,\n9007199254740993]', [1, 9007199254740993n]],
  ])('%s round-trips', (text, value) => {
    expect(parseJson(text)).toEqual(value)
  })

  it('are plain numbers while those are exact', () => {
    expect(parseJson('[9007199254740991,-9007199254740991,0]')).toEqual([9007199254740991, -9007199254740991, 0])
    expect(parseJson('[1234567890123456.5,1e300,12345678901234567000e0]')).toEqual([
      1234567890123456.5, 1e300, 12345678901234567000,
    ])
  })

  it('are kept inside strings', () => {
    expect(parseJson('{"a":"9007199254740993","b":": 9007199254740993"}')).toEqual({
      a: '9007199254740993',
      b: ': 9007199254740993',
    })
  })

  it('are written as numbers, at any depth', () => {
    expect(stringifyJson({ a: [9007199254740993n, 1], b: { c: -1n } })).toBe('{"a":[9007199254740993,1],"b":{"c":-1}}')
    expect(stringifyJson([1n], 2)).toBe('[\n  1\n]')
  })

  it('round-trip', () => {
    fc.assert(
      fc.property(unsafe, (value) => {
        expect(parseJson(stringifyJson(value))).toBe(value)
        expect(parseJson(stringifyJson({ at: [value] }))).toEqual({ at: [value] })
      }),
    )
  })
})

describe('parsing and formatting', () => {
  it('round-trips', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(equalJson(parseJson(stringifyJson(value)), value)).toBe(true)
        expect(stringifyJson(parseJson(stringifyJson(value)))).toBe(stringifyJson(value))
      }),
    )
  })

  it('omits undefined members', () => {
    expect(stringifyJson({ a: undefined, b: 1n })).toBe('{"b":1}')
  })

  it('fails as JSON.parse and JSON.stringify do', () => {
    expect(() => parseJson('{"a":')).toThrow(SyntaxError)
    expect(() => parseJson('[9007199254740993')).toThrow(SyntaxError)
    const circle: Record<string, unknown> = { long: 1n }
    circle['self'] = circle
    expect(() => stringifyJson(circle)).toThrow(TypeError)
  })
})

describe('equality', () => {
  it('is reflexive, over a copy too', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(equalJson(value, value)).toBe(true)
        expect(equalJson(value, structuredClone(value))).toBe(true)
      }),
    )
  })

  it('is symmetric, and distinguishes values with different JSON', () => {
    const sorted = (value: Json): unknown =>
      isJsonObject(value)
        ? Object.entries(value)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, member]) => [key, sorted(member as Json)])
        : Array.isArray(value)
          ? { items: value.map((item: Json) => sorted(item)) }
          : value
    fc.assert(
      fc.property(values, values, (a, b) => {
        expect(equalJson(a, b)).toBe(equalJson(b, a))
        expect(equalJson(a, b)).toBe(stringifyJson(sorted(a)) === stringifyJson(sorted(b)))
      }),
    )
  })

  it.each([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: undefined }, { b: undefined }, true],
    [{ a: null }, {}, false],
    [{ a: 1, b: undefined }, { a: 1, c: 1 }, false],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [{ 0: 1 }, [1], false],
    [1, 1n, true],
    [9007199254740992, 9007199254740993n, false],
    [1n, '1', false],
    [1n, true, false],
    [0, false, false],
    ['', null, false],
    [null, undefined, false],
    [undefined, undefined, true],
    [{ toString: 1 }, {}, false],
    [{}, { toString: undefined }, true],
  ])('of %o and %o is %s', (a, b, equal) => {
    expect(equalJson(a, b)).toBe(equal)
    expect(equalJson(b, a)).toBe(equal)
  })
})

describe('objects', () => {
  it('are neither null nor arrays nor scalars', () => {
    expect([{}, { a: 1 }, Object.create(null)].every((value) => isJsonObject(value))).toBe(true)
    expect([null, undefined, [], '', 1, 1n, true].some((value) => isJsonObject(value))).toBe(false)
  })
})
