import { expect, it } from 'vitest'
import { isEmail } from './email.ts'

it('accepts addresses, with and without a name', () => {
  const good = [
    'a@b',
    ' a.b+c@example.com\t',
    '"a b"@c',
    '"a\\"b"@[1.2.3.4]',
    'A <a@b.c>',
    '<a@b>',
    'J. R. "x" <a@b>',
    'é@ü',
    '😀@b',
  ]
  expect(good.filter((text) => !isEmail(text))).toStrictEqual([])
})

it('rejects everything else', () => {
  const bad = [
    '',
    'a',
    'a@',
    '@b',
    'a b@c',
    'a@b@c',
    'a..b@c',
    '.a@b',
    'a@b.',
    '"a@b',
    'A <a@b',
    'A. <>',
    'a@[b',
    'A a@b>',
    '"\\',
  ]
  expect(bad.filter(isEmail)).toStrictEqual([])
})
