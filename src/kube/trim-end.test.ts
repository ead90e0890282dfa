import { expect, it } from 'vitest'
import { trimEnd } from './trim-end.ts'

it('removes characters from the end, and from nowhere else', () => {
  expect(['//a//b//', '///', '', 'a'].map((text) => trimEnd(text, '/'))).toStrictEqual(['//a//b', '', '', 'a'])
  expect(trimEnd('.a: .,', ' .,')).toBe('.a:')
})
