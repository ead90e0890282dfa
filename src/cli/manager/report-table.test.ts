import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { createActivity } from '../../manager/observability/activity.ts'
import type { ManagerReport } from '../../manager/observability/report.ts'
import type { LaneState } from '../../manager/schedule/lane.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { costLines } from './cost.ts'
import { newsOf, tableOf } from './report-table.ts'
import { openScreen } from '../terminal/screen.ts'

const lane: LaneState = {
  waiting: 2,
  running: 1,
  runs: [],
  concurrency: 8,
  later: 0,
  isPaused: false,
  heldBy: 'coolDown',
}
const ledger = (key: string, more: Partial<Ledger> = {}): Ledger => ({
  operator: 'cache',
  controller: 'memcached',
  key,
  generation: 1,
  path: [],
  entries: [
    { step: 'Updater', subject: 'deployment', operation: 'created' },
    { step: 'Updater', subject: 'cr', operation: 'statusWritten' },
  ],
  health: new Map(),
  isFinalizing: false,
  startedAt: 0,
  ...more,
})
const failure = {
  step: 'Updater',
  subject: 'deployment',
  reason: 'Forbidden',
  message: 'no\u001b[31m\nreally',
  retry: 'transient',
  gaveUp: false,
  afterMs: undefined,
} as const

function open(): {
  note: (ledger: Ledger) => void
  advance: (ms: number) => Promise<void>
  report: () => ManagerReport
} {
  const clock = virtualClock(0)
  const activity = createActivity({ clock })
  return {
    note: (noted) => activity.note(noted),
    advance: (ms) => clock.advance(ms),
    report: () => activity.report({ lanes: new Map([['cache', lane]]), informers: [] }),
  }
}

describe('the report table', () => {
  it('has operator, state, gate and last run', async () => {
    const { note, advance, report } = open()
    note(ledger('default/m'))
    await advance(3000)
    expect(tableOf(report())).toEqual([
      'OPERATOR  STATE    WAITING  RUNNING  RECONCILES  WRITES  FAILURES  FINDINGS  HELD BY   LAST',
      'cache     working        2        1           1       2         0         0  coolDown  3s default/m: created deployment, status written',
    ])
  })

  it('prints each new entry once, without terminal control characters', async () => {
    const { note, advance, report } = open()
    note(ledger('default/a'))
    const first = report()
    const texts = (before: ManagerReport | undefined, after: ManagerReport) =>
      newsOf(before, after).map((line) => line.replace(/^[\d:]{8} /, ''))
    expect(texts(undefined, first)).toEqual(['cache default/a: created deployment, status written'])
    expect(newsOf(first, report())).toEqual([])
    await advance(10)
    note(ledger('default/b', { entries: [], failure }))
    const second = report()
    const failed = String.raw`cache default/b: failed: Forbidden: no\u001b[31m really`
    expect(texts(first, second)).toEqual([failed])
    await advance(10)
    note(ledger('default/b', { entries: [], failure }))
    expect(texts(second, report())).toEqual([`${failed} (2 times)`])
  })

  it('shows cost, including unattributed cost, compared with separate processes', async () => {
    const { note, advance, report } = open()
    note(ledger('default/m', { effort: { id: 'a', endedAt: 0, reads: 4, cpuMs: 500, sent: [] } }))
    await advance(3_600_000)
    const lines = costLines(report(), 86_400_000, 33e6)
    expect(lines[0]).toBe('what operators cost, for 24h, from what was counted in 60m')
    expect(lines).toContain('OPERATOR  EVENTS  RECONCILES  READS  WRITES  FAILURES      CPU  CACHED  GB·S')
    expect(lines).toContain('cache          0          24     96      48         0  12.00 s  0.0 MB  0.00')
    expect(lines).toContain(
      'as 1 separate process (of 33.0 MB each without objects, every one with its own watches and caches)',
    )
  })
})

describe('a screen', () => {
  it('is redrawn in place, with lines truncated to its width', () => {
    let written = ''
    const screen = openScreen({ columns: 21, rows: 4, write: (text: string) => ((written += text), true) })
    screen.draw(['one', 'x'.repeat(100)])
    expect(written).toBe(`one\n${'x'.repeat(19)}…\n`)
    written = ''
    screen.draw(['a', 'b', 'c', 'd', 'e'])
    expect(written).toBe('\u001b[2A\r\u001b[0Ja\nb\nc\n')
  })
})
