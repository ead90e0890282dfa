import { describe, expect, it } from 'vitest'
import type { KubeObject, Named } from '../../kube/object.ts'
import { Node, Pod } from '../../kube/kinds.ts'
import { AppWrapper, type AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { uidLabel } from '../appwrapper/labels.ts'
import { workloadsConfig } from '../configuration/workloads-config.ts'
import { QuotaSubtree } from '../quota/quota-subtree.ts'
import { forecastQueue } from './queue-forecast.ts'

const now = Date.parse('2026-01-01T01:00:00Z')
const settings = workloadsConfig.read({})

const node = (name: string, cpu: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  ...{ spec: {}, status: { allocatable: { cpu, pods: 10 } } },
})

interface Wrapped {
  readonly cpu: number
  readonly priority?: number
  readonly created?: string
  /** Seconds. */
  readonly limit?: number
  readonly isRunning?: boolean
}

const wrapper = (
  name: string,
  { cpu, priority = 0, created = '00:00:00', limit, isRunning }: Wrapped,
): AppWrapperObject => {
  const time = `2026-01-01T${created}Z`
  const condition = (type: string) => ({
    type,
    status: 'True' as const,
    reason: 'x',
    message: '',
    lastTransitionTime: time,
  })
  return {
    apiVersion: 'workload.codeflare.dev/v1beta2',
    kind: 'AppWrapper',
    metadata: { name, namespace: 'team', uid: name, creationTimestamp: time },
    spec: {
      components: [
        {
          template: {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name },
            spec: { containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu } } }] },
          },
        },
      ],
      scheduling: { priority, ...(limit !== undefined && { dispatchDuration: { limit } }) },
    },
    ...(isRunning && {
      status: {
        phase: 'Running' as const,
        firstDispatchTime: time,
        conditions: [condition('QuotaReserved'), condition('ResourcesDeployed')],
      },
    }),
  }
}

const pod = (owner: string, cpu: number): Named => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: owner, namespace: 'team', uid: `pod-${owner}`, labels: { [uidLabel]: owner } },
  ...{
    spec: { nodeName: 'a', containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu } } }] },
    status: { phase: 'Running' },
  },
})

const forecast = (wrappers: readonly AppWrapperObject[], more: Parameters<typeof forecastQueue>[0]['objects'] = []) =>
  forecastQueue({
    objects: [
      { resource: Node, object: node('a', 4) },
      ...wrappers.map((object) => ({ resource: AppWrapper, object })),
      ...wrappers
        .filter(({ status }) => status !== undefined)
        .map(({ metadata: { uid = '' }, spec }) => ({
          resource: Pod,
          object: pod(uid, cpuOf(spec)),
        })),
      ...more,
    ],
    settings,
    now,
  })

function cpuOf({ components = [] }: AppWrapperObject['spec']): number {
  const text = JSON.stringify(components)
  return Number(/"cpu":(\d+)/.exec(text)?.[1])
}

const running = wrapper('running', { cpu: 3, limit: 7200, isRunning: true })

describe('the forecast of the queue', () => {
  it('lists what runs, what starts, and what waits with its place and its reason', () => {
    const { entries } = forecast([
      wrapper('large', { cpu: 3, created: '00:00:10' }),
      wrapper('urgent', { cpu: 3, priority: 5, created: '00:00:20' }),
      wrapper('small', { cpu: 1, created: '00:00:30' }),
      running,
    ])
    expect(entries.map(({ name, state, position, reason }) => [name, state, position, reason])).toEqual([
      ['running', 'runs', undefined, undefined],
      ['urgent', 'waits', 1, 'InsufficientNodes'],
      ['large', 'waits', 2, 'InsufficientNodes'],
      ['small', 'starts', 3, undefined],
    ])
  })

  it('says when one starts: at the declared end of what runs, after those ahead of it', () => {
    const { startOf } = forecast([
      running,
      wrapper('first', { cpu: 3, created: '00:00:10', limit: 600 }),
      wrapper('second', { cpu: 4, created: '00:00:20' }),
    ])
    const end = Date.parse('2026-01-01T02:00:00Z')
    expect(startOf('team', 'first')).toEqual({ at: end, evicted: [], before: [] })
    expect(startOf('team', 'second')).toEqual({ at: end + 600_000, evicted: [], before: ['team/first'] })
    expect(startOf('team', 'other')).toBeUndefined()
  })

  it('does not promise a start that nothing declared leads to', () => {
    const endless = wrapper('endless', { cpu: 3, isRunning: true })
    expect(forecast([endless, wrapper('next', { cpu: 2 })]).startOf('team', 'next')).toMatchObject({ at: undefined })
  })

  it('says what would happen to one that does not exist yet, and changes nothing', () => {
    const made = forecast([running, wrapper('waiting', { cpu: 2 })])
    const before = structuredClone(made.entries)
    expect(made.whatIf(wrapper('small', { cpu: 1 }))).toMatchObject({
      at: now,
      evicted: [],
      entry: { state: 'starts' },
    })
    expect(made.whatIf(wrapper('huge', { cpu: 99 }))).toMatchObject({
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
