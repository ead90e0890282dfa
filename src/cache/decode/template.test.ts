import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commonPieces } from './template.ts'

/** Is the text these pieces with a string between each two? */
function isSpelled(text: string, pieces: readonly string[]): boolean {
  let at = 0
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) {
      const string = /^"(?:[^"\\]|\\.)*"/s.exec(text.slice(at))
      if (!string) return false
      at += string[0].length
    }
    if (!text.startsWith(piece, at)) return false
    at += piece.length
  }
  return at === text.length
}

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 })

/** The same value with other strings in the places of members. */
function withOtherStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => withOtherStrings(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withOtherStrings(inner, change)]))
}

describe('the common template of two texts', () => {
  it('matches both of them', () => {
    fc.assert(
      fc.property(json, json, (one, other) => {
        const [a, b] = [JSON.stringify(one), JSON.stringify(other)]
        const pieces = commonPieces(a, b)
        if (pieces === undefined) return
        expect(isSpelled(a, pieces)).toBe(true)
        expect(isSpelled(b, pieces)).toBe(true)
      }),
    )
  })

  it('is found when only strings differ', () => {
    fc.assert(
      fc.property(json, fc.string(), (value, suffix) => {
        const a = JSON.stringify(value)
        const b = JSON.stringify(
          withOtherStrings(value, (text) => (text.length % 2 ? text + suffix.replaceAll(/["\\]/g, '') : text)),
        )
        expect(commonPieces(a, b)).toBeDefined()
      }),
    )
  })

  it('is empty when numbers or structure differ', () => {
    expect(commonPieces('[1]', '[2]')).toBeUndefined()
    expect(commonPieces('["a"]', '["a","b"]')).toBeUndefined()
    expect(commonPieces('["a"]', '[1]')).toBeUndefined()
    expect(commonPieces('["a"]', '["a"')).toBeUndefined()
  })

  it('does not split a string', () => {
    expect(commonPieces('{"a":"x","k\\"1":"y"}', '{"a":"xx","k\\"1":"y"}')).toEqual(['{"a":', ',"k\\"1":"y"}'])
    expect(commonPieces('{"a\\\\":"1"}', '{"a\\\\":"2"}')).toEqual(['{"a\\\\":', '}'])
  })
})
