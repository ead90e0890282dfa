import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printable, redact } from './redaction.ts'

describe('redact', () => {
  it.each([
    ['a JWT', 'sent eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl to the server', 'eyJ'],
    ['a bearer header', 'Authorization: Bearer s3cr3t!', 's3cr3t'],
    ['a named value', 'login failed, password="hunter2", user=jane', 'hunter2'],
    ['JSON', '{"refresh_token": "abc123", "ok": false}', 'abc123'],
    ['a key', '-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----', 'MIIEvQ'],
    ['a truncated key', 'got -----BEGIN PRIVATE KEY-----\nMIIEvQ', 'MIIEvQ'],
    ['an opaque word', 'unknown session AKIA7XQ2P9LM4T8ZR1C6VWYB', 'AKIA7'],
  ])('masks %s', (_name, text, secret) => {
    expect(redact(text)).not.toContain(secret)
    expect(redact(text)).toContain('[redacted]')
  })

  it('keeps a plain error message', () => {
    const complaint = 'Unable to locate credentials in /home/me/.aws/credentials. Run "aws configure".'
    expect(redact(complaint)).toBe(complaint)
  })

  it('masks known secrets everywhere, also when one contains another', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z!?%]{4,20}$/), fc.string(), fc.string(), (secret, before, after) => {
        expect(redact(`${before}${secret}-more${after}`, [secret, `${secret}-more`])).not.toContain(`${secret}-more`)
      }),
    )
  })

  it('masks values after words that announce a secret, as lookbehinds would', () => {
    const expected = (text: string): string =>
      text
        .replaceAll(/(?<=\b(?:bearer|basic)\s+)[^\s"',;]+/gi, '[redacted]')
        .replaceAll(/(?<=(?:token|api[-_]?key)["']?\s*[:=]\s*["']?)[^\s"',;}]+/gi, '[redacted]')
    const word = fc.constantFrom('bearer', 'Basic', 'token', 'api_key', 'x', ' ', '=', ':', '"', "'", ',', '}', '-')
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (words) => {
        const text = words.join('')
        // Not what goes for its length.
        fc.pre(!/[\w=-]{40}/.test(text))
        expect(redact(text)).toBe(printable(expected(text)))
      }),
      { numRuns: 2000 },
    )
  })

  it('quotes the end of a long text, where the reason usually is', () => {
    const said = redact(`${'noise '.repeat(1_000)}the reason`)
    expect(said.length).toBeLessThan(1_100)
    expect(said).toMatch(/the reason$/)
  })
})

describe('printable', () => {
  it('removes terminal control characters', () => {
    expect(printable('\u001B[31mred\u001B[0m\r\n\u0007bell\u202Eflip')).toBe('red bell flip')
    expect(printable('\u001B]0;title\u0007a \u001B]8;;https://x\u001B\\link \u009B1;31mb\u001B(B \u001B]open')).toBe(
      'a link b open',
    )
  })
})
