import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFrameReader, frame } from './frame.ts'

describe('frames on a pipe', () => {
  it('arrive complete and in order, however they are split', () => {
    // Of one to four bytes, and half of one.
    const unit = fc.constantFrom('a', '\0', 'ü', '€', '😀', '\ud83d')
    const texts = fc.array(fc.string({ unit, maxLength: 12 }), { maxLength: 8 })
    fc.assert(
      fc.property(texts, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sent, sizes) => {
        const heard: string[] = []
        const read = createFrameReader((text) => void heard.push(text))
        const bytes = Buffer.concat(sent.map(frame))
        // One buffer for all pieces, as a reader of files has it.
        const piece = Buffer.alloc(9)
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length]!
          const length = bytes.copy(piece, 0, at, at + size)
          read(piece.subarray(0, length))
          at += length
        }
        expect(heard).toEqual(sent.map((text) => Buffer.from(text).toString()))
      }),
    )
  })

  it('that exceed the limit are not buffered, and end the connection', () => {
    const heard: (string | number)[] = []
    const read = createFrameReader(
      (text) => void heard.push(text),
      5,
      (size) => void heard.push(size),
    )
    read(Buffer.concat([frame('short'), frame('longer').subarray(0, 4)]))
    read(frame('more'))
    expect(heard).toEqual(['short', 6])
  })
})
