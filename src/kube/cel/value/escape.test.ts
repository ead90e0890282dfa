import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeName, unescapeName } from './escape.ts'

describe('escaped property names', () => {
  it('round-trip', () => {
    const name = fc.stringMatching(/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]{0,12}$/)
    fc.assert(
      fc.property(name, (property) => {
        // Three underscores and more, or one beside an escape, have two readings: the server has that flaw too.
        fc.pre(!/_{3}|_(?:[.\-/]|__)|(?:[.\-/]|__)_/.test(property))
        const escaped = escapeName(property)
        expect(escaped).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/)
        expect(unescapeName(escaped!)).toBe(property)
      }),
    )
  })

  it('do not exist for names that cannot be identifiers', () => {
    expect(['1st', '', 'a b', 'é'].map(escapeName)).toEqual([undefined, undefined, undefined, undefined])
  })

  it('are needed for keywords', () => {
    expect(escapeName('namespace')).toBe('__namespace__')
    expect(unescapeName('__namespace__')).toBe('namespace')
    expect(unescapeName('a__namespace__')).toBeUndefined()
  })
})
