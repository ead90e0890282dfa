import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorsDoc, errorsDocUrl } from '../../scripts/generate-errors-doc.ts'
import { describeError, type ErrorEntry, errorTable, isMusterError, MusterError } from './errors.ts'

const entries: readonly (readonly [string, ErrorEntry])[] = Object.entries(errorTable)

describe('the table of errors', () => {
  it('has one code for each name', () => {
    const codes = entries.map(([, { code }]) => code)
    expect(new Set(codes).size).toBe(codes.length)
    for (const code of codes) expect(code).toMatch(/^MUS[12]\d{3}$/)
  })

  it('tells in sentences what has happened and what to do', () => {
    for (const [name, { meaning, cure }] of entries) {
      for (const sentence of [meaning, cure])
        expect([name, sentence]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/)])
    }
  })

  it('is what docs/errors.md lists: the same codes, names, classes and cures (node scripts/generate-errors-doc.ts)', () => {
    const text = readFileSync(errorsDocUrl, 'utf8')
    const section = /^## (MUS\d+)\n\n\*\*(\w+)\*\* \((\w+)\)\. (.+)\n\nCure: (.+)$/gm
    const listed = [...text.matchAll(section)].map((match) => match.slice(1))
    const wanted = entries.map(([name, { code, retry, meaning, cure }]) => [code, name, retry, meaning, cure])
    expect(listed).toEqual(wanted.toSorted(([a = ''], [b = '']) => a.localeCompare(b)))
    expect(text).toBe(errorsDoc())
  })
})

describe('an error', () => {
  it('knows its code and class, and describes itself with cause, place, cure and code', () => {
    const error = new MusterError('NotFound', 'pods "web" not found.', { retryAfterMs: 5 })
    expect(error).toMatchObject({ name: 'NotFound', code: 'MUS1304', retry: 'terminal', retryAfterMs: 5 })
    expect(describeError(error)).toBe(
      `MUS1304 NotFound: pods "web" not found. ${errorTable.NotFound.cure} See docs/errors.md#mus1304`,
    )
    expect(describeError(new TypeError('a bug'))).toBe('a bug')
    expect(describeError('text')).toBe('text')
  })

  it('is told from others by name', () => {
    const error = new MusterError('Gone', 'too old')
    expect(isMusterError(error)).toBe(true)
    expect(isMusterError(error, 'Conflict', 'Gone')).toBe(true)
    expect(isMusterError(error, 'Conflict')).toBe(false)
    expect(isMusterError(new Error('Gone'), 'Gone')).toBe(false)
  })
})
