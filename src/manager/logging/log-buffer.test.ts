import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLogBuffer } from './log-buffer.ts'

describe('log buffer', () => {
  it('returns the newest lines after a sequence number, bounded in lines and characters', () => {
    const additions = fc.array(fc.string({ maxLength: 40 }), { maxLength: 60 })
    fc.assert(
      fc.property(additions, fc.nat(80), (messages, after) => {
        const buffer = createLogBuffer({ mostLines: 10, mostCharacters: 600 })
        for (const [index, msg] of messages.entries()) buffer.add({ msg }, index)
        const kept = buffer.after(0)
        expect(kept.length).toBeLessThanOrEqual(10)
        expect(JSON.stringify(kept.map(({ line }) => line)).length).toBeLessThanOrEqual(600 + 12)
        // The newest ones, without a gap.
        const numbers = kept.map(({ sequence }) => sequence)
        expect(numbers).toEqual(kept.map((_, index) => messages.length - kept.length + 1 + index))
        expect(buffer.after(after)).toEqual(kept.filter(({ sequence }) => sequence > after))
      }),
    )
  })

  it('keeps the message of a line that is too long, without its members', () => {
    const buffer = createLogBuffer({ mostCharacters: 5000 })
    buffer.add({ level: 'error', msg: 'Reconcile failed', error: 'x'.repeat(10_000) }, 0)
    expect(buffer.after(0)).toMatchObject([{ line: { level: 'error', msg: 'Reconcile failed' } }])
    expect(buffer.after(0)[0]!.line).not.toHaveProperty('error')
  })
})
