import { describe, expect, it } from 'vitest'
import { isLater } from './resource-version.ts'

describe('order of versions', () => {
  it('compares decimal versions of any length as numbers', () => {
    expect(isLater('10', '9')).toBe(true)
    expect(isLater('9', '10')).toBe(false)
    expect(isLater('10', '10')).toBe(false)
    expect(isLater('18446744073709551616', '18446744073709551615')).toBe(true)
  })

  it('orders nothing that is not decimal', () => {
    expect(isLater('b', 'a')).toBe(false)
    expect(isLater('12', 'a')).toBe(false)
  })
})
