import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { httpDate } from './http-date.ts'

describe('the HTTP date', () => {
  it('equals Date.toUTCString', () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }), (ms) => {
        expect(httpDate(ms)).toBe(new Date(ms).toUTCString())
      }),
    )
    expect(httpDate(0)).toBe('Thu, 01 Jan 1970 00:00:00 GMT')
  })
})
