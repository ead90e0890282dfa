import { describe, expect, it } from 'vitest'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { Secret } from '../../kube/kinds.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { type Activity, createActivity, type ActivityInput } from './activity.ts'
import { readReport } from './report.ts'
import type { LaneState } from '../schedule/lane.ts'

const idle: LaneState = {
  waiting: 0,
  running: 0,
  runs: [],
  concurrency: 8,
  later: 0,
  isPaused: false,
  heldBy: 'nothing',
}
const calm: Ledger = {
  operator: 'cache',
  controller: 'memcached',
  key: 'default/m',
  generation: 1,
  path: [],
  entries: [{ step: 'Updater', subject: 'deployment', operation: 'unchanged' }],
  health: new Map(),
  isFinalizing: false,
  startedAt: 0,
}
const busy: Ledger = {
  ...calm,
  entries: [{ step: 'Updater', subject: 'deployment', operation: 'corrected', fields: ['spec.replicas'] }],
  effort: { id: 'a1', endedAt: 7, reads: 4, cpuMs: 2, sent: [] },
}
const failing: Ledger = {
  ...calm,
  failure: {
    step: 'Updater',
    subject: 'deployment',
    reason: 'Forbidden',
    message: 'no',
    retry: 'transient',
    gaveUp: false,
    afterMs: undefined,
  },
  requeueAfterMs: 1000,
}

function open(): {
  clock: VirtualClock
  activity: Activity
  report: (more?: Partial<ActivityInput>) => ReturnType<Activity['report']>
} {
  const clock = virtualClock(0)
  const activity = createActivity({ clock })
  const report: ReturnType<typeof open>['report'] = (more) =>
    activity.report({ lanes: new Map([['cache', idle]]), informers: [], ...more })
  return { clock, activity, report }
}

describe('activity', () => {
  it('reports what was done, and omits reconciles that changed nothing', () => {
    const { activity, report } = open()
    activity.note(busy)
    activity.note(calm)
    const [operator] = report().operators
    expect(operator?.recentRuns).toEqual([
      {
        at: 7,
        id: 'a1',
        controller: 'memcached',
        key: 'default/m',
        outcome: 'success',
        done: ['corrected deployment (spec.replicas)'],
        tookMs: 7,
        times: 1,
      },
    ])
    expect(operator?.cost).toMatchObject({ reconciles: 2, reads: 4, writes: 1, cpuMs: 2 })
    expect(operator?.state).toBe('idle')
  })

  it('counts repeated failures instead of dropping earlier runs, and resets with success', async () => {
    const { clock, activity, report } = open()
    activity.note(busy)
    for (let time = 0; time < 50; time++) activity.note(failing)
    expect(report().operators[0]).toMatchObject({
      state: 'failing',
      failing: 1,
      recentRuns: [
        { outcome: 'failed', times: 50, why: 'Forbidden: no' },
        { done: ['corrected deployment (spec.replicas)'] },
      ],
    })
    activity.note(calm)
    expect(report().operators[0]).toMatchObject({ state: 'idle', failing: 0 })
    // One whose CR was deleted is never heard of again.
    activity.note({ ...failing, key: 'default/gone' })
    await clock.advance(700_000)
    expect(report().operators[0]?.failing).toBe(0)
  })

  it('reports a finding with its object, its fields and the other field managers', () => {
    const { activity, report } = open()
    const name = { name: 'web', namespace: 'default' }
    activity.find({
      kind: 'conflict',
      operator: 'cache',
      controller: 'c',
      key: 'default/a',
      at: 7,
      times: 8,
      withinMs: 1000,
      object: { kind: 'apps/v1 Deployment', name },
      fields: Array.from({ length: 100 }, (_, index) => `spec.${index}`),
      with: ['legacy-operator'],
    })
    const [finding] = report().operators[0]!.findings.latest
    expect(finding).toMatchObject({ at: 7, kind: 'conflict', controller: 'c', key: 'default/a' })
    expect(finding).toMatchObject({ object: 'Deployment default/web', with: ['legacy-operator'] })
    expect(finding?.fields?.slice(0, 2)).toEqual(['spec.0', 'spec.1'])
    expect(finding?.fields?.length).toBeLessThan(50)
  })

  it('has bounded size', () => {
    const { activity, report } = open()
    for (let turn = 0; turn < 5000; turn++) {
      activity.note({
        ...failing,
        key: `default/${turn}`,
        failure: { ...failing.failure!, message: 'x'.repeat(10_000) },
      })
      activity.find({
        kind: 'undeclaredWrite',
        message: 'y'.repeat(10_000),
        operator: 'cache',
        controller: 'c',
        key: 'k',
        at: 0,
      })
    }
    expect(report().operators[0]).toMatchObject({ failing: 1000, findings: { total: 5000 } })
    expect(JSON.stringify(report()).length).toBeLessThan(40_000)
  })

  it('counts changes that trigger, not resyncs', () => {
    const { activity, report } = open()
    for (const cause of ['change', 'change', 'retry', 'resync'] as const) activity.added('cache', cause, true)
    expect(report().operators[0]?.cost.events).toBe(2)
  })

  it('attributes the resources of the process to its operators', async () => {
    const { clock, report } = open()
    const informer = {
      resource: Secret,
      freshness: { state: 'synced', since: 0 },
      watches: 1,
      cover: 'all',
      objects: 2,
      bytes: 2e9,
      consumers: [
        { consumer: 'cache', objects: 2, bytes: 1e9 },
        { consumer: 'other', objects: 2, bytes: 1e9 },
      ],
    } as const
    const input = { informers: [informer], usage: { cpuMs: 10, bytes: 4e9, peakBytes: 5e9, requests: 7 } }
    report(input)
    await clock.advance(10_000)
    const { process, operators, informers } = report(input)
    expect(process).toMatchObject({ gbSeconds: 40, peakBytes: 5e9, watches: 1, requests: 7, cpuMs: 10 })
    expect(operators[0]?.cost).toMatchObject({ gbSeconds: 10, bytes: 1e9, aloneBytes: 2e9 })
    expect(informers).toEqual([
      { resource: 'secrets/v1', state: 'synced', since: 0, watches: 1, objects: 2, bytes: 2e9, consumers: 2 },
    ])
  })

  it('is plain JSON, and an invalid report is rejected', () => {
    const { activity, report } = open()
    activity.note(busy)
    const text = JSON.stringify(report())
    expect(readReport(JSON.parse(text))).toEqual(report())
    for (const other of [undefined, null, 1, 'x', [], {}, { version: 2, operators: [] }, { version: 1 }])
      expect(readReport(other)).toBeUndefined()
  })
})
