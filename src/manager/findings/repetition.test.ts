import { describe, expect, it } from 'vitest'
import type { Ledger, Operation } from '../../operator/ledger.ts'
import { describeFinding, type Finding } from './finding.ts'
import { defaultRepetition, noRepetition, noteLedger } from './repetition.ts'

const ledger = (at: number, operation: Operation, more: Partial<Ledger> = {}, fields = ['spec.replicas']): Ledger => ({
  operator: 'cache',
  controller: 'memcached',
  key: 'default/m',
  generation: 1,
  path: [],
  entries: [
    {
      step: 'Updater',
      subject: 'deployment',
      operation,
      kind: 'apps/v1 Deployment',
      name: { name: 'm', namespace: 'default' },
      fields,
    },
  ],
  health: new Map(),
  isFinalizing: false,
  startedAt: at,
  ...more,
})

function follow(ledgers: readonly Ledger[], hasReason = (_index: number): boolean => false): readonly Finding[] {
  let repetition = noRepetition
  return ledgers.flatMap((each, index) => {
    const noted = noteLedger(repetition, each, defaultRepetition, hasReason(index))
    ;({ repetition } = noted)
    return noted.findings
  })
}

const every = (ms: number, times: number, operation: Operation): readonly Ledger[] =>
  Array.from({ length: times }, (_, index) => ledger(index * ms, operation))

describe('repetition', () => {
  it('is a hot loop when an operator keeps flipping fields of one object, and names them', () => {
    const [found, ...rest] = follow(every(100, 8, 'updated'))
    expect(rest).toEqual([])
    expect(found).toMatchObject({ kind: 'hotLoop', fields: ['spec.replicas'], times: 8, withinMs: 700 })
    expect(describeFinding(found!)).toBe(
      'cache, controller memcached, for default/m: wrote Deployment default/m 8 times in 0.7 s although none of its inputs changed; each time it differs in spec.replicas.',
    )
  })

  it('is a conflict when it keeps correcting changes of another client', () => {
    const [found] = follow(every(100, 8, 'corrected'))
    expect(found).toMatchObject({ kind: 'conflict', fields: ['spec.replicas'] })
    expect(describeFinding({ ...found!, with: ['hpa'] } as Finding)).toContain('and hpa changed it back')
  })

  it('needs more repetitions for a status, which follows other objects', () => {
    expect(follow(every(100, 39, 'statusWritten'))).toEqual([])
    expect(follow(every(100, 40, 'statusWritten'))).toMatchObject([{ kind: 'hotLoop', times: 40 }])
  })

  it('is not found when it is slow, when the input changed in between, or when nothing was written', () => {
    expect(follow(every(2000, 50, 'updated'))).toEqual([])
    expect(follow(every(100, 50, 'unchanged'))).toEqual([])
    const changing = Array.from({ length: 50 }, (_, index) =>
      ledger(index * 100, 'updated', { generation: Math.floor(index / 7) }),
    )
    expect(follow(changing)).toEqual([])
  })

  it('is not found when each write had a cause, unless the rate is implausible', () => {
    expect(follow(every(300, 100, 'updated'), () => true)).toEqual([])
    const [found] = follow(every(100, 40, 'updated'), () => true)
    expect(found).toMatchObject({ kind: 'hotLoop', times: 40, isFollowing: true })
    expect(describeFinding(found!)).toContain('40 times in 3.9 s while one of its inputs changed as often; each time')
  })

  it('counts writes without a cause, whatever else was written', () => {
    const [found] = follow(every(300, 30, 'updated'), (index) => index % 2 === 0)
    expect(found).toMatchObject({ kind: 'hotLoop', times: 8, withinMs: 4200, isFollowing: false })
  })

  it('is a conflict even if each correction has a reason: another client’s change', () => {
    expect(follow(every(100, 8, 'corrected'), () => true)).toMatchObject([{ kind: 'conflict', times: 8 }])
  })

  it('is reported again only after as many more', () => {
    expect(follow(every(100, 24, 'updated'))).toHaveLength(3)
  })

  it('forgets old writes', () => {
    const { repetition } = noteLedger(noRepetition, ledger(0, 'updated'))
    expect(noteLedger(repetition, ledger(60_000, 'unchanged')).repetition.writes.size).toBe(0)
  })
})
