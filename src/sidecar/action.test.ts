import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actionOutcomeOf, hiding, readActionsReport, actionTexts } from './action.ts'

describe('the output of a program', () => {
  it('accumulates, line by line', () => {
    const lines = ['hello', '{"progress":0.4,"message":"half way"}', '{"progress":2}', '{"result":{"rows":3}}', '{']
    expect(lines.reduce((report, line) => readActionsReport(line, report), {})).toEqual({
      progress: 1,
      message: 'half way',
      result: { rows: 3 },
    })
  })

  it('may contain any line', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        const report = readActionsReport(line, { progress: 0.5 })
        expect(report.progress).toBeGreaterThanOrEqual(0)
        expect(report.progress).toBeLessThanOrEqual(1)
        expect(report.message?.length ?? 0).toBeLessThanOrEqual(1000)
      }),
    )
    expect(readActionsReport('{"__proto__":{"progress":1},"progress":"x","message":7}', {})).toEqual({})
  })
})

describe('an outcome', () => {
  it.each([
    undefined,
    {},
    { state: 'running', endedAt: 'x' },
    { state: 'succeeded' },
    { state: 'toString', endedAt: '' },
  ])('is invalid: %j', (value) => expect(actionOutcomeOf(value)).toBeUndefined())

  it('keeps known members and omits the rest', () => {
    const endedAt = '2026-01-01T00:00:00.000Z'
    expect(
      actionOutcomeOf({ state: 'failed', endedAt, reason: 'ExitCode', exitCode: 3, token: 'x', message: 'm' }),
    ).toEqual({
      state: 'failed',
      endedAt,
      reason: 'ExitCode',
      exitCode: 3,
      message: 'm',
    })
  })
})

describe('redaction', () => {
  it('leaves no secret of three characters or more', () => {
    const secret = fc.stringMatching(/^[a-z]{3,8}$/)
    fc.assert(
      fc.property(fc.array(secret), fc.string(), fc.string(), (secrets, before, after) => {
        for (const each of secrets) {
          const shown = hiding(secrets)(`${before}${each}${after}`)
          for (const hidden of secrets) expect(shown).not.toContain(hidden)
        }
      }),
    )
  })

  it('precedes truncation: no part of a secret remains at the end', () => {
    const secret = 'correct horse battery staple '.repeat(100).trim()
    const line = JSON.stringify({ message: `${'x'.repeat(990)} ${secret}` })
    expect(readActionsReport(line, {}, hiding([secret])).message).toBe(`${'x'.repeat(990)} •••`)
  })

  it('finds every string of an input', () => {
    expect(actionTexts({ a: 'one', b: [{ c: 'two' }, 3, null], d: true })).toEqual(['one', 'two'])
  })
})
