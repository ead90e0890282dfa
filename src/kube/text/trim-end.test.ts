import { expect, it } from 'vitest'
import { trimEnd } from './trim-end.ts'

it('removes characters at the end only', () => {
  expect(['//a//b//', '///', '', 'a'].map((text) => trimEnd(text, '/'))).toStrictEqual(['//a//b', '', '', 'a'])
  expect(trimEnd('.a: .,', ' .,')).toBe('.a:')
})
