import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseWarnings } from './warning.ts'

const quoted = (text: string): string => `"${text.replace(/["\\]/g, (character) => `\\${character}`)}"`

describe('warnings', () => {
  it('are parsed, several in one header, with agent and date', () => {
    expect(
      parseWarnings(
        '299 - "unknown field \\"spec.x\\"", 299 host:443 "a, b" "Sat, 25 Aug 2012 23:34:45 GMT",299 - "c"',
      ),
    ).toEqual([
      { code: 299, agent: '-', text: 'unknown field "spec.x"' },
      { code: 299, agent: 'host:443', text: 'a, b' },
      { code: 299, agent: '-', text: 'c' },
    ])
  })

  it('round-trip any quoted text', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const header = texts.map((text) => `299 - ${quoted(text)}`).join(', ')
        expect(parseWarnings(header).map(({ text }) => text)).toEqual(texts)
      }),
    )
  })

  it('that are invalid are skipped, never an error', () => {
    expect(parseWarnings('')).toEqual([])
    expect(parseWarnings('nonsense')).toEqual([])
    expect(parseWarnings('299 - "a", 299 - "never closed')).toEqual([{ code: 299, agent: '-', text: 'a' }])
  })
})
