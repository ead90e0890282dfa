import { describe, expect, it } from 'vitest'
import { formatCheckOf, isKnownFormat } from './format.ts'

const good: Readonly<Record<string, readonly string[]>> = {
  date: ['2024-02-29', '0001-01-01'],
  'date-time': ['2024-02-29T23:59:59Z', '2024-02-29t12:00:00.5+01:00'],
  duration: ['1h30m', '-1.5s', '0', '3 weeks'],
  ipv4: ['1.2.3.4', '001.2.3.4'],
  ipv6: ['::', '2001:db8::1'],
  cidr: ['0.0.0.0/0', '::/128'],
  mac: ['01:23:45:67:89:AB:cd:ef'],
  uri: ['mailto:a@b', '*', '/', 'https://u:p@h:1/x'],
  email: ['a@b', '"a b"@c'],
  uuid5: ['12345678-1234-5234-8234-123456789abc'],
}

const bad: Readonly<Record<string, readonly string[]>> = {
  date: ['2023-02-29', '24-01-01'],
  'date-time': ['2024-02-29', '2024-02-29T12:60:00Z'],
  duration: ['h', '1'],
  ipv4: ['1.2.3', '1.2.3.256'],
  ipv6: ['1::2::3', 'fe80::1%1'],
  cidr: ['::/129', '1.2.3.4/032'],
  mac: ['01:23:45:67:89-ab', '0123.4567'],
  uri: ['a/b', 'http://h:x/', '/%zz'],
  email: ['a b@c', 'a@b@c'],
  uuid5: ['12345678-1234-5234-7234-123456789abc'],
}

describe('formats', () => {
  it.each(Object.entries(good).flatMap(([format, texts]) => texts.map((text) => [format, text] as const)))(
    '%s accepts %s',
    (format, text) => expect(formatCheckOf(format)!(text)).toBe(true),
  )

  it.each(Object.entries(bad).flatMap(([format, texts]) => texts.map((text) => [format, text] as const)))(
    '%s rejects %s',
    (format, text) => expect(formatCheckOf(format)!(text)).toBe(false),
  )

  it('unknown formats are ignored', () => {
    expect([isKnownFormat('nonsense'), isKnownFormat(''), isKnownFormat('datetime')]).toEqual([false, false, true])
  })
})
