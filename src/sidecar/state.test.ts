import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ProbeAnswer } from './probe.ts'
import { stateOf, type StateRule } from './state.ts'

const rules: readonly StateRule[] = [
  { state: 'servicing', action: 'backup', probe: 'ping', word: ['PONG'] },
  { state: 'running', probe: 'ping', word: ['PONG'] },
  { state: 'start', probe: 'ping', code: [1, 3] },
  { state: 'odd', probe: 'ping', ok: false, word: ['?'] },
  { state: 'well', probe: 'ping' },
]
const see = (answer: ProbeAnswer, ...running: readonly string[]): string =>
  stateOf(rules, new Map([['ping', answer]]), new Set(running)).state

describe('the state', () => {
  it('is that of the first rule that holds', () => {
    const pong = { reached: true, ok: true, word: 'PONG' }
    expect(see(pong)).toBe('running')
    expect(see(pong, 'backup')).toBe('servicing')
    expect(see(pong, 'restore')).toBe('running')
    expect(see({ reached: false, ok: false }, 'backup')).toBe('unknown')
    expect(see({ reached: true, ok: false, code: 3 })).toBe('start')
    expect(see({ reached: true, ok: false, code: 2, word: '?' })).toBe('odd')
    expect(see({ reached: true, ok: true, code: 2, word: '?' })).toBe('well')
  })

  it('is unknown and unreachable before the first probe', () => {
    expect(stateOf([{ state: 'ended' }], new Map(), new Set())).toMatchObject({ state: 'unknown', reachable: false })
  })

  it('is reachable only when every probe succeeded, and names the failed one', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1 }), (reached) => {
        const answers = reached.map(
          (isReached, index) =>
            [`p${index}`, { reached: isReached, ok: isReached, ...(isReached ? {} : { message: 'silent' }) }] as const,
        )
        const { reachable, message = '' } = stateOf([], new Map(answers), new Set())
        expect(reachable).toBe(reached.every(Boolean))
        reached.forEach((isReached, index) =>
          expect(message.split('; ').includes(`p${index}: silent`)).toBe(!isReached),
        )
      }),
    )
  })
})
