import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import { canonicalJson, compareJson, compareText } from './canonical.ts'

const jsonValues = (): fc.Arbitrary<Json> => fc.jsonValue({ maxDepth: 2 })
/** Characters of one to four bytes, around the places where UTF-8 and UTF-16 disagree. */
const texts = (): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom('a', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{1f600}')).map((all) => all.join(''))

describe('text', () => {
  it('is ordered by its UTF-8 bytes', () => {
    fc.assert(
      fc.property(texts(), texts(), (a, b) => {
        const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b))
        expect(Math.sign(compareText(a, b))).toBe(bytes)
      }),
    )
  })

  it('puts characters beyond U+FFFF last, where UTF-16 does not', () => {
    const [astral, last] = ['\u{1f600}', '\uff5e']
    expect(compareText(astral, last)).toBeGreaterThan(0)
    expect([last, astral].toSorted()).toEqual([astral, last])
  })
})

describe('values', () => {
  it('are ordered by kind: numbers, strings, booleans, lists, maps, null', () => {
    const sorted: Json[] = [
      -1,
      2,
      2.5,
      10n,
      '10',
      'a',
      false,
      true,
      [],
      [1],
      [1, 0],
      {},
      { a: 1 },
      { a: 2 },
      { b: 0 },
      null,
    ]
    for (const [at, value] of sorted.entries()) {
      for (const [before, smaller] of sorted.entries()) {
        expect(Math.sign(compareJson(smaller, value))).toBe(Math.sign(before - at))
      }
    }
  })

  it('have a total order', () => {
    fc.assert(
      fc.property(jsonValues(), jsonValues(), jsonValues(), (a, b, c) => {
        expect(Math.sign(compareJson(a, b))).toBe(-Math.sign(compareJson(b, a)) + 0)
        const [first, , last] = [a, b, c].toSorted(compareJson) as [Json, Json, Json]
        expect(compareJson(first, last)).toBeLessThanOrEqual(0)
      }),
    )
  })
})

describe('canonical JSON', () => {
  it('sorts keys, is compact and safe in HTML', () => {
    expect(canonicalJson({ b: [1, 'x<y>&z', null], a: { d: true, c: 2n ** 63n } })).toBe(
      '{"a":{"c":9223372036854775808,"d":true},"b":[1,"x\\u003cy\\u003e\\u0026z",null]}',
    )
    expect(canonicalJson('"\\\n\r\t\b\u2028é')).toBe('"\\"\\\\\\n\\r\\t\\u0008\\u2028é"')
  })

  it('is equivalent to any other JSON of the value', () => {
    fc.assert(
      fc.property(jsonValues(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})
