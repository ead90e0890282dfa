import { describe, expect, it } from 'vitest'
import { parseInt64, parseUint64 } from './int64.ts'

describe('64-bit integers', () => {
  it('are parsed with a sign and leading zeros', () => {
    expect(['0', '-0', '+7', '007', `-${'0'.repeat(50)}12`].map(parseInt64)).toStrictEqual([0n, 0n, 7n, 7n, -12n])
    expect(['0', '007', `${'0'.repeat(50)}12`].map(parseUint64)).toStrictEqual([0n, 7n, 12n])
  })

  it('are rejected beyond 64 bits, and in other formats', () => {
    expect([2n ** 63n - 1n, -(2n ** 63n)].map(String).map(parseInt64)).toStrictEqual([2n ** 63n - 1n, -(2n ** 63n)])
    for (const text of [String(2n ** 63n), String(-(2n ** 63n) - 1n), '', '-', '1.0', ' 1', '9'.repeat(1_000_000)]) {
      expect(parseInt64(text)).toBeUndefined()
    }
    expect(parseUint64(String(2n ** 64n - 1n))).toBe(2n ** 64n - 1n)
    for (const text of [String(2n ** 64n), '+1', '-1', '', '9'.repeat(1_000_000)])
      expect(parseUint64(text)).toBeUndefined()
  })
})
