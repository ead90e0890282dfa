import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutText, hidingText, hidingValues } from './hidden-text.ts'

const value = 'correct horse battery staple'
const base64 = (text: string): string => Buffer.from(text).toString('base64')

describe('masked values in messages', () => {
  const hide = hidingValues([value, 'correct horse', 'tiny'], '***')

  it.each([
    ['verbatim', `not "${value}"`, 'not "***"'],
    ['one of which contains another', `${value} or correct horse`, '*** or ***'],
    ['within a word', 'a-tiny2', 'a-***2'],
    ['with other white space', 'correct\n  horse battery\tstaple!', '***!'],
    ['truncated at the end', `it was ${value.slice(0, 20)}`, 'it was ***'],
    ['truncated before an ellipsis', `"${value.slice(0, 16)}…" is wrong`, '"***…" is wrong'],
    ['truncated before three dots', `"${value.slice(0, 16)}"... is wrong`, '"***"... is wrong'],
    ['truncated beyond recognition', 'it was correct', 'it was correct'],
    ['absent', 'something else entirely', 'something else entirely'],
  ])('%s', (_how, text, shown) => {
    expect(hide(text)).toBe(shown)
  })

  it('encoded: whole, embedded, truncated, escaped', () => {
    const texts = [base64(value), base64(`{"password":"${value}"}`), base64(base64(value)), base64(value).slice(0, 20)]
    for (const text of texts) expect(hide(`it was ${text}`)).not.toContain(text.slice(-16))
    const pem = '-----BEGIN KEY-----\nc2VjcmV0\n-----END KEY-----\n'
    expect(hidingValues([pem], '***')(JSON.stringify({ key: pem }))).toBe('{"key":"***"}')
    expect(hidingValues(['a b/c?d=e'], '***')(`GET /${encodeURIComponent('a b/c?d=e')}`)).toBe('GET /***')
  })

  it('leave no part of eight characters behind, whatever surrounds them and wherever they are truncated', () => {
    const secret = fc.string({
      minLength: 8,
      maxLength: 40,
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'.split('')),
    })
    const around = fc.string({ maxLength: 20, unit: fc.constantFrom(...'0123456789 .,:"'.split('')) })
    fc.assert(
      fc.property(secret, around, around, fc.nat(100), (hidden, before, after, most) => {
        const shown = cutText(`${before}${hidden}${after}`, most + 2, hidingValues([hidden], '***'))
        expect(shown.length).toBeLessThanOrEqual(most + 2)
        for (let at = 0; at + 8 <= hidden.length; at++) expect(shown).not.toContain(hidden.slice(at, at + 8))
        // The same of a text that another program has cut.
        const cut = hidingValues([hidden], '***')(`${before}${hidden}${after}`.slice(0, most))
        for (let at = 0; at + 8 <= hidden.length; at++) expect(cut).not.toContain(hidden.slice(at, at + 8))
      }),
    )
  })

  it('are found by the fast check wherever the full search finds them', () => {
    const secrets = fc.array(
      fc.string({ minLength: 4, maxLength: 12, unit: fc.constantFrom(...'ab1 \n/"\\'.split('')) }),
      {
        maxLength: 4,
      },
    )
    const wrap = fc.constantFrom(
      (text: string) => text,
      base64,
      (text: string) => JSON.stringify(text),
      (text: string) => base64(`x${text}yz`),
      encodeURIComponent,
    )
    fc.assert(
      fc.property(secrets, fc.array(wrap, { maxLength: 2 }), fc.string({ maxLength: 6 }), (values, wraps, more) => {
        const text = wraps.reduce((inner, wrapped) => wrapped(inner), more + values.join(more))
        const all = [...new Set(values.flatMap((each) => [each, each.trim()]))]
        const thorough = hidingText(
          all.map((each) => ({ bytes: Buffer.from(each), standIn: '***' })),
          { withinWords: true, cutValues: true },
        )
        expect(hidingValues(values, '***')(text)).toBe(thorough(text))
      }),
    )
  })
})

describe('a truncated text', () => {
  it('is masked first: no part of a value longer than the limit remains', () => {
    const long = 'x1'.repeat(5000)
    expect(cutText(`it was ${long}`, 20, hidingValues([long], '***'))).toBe('it was ***')
    expect(cutText(`${'.'.repeat(15)}${value}`, 20, hidingValues([value], '***'))).toBe(`${'.'.repeat(15)}***`)
  })

  it('stays valid text within the limit', () => {
    expect(cutText('abcdef', 6)).toBe('abcdef')
    expect(cutText('abcdefg', 6)).toBe('abcde…')
    expect(cutText('abcd😀fg', 6)).toBe('abcd\uFFFD…')
  })
})
