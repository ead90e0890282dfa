import { describe, expect, it } from 'vitest'
import { objectText, textOnce } from './object-text.ts'

describe('the text of an object', () => {
  it('is its JSON, at every call', () => {
    const object = { a: [1n, 'ü', null] }
    expect([objectText(object), objectText(object), textOnce(object)]).toEqual(
      Array.from({ length: 3 }, () => '{"a":[1,"ü",null]}'),
    )
  })

  it('is separate from that of an equal object', () => {
    expect(textOnce({ b: 1 })).toBe('{"b":1}')
  })

  it('is cached until the next one, even if it is longer than all others may be together', () => {
    let reads = 0
    const long = {
      get text() {
        reads++
        return 'x'.repeat(600_000)
      },
    }
    expect(objectText(long)).toBe(textOnce({ ...long }))
    reads = 0
    expect([objectText(long), textOnce(long)].map(({ length }) => length)).toEqual([600_011, 600_011])
    expect(reads).toBe(0)
    objectText({ b: 1 })
    textOnce(long)
    expect(reads).toBe(1)
  })

  it('is still correct after it has been evicted', () => {
    const objects = Array.from({ length: 2000 }, (_, at) => ({ at, filler: 'x'.repeat(1000) }))
    for (const object of objects) objectText(object)
    for (const object of objects) expect(textOnce(object)).toBe(JSON.stringify(object))
  })
})
