import { describe, expect, it } from 'vitest'
import { nodeOf, withPods, wrapper } from '../../../test/queue-objects.ts'
import type { AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { workloadsConfig } from '../configuration/workloads-config.ts'
import { QuotaSubtree } from '../quota/quota-subtree.ts'
import { forecastQueue } from './queue-forecast.ts'

const now = Date.parse('2026-01-01T01:00:00Z')
const settings = workloadsConfig.read({})

const forecast = (wrappers: readonly AppWrapperObject[], more: Parameters<typeof forecastQueue>[0]['objects'] = []) =>
  forecastQueue({
    objects: [nodeOf({ cpu: 4 }), ...wrappers.flatMap((one) => withPods(one)), ...more],
    settings,
    now,
  })

const running = wrapper('running', { requests: { cpu: 3 }, limit: 7200, isRunning: true })

describe('the forecast of the queue', () => {
  it('lists what runs, what starts, and what waits with its place and its reason', () => {
    const { entries } = forecast([
      wrapper('large', { requests: { cpu: 3 }, created: '00:00:10' }),
      wrapper('urgent', { requests: { cpu: 3 }, priority: 5, created: '00:00:20' }),
      wrapper('small', { requests: { cpu: 1 }, created: '00:00:30' }),
      running,
    ])
    expect(entries.map(({ name, state, position, reason }) => [name, state, position, reason])).toEqual([
      ['running', 'runs', undefined, undefined],
      ['urgent', 'waits', 1, 'AwaitingEnds'],
      ['large', 'waits', 2, 'InsufficientNodes'],
      ['small', 'starts', 3, undefined],
    ])
  })

  it('says when one starts: at the declared end of what runs, after those ahead of it', () => {
    const made = forecast([
      running,
      wrapper('first', { requests: { cpu: 3 }, created: '00:00:10', limit: 600 }),
      wrapper('second', { requests: { cpu: 4 }, created: '00:00:20' }),
    ])
    const end = Date.parse('2026-01-01T02:00:00Z')
    expect(made.startOf('team', 'first')).toEqual({ at: end, evicted: [], before: [] })
    expect(made.startOf('team', 'second')).toEqual({ at: end + 600_000, evicted: [], before: ['team/first'] })
    expect(made.startOf('team', 'other')).toBeUndefined()
  })

  it('does not promise a start that nothing declared leads to', () => {
    const endless = wrapper('endless', { requests: { cpu: 3 }, isRunning: true })
    expect(forecast([endless, wrapper('next', { requests: { cpu: 2 } })]).startOf('team', 'next')).toMatchObject({
      at: undefined,
    })
  })

  it('says what would happen to one that does not exist yet, and changes nothing', () => {
    const made = forecast([running, wrapper('waiting', { requests: { cpu: 2 } })])
    const before = structuredClone(made.entries)
    expect(made.whatIf(wrapper('small', { requests: { cpu: 1 } }))).toMatchObject({
      at: now,
      evicted: [],
      entry: { state: 'starts' },
    })
    expect(made.whatIf(wrapper('huge', { requests: { cpu: 99 } }))).toMatchObject({
      at: undefined,
      entry: { state: 'waits', reason: 'InsufficientNodes' },
    })
    expect(made.entries).toEqual(before)
  })

  it('names what is wrong with quota', () => {
    const subtree = {
      apiVersion: 'quota.codeflare.dev/v1alpha1',
      kind: 'QuotaSubtree',
      metadata: { name: 'q', namespace: 'team', labels: { tree: 't' } },
      spec: { parent: 'nowhere', children: [{ name: 'a' }] },
    }
    const { problems } = forecastQueue({
      objects: [{ resource: QuotaSubtree, object: subtree }],
      settings: workloadsConfig.read({ mcad: { quotaEnabled: true } }),
      now,
    })
    expect(problems).toMatchObject([{ object: 'QuotaSubtree team/q', reason: 'UnknownParent' }])
  })
})
