import { expect, it } from 'vitest'
import { trimEnd } from './trim-end.ts'

it('removes one character from the end, and from nowhere else', () => {
  expect(['//a//b//', '///', '', 'a'].map((text) => trimEnd(text, '/'))).toStrictEqual(['//a//b', '', '', 'a'])
})
