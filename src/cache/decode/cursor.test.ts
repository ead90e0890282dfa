import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson, stringifyJson } from '../../kube/json.ts'
import { Cursor } from './cursor.ts'

function at(text: string): Cursor {
  const cursor = new Cursor()
  cursor.load(text, 0, text.length)
  return cursor
}

/** What comes of it: a value in an array, because 0 and -0 are two, or a failure. */
function outcome(work: () => unknown): readonly unknown[] | 'refused' {
  try {
    return [work()]
  } catch {
    return 'refused'
  }
}

const scalarText = fc.oneof(
  fc.stringMatching(/^-?[0-9]{0,20}(\.[0-9]{0,3})?([eE][+-]?[0-9]{0,3})?$/),
  fc.constantFrom(
    'true',
    'false',
    'null',
    'nul',
    'tru',
    '+1',
    '.5',
    '1.',
    '-',
    '00',
    '-01',
    '1e',
    '0x1',
    'NaN',
    'Infinity',
  ),
)

describe('a cursor', () => {
  it('parses scalars like JSON.parse, and rejects the same input', () => {
    fc.assert(
      fc.property(scalarText, (text) => {
        const read = (): unknown => {
          const cursor = at(text)
          const value = cursor.readScalar()
          cursor.end()
          return value
        }
        // Compared as one: the value, or that there is none.
        expect(outcome(read)).toEqual(outcome(() => parseJson(text)))
      }),
      { numRuns: 2000 },
    )
  })

  it('skips any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.string(), (value, rest) => {
        // A number goes on as far as there are digits.
        const text = stringifyJson(value)
        const cursor = at(`${text},${rest}`)
        cursor.skipValue()
        expect(cursor.at).toBe(text.length)
      }),
      { numRuns: 500 },
    )
  })

  it.each(['{"a":[1,2', '["a', '["a\\', '"a', '"a\n"', '{"a":"\u0000"}', '', 'x'])(
    'rejects %j, which has no end',
    (text) => {
      expect(() => at(text).skipValue()).toThrow('no proper JSON object')
    },
  )

  it('handles characters that end in a syntax byte', () => {
    // U+0122 and U+017B end in 0x22 (a quote) and 0x7b (a brace).
    const text = '{"a":"\u0122","\u017b":["\u017d"]}'
    const cursor = at(text)
    cursor.skipValue()
    expect(cursor.at).toBe(text.length)
    expect(at(text).firstKey()).toBe('a')
  })

  it('matches an expected key exactly, without escapes', () => {
    expect(at('"abc":1').skipKey('abc')).toBe(true)
    expect(at('"abcd":1').skipKey('abc')).toBe(false)
    expect(at('"ab":1').skipKey('abc')).toBe(false)
    expect(at('"a","b":1').skipKey('a","b')).toBe(false)
    expect(at('"a\\nb":1').skipKey('a\\nb')).toBe(false)
    expect(at('"a\nb":1').skipKey('a\nb')).toBe(false)
  })

  it('returns keys in order, however they are written', () => {
    const cursor = at('{ "a" : 1 , "\\u0062":[2],"ü":{} }')
    const keys: string[] = []
    for (let key = cursor.firstKey(['b']); key !== undefined; key = cursor.nextKey(['b'])) {
      keys.push(key)
      cursor.skipValue()
    }
    cursor.end()
    expect(keys).toEqual(['a', 'b', 'ü'])
  })

  it('reads one range of a text', () => {
    const cursor = new Cursor()
    cursor.load('xx[1]yy', 2, 5)
    cursor.skipValue()
    cursor.end()
    cursor.load('xx[1]yy', 2, 4)
    expect(() => cursor.skipValue()).toThrow('ends too early')
  })

  it('fails with a MusterError that does not quote the text', () => {
    const read = (): unknown => at('{"password":secret}').parse(0, 19)
    expect(read).toThrow(expect.objectContaining({ name: 'ProtocolError' }))
    expect(read).not.toThrow(/secret/)
  })
})
