import { describe, expect, it } from 'vitest'
import type { Culprit } from '../threads/thread-watch.ts'
import { culpritsOf, alarmLine } from './alarm.ts'

const culprit = (operator: string): Culprit => ({ place: { operator, controller: 'c', key: 'default/a' }, step: 's' })
const [one, other] = [culprit('one'), culprit('other')]
const frame = (file: string, line = 1, name = ''): { file: string; line: number; name: string } => ({
  file,
  line,
  name,
})
const filesOf = (operator: string): readonly string[] => [`/${operator}.ts`]

describe('an alarm', () => {
  it('names the run that held the thread last', () => {
    expect(culpritsOf({ holder: one, inside: [one, other] }, [], filesOf)).toEqual([one])
  })

  it('names all runs that may have held it, where none is certain', () => {
    expect(culpritsOf({ holder: undefined, inside: [one, other] }, [], filesOf)).toEqual([one, other])
  })

  it('prefers the running code over the last mark', () => {
    expect(culpritsOf({ holder: one, inside: [one, other] }, [frame('/other.ts')], filesOf)).toEqual([other])
    expect(culpritsOf({ holder: undefined, inside: [one, other] }, [frame('/one.ts')], filesOf)).toEqual([one])
  })

  it('names one of several operators with the same code only where that is certain', () => {
    const same = (): readonly string[] => ['/both.ts']
    expect(culpritsOf({ holder: one, inside: [one, other] }, [frame('/both.ts')], same)).toEqual([one])
    expect(culpritsOf({ holder: undefined, inside: [one, other] }, [frame('/both.ts')], same)).toEqual([one, other])
  })

  it('shows the innermost line of an operator’s own code', () => {
    const frames = [frame('/lib/deep.js', 9, 'spin'), frame('/a/one.ts', 12, 'check'), frame('/a/one.ts', 3)]
    expect(alarmLine(frames, ['/a/one.ts'])).toBe('one.ts:12 (check)')
    expect(alarmLine(frames, [])).toBe('deep.js:9 (spin)')
    expect(alarmLine([], ['/a/one.ts'])).toBe('')
  })
})
