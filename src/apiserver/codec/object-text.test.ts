import { describe, expect, it } from 'vitest'
import { objectText, textOnce } from './object-text.ts'

describe('the text of an object', () => {
  it('is its JSON, at every call', () => {
    const object = { a: [1n, 'ü', null] }
    expect([objectText(object), objectText(object), textOnce(object)]).toEqual(
      Array.from({ length: 3 }, () => '{"a":[1,"ü",null]}'),
    )
  })

  it('is separate from that of an equal object, and of one that is too long to cache', () => {
    const long = { text: 'x'.repeat(100_000) }
    expect(objectText(long)).toBe(textOnce({ ...long }))
    expect(textOnce({ b: 1 })).toBe('{"b":1}')
  })

  it('is still correct after it has been evicted', () => {
    const objects = Array.from({ length: 2000 }, (_, at) => ({ at, filler: 'x'.repeat(1000) }))
    for (const object of objects) objectText(object)
    for (const object of objects) expect(textOnce(object)).toBe(JSON.stringify(object))
  })
})
