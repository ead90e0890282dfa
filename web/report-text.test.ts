import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { noCost } from '../src/manager/observability/cost.ts'
import type { InformerSummary, ManagerReport, OperatorReport } from '../src/manager/observability/report.ts'
import {
  agoText,
  bytesText,
  concernOf,
  runText,
  informersInOrder,
  foundIn,
  gateText,
  hashOf,
  inOrder,
  matches,
  operatorIn,
  pauseMs,
  perDay,
  queueText,
  readAnswer,
  spaced,
  spanText,
  sparkPath,
  verdictOf,
} from './report-text.ts'

const now = 1_800_000_000_000

const operator = (name: string, more: Partial<OperatorReport> = {}): OperatorReport => ({
  name,
  state: 'idle',
  failing: 0,
  waiting: 0,
  running: 0,
  runningMs: { all: 0, longest: 0 },
  later: 0,
  concurrency: 8,
  heldBy: 'nothing',
  recentRuns: [],
  findings: { total: 0, latest: [] },
  cost: noCost(0),
  ...more,
})

const found = (ago: number, kind = 'hotLoop'): OperatorReport['findings'] => ({
  total: 1,
  latest: [{ at: now - ago, kind, message: 'wrote ConfigMap a again' }],
})

const names = (operators: readonly OperatorReport[]): readonly string[] => operators.map(({ name }) => name)

describe('problems', () => {
  it('come first; healthy operators are sorted by name', () => {
    const operators = [
      operator('b-10', { state: 'working', running: 3 }),
      operator('b-2'),
      operator('z', { failing: 1 }),
      operator('y', { findings: found(3_600_000) }),
      operator('x', { heldBy: 'throttle' }),
      operator('w', { findings: found(1000) }),
    ]
    expect(names(inOrder(operators, now))).toEqual(['w', 'x', 'z', 'y', 'b-2', 'b-10'])
  })

  it('expire some time after they were found, and stay listed', () => {
    expect(concernOf(operator('a', { findings: found(599_000) }), now)).toBe('wrong')
    expect(concernOf(operator('a', { findings: found(600_000) }), now)).toBe('odd')
    expect(concernOf(operator('a', { runningMs: { all: 61_000, longest: 61_000 } }), now)).toBe('odd')
    expect(concernOf(operator('a', { heldBy: 'debounce', waiting: 5 }), now)).toBe('calm')
  })

  it('determine the state of the manager', () => {
    const report = { isReady: true, problems: [], operators: [operator('a')], at: now } as unknown as ManagerReport
    expect(verdictOf(report)).toEqual({ word: 'ready', rest: '', concern: 'calm' })
    const degraded = { ...report, operators: [operator('a'), operator('b', { failing: 2 })], problems: ['a warning'] }
    expect(verdictOf(degraded)).toEqual({
      word: 'ready',
      rest: '1 problem, 1 of 2 operators with problems',
      concern: 'odd',
    })
    expect(verdictOf({ ...report, isReady: false, problems: ['x', 'y'] })).toMatchObject({
      word: 'not ready',
      rest: '2 problems',
      concern: 'wrong',
    })
  })

  it('of caches: stale ones first, then large ones', () => {
    const informer = (resource: string, state: string, bytes: number): InformerSummary =>
      ({ resource, state, bytes }) as InformerSummary
    const informers = [informer('a', 'synced', 10), informer('b', 'synced', 900), informer('c', 'stale', 1)]
    expect(informersInOrder(informers).map(({ resource }) => resource)).toEqual(['c', 'b', 'a'])
  })

  it('list findings of all operators, newest first', () => {
    const operators = [operator('a', { findings: found(5000) }), operator('b', { findings: found(1000, 'conflict') })]
    expect(foundIn(operators)).toMatchObject([
      { operator: 'b', kind: 'conflict', times: 1 },
      { operator: 'a', kind: 'hotLoop', times: 1 },
    ])
  })

  it('a repeated finding is shown once, the newest, with a count', () => {
    const finding = { kind: 'conflict', key: 'default/a', object: 'ConfigMap default/a', fields: ['data.size'] }
    const latest = [
      { ...finding, at: now - 1, message: '9 times in 2 s', with: ['x'] },
      { ...finding, at: now - 2, message: '8 times in 1 s', with: ['x'] },
      { ...finding, at: now - 3, message: '8 times in 1 s', with: ['y'] },
    ]
    expect(foundIn([operator('a', { findings: { total: 3, latest } })])).toMatchObject([
      { at: now - 1, times: 2, message: '9 times in 2 s' },
      { at: now - 3, times: 1 },
    ])
  })
})

describe('the filter', () => {
  const run = {
    at: now,
    controller: 'c',
    key: 'default/web',
    outcome: 'failed' as const,
    done: [],
    why: 'NoRoom: no node',
    tookMs: 1,
    times: 1,
  }
  const one = operator('memcached', { heldBy: 'throttle', recentRuns: [run], findings: found(1) })

  it('matches every word in name, state, gate, activity or finding, case-insensitively', () => {
    for (const text of ['', 'MEM', 'idle', 'throttle', 'default/web noroom', 'hot loop', 'hotloop'])
      expect(matches(one, text)).toBe(true)
    expect(matches(one, 'memcached paused')).toBe(false)
    expect(matches(operator('a'), 'nothing')).toBe(false)
  })
})

describe('text', () => {
  it('describes successful, failed and waiting operations', () => {
    const run = { at: now, controller: 'c', key: 'k', outcome: 'gaveUp' as const, done: [], tookMs: 1, times: 1 }
    expect(runText(run)).toBe('gave up')
    expect(runText({ ...run, done: ['created a', 'deleted b'], why: 'Bad: it' })).toBe('created a, deleted b · Bad: it')
    expect(runText({ ...run, done: ['updated configMap (data.size)', 'statusWritten cr'] })).toBe(
      'updated configMap (data.size), status written',
    )
    expect(queueText(operator('a'))).toBe('–')
    expect(queueText(operator('a', { heldBy: 'standby' }))).toBe('')
    expect(queueText(operator('a', { waiting: 1200, running: 2, later: 1 }))).toBe(
      '1,200 waiting, 2 of 8 running, 1 later',
    )
    expect(spaced('undeclaredRead')).toBe('undeclared read')
    expect(gateText('throttle')).toContain('hot loop')
    expect(gateText('constructor' as never)).toBe('constructor')
  })

  it('formats sizes and durations for people', () => {
    expect([0, 999, 1000, 15_400, 123_456, 5e9, 7e15].map(bytesText)).toEqual([
      '0 B',
      '999 B',
      '1.0 kB',
      '15.4 kB',
      '123 kB',
      '5.0 GB',
      '7000 TB',
    ])
    expect([-5, 850, 1000, 61_000, 5 * 3_600_000 + 20 * 60_000, 76 * 3_600_000].map(spanText)).toEqual([
      '0 ms',
      '850 ms',
      '1 s',
      '1 min',
      '5 h 20 min',
      '3 d 4 h',
    ])
    expect(agoText(now + 5000, now)).toBe('now')
    expect(agoText(now - 5000, now)).toBe('5 s ago')
    expect(perDay(10, 0, 8_640_000)).toBe(100)
  })
})

describe('a response', () => {
  it('is a report, a report of a newer version, or invalid', () => {
    expect(readAnswer({ version: 1, operators: [] })).toMatchObject({ kind: 'report' })
    expect(readAnswer({ version: 2 })).toEqual({ kind: 'newer' })
    for (const other of [undefined, null, 'x', [], {}, { version: 1 }, { version: '1', operators: [] }])
      expect(readAnswer(other)).toEqual({ kind: 'unreadable' })
  })

  it('that does not arrive is polled with back-off, without an end', () => {
    expect([0, 1, 2, 3, 4, 50].map(pauseMs)).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000])
  })
})

describe('a link', () => {
  it('leads to the operator that it names, with any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        expect(operatorIn(hashOf(name))).toBe(name)
      }),
    )
    for (const other of ['', '#', '#/', '#x', '#/%']) expect(operatorIn(other)).toBeUndefined()
  })
})

describe('a spark line', () => {
  it('stays within its box and ends at its right edge', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 2, maxLength: 60 }), (values) => {
        const points = sparkPath(values)
          .slice(1)
          .split('L')
          .map((point) => point.split(',').map(Number))
        for (const [x = -1, y = -1] of points) expect(x >= 0 && x <= 60 && y >= 0 && y <= 16).toBe(true)
        expect(points.at(-1)?.[0]).toBe(60)
      }),
    )
    expect(sparkPath([])).toBe('')
  })
})
