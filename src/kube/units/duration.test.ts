import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationToMs, formatDuration, formatMicroTime, formatTime, parseDuration, parseTime } from './duration.ts'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'

const second = 1_000_000_000n
const longest = 2n ** 63n - 1n

describe('durations', () => {
  it.each([
    ['0', 0n, '0s'],
    ['-0', 0n, '0s'],
    ['0s', 0n, '0s'],
    ['90s', 90n * second, '1m30s'],
    ['1h30m', 5400n * second, '1h30m0s'],
    ['1.5s', 1_500_000_000n, '1.5s'],
    ['-1.5h', -5400n * second, '-1h30m0s'],
    ['250ms', 250_000_000n, '250ms'],
    ['+5s', 5n * second, '5s'],
    ['.5s', 500_000_000n, '500ms'],
    ['5.s', 5n * second, '5s'],
    ['1us', 1000n, '1µs'],
    ['1.5µs', 1500n, '1.5µs'],
    ['1μs', 1000n, '1µs'],
    ['3ns', 3n, '3ns'],
    ['1ms', 1_000_000n, '1ms'],
    ['1s', second, '1s'],
    ['1m', 60n * second, '1m0s'],
    ['1h', 3600n * second, '1h0m0s'],
    ['0.9ns', 0n, '0s'],
    ['1m1m', 120n * second, '2m0s'],
    ['100h', 360_000n * second, '100h0m0s'],
    ['1h0m0.000000001s', 3600n * second + 1n, '1h0m0.000000001s'],
    ['0.3333333333333333333h', 20n * 60n * second, '20m0s'],
    ['9223372036854775807ns', longest, '2562047h47m16.854775807s'],
    ['-9223372036854775808ns', -longest - 1n, '-2562047h47m16.854775808s'],
  ])('%s is %d ns, written %s', (text, nanoseconds, canonical) => {
    expect(parseDuration(text)).toBe(nanoseconds)
    expect(formatDuration(nanoseconds)).toBe(canonical)
  })

  it.each([
    ['', 'there is no number'],
    ['-', 'there is no number'],
    ['1', 'a unit is missing'],
    ['1h.', 'there is no number'],
    ['1h2', 'a unit is missing'],
    ['s', 'there is no number before "s"'],
    ['.s', 'there is no number before "s"'],
    ['1d', '"d" is no unit'],
    ['1 s', '" s" is no unit'],
    ['1S', '"S" is no unit'],
    ['9223372036854775808ns', 'it is too long'],
    ['-9223372036854775809ns', 'it is too long'],
    ['2562048h', 'it is too long'],
  ])('%o is rejected: %s', (text, reason) => {
    const raise = (): unknown => parseDuration(text)
    expect(raise).toThrow(`"${text}" is not a duration: ${reason}.`)
    expect(raise).toThrow(expect.toSatisfy((error) => isMusterError(error, kubeErrors.InvalidDuration)))
  })

  it('rejects long invalid text in linear time', () => {
    expect(() => parseDuration('1'.repeat(200_000))).toThrow('a unit is missing')
  })

  it('round-trip', () => {
    fc.assert(
      fc.property(fc.bigInt(-longest - 1n, longest), (duration) => {
        expect(parseDuration(formatDuration(duration))).toBe(duration)
      }),
    )
  })

  it('converts to milliseconds', () => {
    expect(durationToMs(parseDuration('1.5s'))).toBe(1500)
    expect(durationToMs(1n)).toBe(0.000_001)
  })
})

describe('times', () => {
  const start = Date.UTC(2026, 0, 1)

  it('are whole seconds in UTC', () => {
    expect(formatTime(start)).toBe('2026-01-01T00:00:00Z')
    expect(formatTime(start + 999.9)).toBe('2026-01-01T00:00:00Z')
    expect(formatTime(-1)).toBe('1969-12-31T23:59:59Z')
  })

  it('or have six decimals', () => {
    expect(formatMicroTime(start)).toBe('2026-01-01T00:00:00.000000Z')
    expect(formatMicroTime(start + 7.25)).toBe('2026-01-01T00:00:00.007250Z')
    expect(formatMicroTime(-0.5)).toBe('1969-12-31T23:59:59.999500Z')
  })

  it.each([
    ['2026-01-01T00:00:00Z', start],
    ['2026-01-01T00:00:00.123456Z', start + 123],
    ['2026-01-01T00:00:00.57Z', start + 570],
    ['2026-01-01T01:00:00+01:00', start],
    ['2025-12-31T16:30:00-07:30', start],
    ['2026-01-02T00:00:00+24:00', start],
  ])('%s is parsed', (text, ms) => {
    expect(parseTime(text)).toBe(ms)
  })

  it.each([
    '',
    'now',
    '2026-01-01',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01t00:00:00z',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00+25:00',
  ])('%o is not a time', (text) => {
    expect(parseTime(text)).toBeUndefined()
  })

  it('round-trip, to the second or to the millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 0, 1) }), (ms) => {
        expect(parseTime(formatTime(ms))).toBe(ms - (ms % 1000))
        expect(parseTime(formatMicroTime(ms))).toBe(ms)
      }),
    )
  })
})
