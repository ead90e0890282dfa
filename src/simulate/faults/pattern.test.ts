import { describe, expect, it } from 'vitest'
import { textsMatching } from './pattern.ts'

describe('strings for a pattern', () => {
  it.each([
    String.raw`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`,
    String.raw`^\d+(s|m|h)$`,
    String.raw`^(25[0-5]|2[0-4]\d|1?\d?\d)(\.\d{1,3}){3}$`,
    String.raw`^v(?:[0-9]+)\.(?P<minor>[0-9]{2,3})$`,
    String.raw`^[^/:]+/[\w.-]+:.{2,}$`,
    'sha256:[a-f0-9]{64}',
  ])('%s: at least two, and each matches', (pattern) => {
    const texts = textsMatching(pattern)
    expect(texts.length).toBeGreaterThanOrEqual(2)
    for (const text of texts) expect(text).toMatch(new RegExp(pattern.replace('?P<', '?<'), 'u'))
  })

  it('are none where the pattern is not supported', () => {
    expect(textsMatching(String.raw`^\pL+$`)).toEqual([])
    expect(textsMatching('^(a$')).toEqual([])
  })
})
