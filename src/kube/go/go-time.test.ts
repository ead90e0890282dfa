import { describe, expect, it } from 'vitest'
import { readGoTime } from './go-time.ts'

describe('times parsed as in Go', () => {
  it('are formatted in UTC, in whole seconds', () => {
    expect(readGoTime('2026-01-01T00:00:01.5Z', false)).toEqual({ text: '2026-01-01T00:00:01Z' })
    expect(readGoTime('2026-01-01T00:00:00+02:00', false)).toEqual({ text: '2025-12-31T22:00:00Z' })
  })

  it('keep six decimals in MicroTime', () => {
    expect(readGoTime('2026-01-01T00:00:00.000000+02:00', true)).toEqual({ text: '2025-12-31T22:00:00.000000Z' })
  })

  it.each([
    ['soon', false, 'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"'],
    ['2026-01-01', false, 'parsing time "2026-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'],
    ['2026-13-01T00:00:00Z', false, 'parsing time "2026-13-01T00:00:00Z": month out of range'],
    ['2026-02-30T00:00:00Z', false, 'parsing time "2026-02-30T00:00:00Z": day out of range'],
    ['2026-01-01T00:00:00.000000Zx', true, 'parsing time "2026-01-01T00:00:00.000000Zx": extra text: "x"'],
    [
      '2026-01-01T00:00:00.123456789Z',
      true,
      'parsing time "2026-01-01T00:00:00.123456789Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789Z" as "Z07:00"',
    ],
    [
      '2026-01-01T00:00:02Z',
      true,
      'parsing time "2026-01-01T00:00:02Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
  ])('explain an invalid text: %s', (text, isMicro, problem) => {
    expect(readGoTime(text, isMicro)).toEqual({ problem })
  })
})
