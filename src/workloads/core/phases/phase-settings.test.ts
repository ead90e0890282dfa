import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultFaultTolerance, phaseSettings, settingPrefix, terminalCodes } from './phase-settings.ts'
import { firstTry, nextTry } from './requeuing.ts'

const of = (settings: Readonly<Record<string, string>>) =>
  phaseSettings(Object.fromEntries(Object.entries(settings).map(([name, value]) => [`${settingPrefix}${name}`, value])))

describe('settings of one AppWrapper', () => {
  it('are the defaults where an annotation is malformed, 0 where it is negative, and never beyond the ceiling', () => {
    const warmup = (text: string): number => of({ warmupGracePeriodDuration: text }).warmupGraceMs
    expect(['90s', '1h30m', '-5s', '999h'].map(warmup)).toEqual([90_000, 5_400_000, 0, 86_400_000])
    for (const text of ['', 'soon', '5', '1d', '9'.repeat(1000)])
      expect(warmup(text)).toBe(defaultFaultTolerance.warmupGraceMs)
    expect(of({ retryLimit: '7' }).retryLimit).toBe(7)
    expect(of({ retryLimit: '-7' }).retryLimit).toBe(0)
    expect(of({ retryLimit: 'often' }).retryLimit).toBe(3)
    expect(of({ successTTLDuration: '1000h' }).successTtlMs).toBe(defaultFaultTolerance.successTtlMs)
    expect(of({ successTTLDuration: '1m' }).successTtlMs).toBe(60_000)
  })

  it('are numbers between 0 and the ceiling, whatever the annotations say', () => {
    const names = ['admissionGracePeriod', 'warmupGracePeriod', 'failureGracePeriod', 'retryPausePeriod']
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string(), (name, text) => {
        const settings = of({ [`${name}Duration`]: text, retryLimit: text })
        for (const ms of [settings.admissionGraceMs, settings.warmupGraceMs, settings.retryPauseMs]) {
          expect(ms).toBeGreaterThanOrEqual(0)
          expect(ms).toBeLessThanOrEqual(settings.gracePeriodCeilingMs)
        }
        expect(Number.isSafeInteger(settings.retryLimit)).toBe(true)
      }),
    )
  })

  it('know which exit codes are not retried', () => {
    expect(terminalCodes([1, 3], of({ terminalExitCodes: '3, 10' }))).toEqual([3])
    expect(terminalCodes([0, 1, 137], of({ retryableExitCodes: '137' }))).toEqual([1])
    expect(terminalCodes([1, 2], of({}))).toEqual([])
  })
})

describe('requeuing', () => {
  const series = (requeuing: Parameters<typeof firstTry>[0], most = 4): readonly number[] => {
    const seconds: number[] = []
    let state: ReturnType<typeof nextTry> = firstTry(requeuing)
    for (let index = 0; index < most && state; index++) {
      seconds.push(state.seconds)
      state = nextTry(requeuing, state)
    }
    return seconds
  }

  it('grows as asked, up to the longest time and the last try', () => {
    expect(series({ timeInSeconds: 60 })).toEqual([60, 120, 240, 480])
    expect(series({ timeInSeconds: 60, growthType: 'linear' })).toEqual([60, 120, 180, 240])
    expect(series({ timeInSeconds: 60, growthType: 'none' })).toEqual([60, 60, 60, 60])
    expect(series({ timeInSeconds: 60, maxTimeInSeconds: 100 })).toEqual([60, 100, 100, 100])
    expect(series({})).toEqual([300, 600, 1200, 2400])
    expect(series({ timeInSeconds: 1, growthType: 'none', maxNumRequeuings: 2 })).toEqual([1, 1, 1])
    expect(series({ numRequeuings: 1, maxNumRequeuings: 2, timeInSeconds: 1, growthType: 'none' })).toEqual([1, 1])
  })

  it('stays a time that a timer understands', () => {
    expect(series({ timeInSeconds: 1000 }, 200).every((seconds) => seconds <= 31_536_000)).toBe(true)
  })
})
