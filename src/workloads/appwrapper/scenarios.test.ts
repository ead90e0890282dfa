import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AppWrapperEnvironment,
  at,
  components,
  deployment,
  job,
  openAppWrapperEnvironment,
  podTemplate,
} from '../../../test/appwrapper-environment.ts'
import type { JsonObject } from '../../kube/json.ts'
import { Job, Node, Pod } from '../../kube/kinds.ts'
import { findCondition } from '../../kube/meta/condition.ts'
import { AppWrapper } from './appwrapper.ts'
import { nameLabel, uidLabel } from './labels.ts'

let environment: AppWrapperEnvironment
beforeAll(async () => {
  environment = await openAppWrapperEnvironment()
})
afterAll(() => environment.close())

const requestsAbout = (name: string): readonly string[] =>
  environment.writes.flatMap(({ method, path }) =>
    path.includes(`/appwrappers/${name}`) ? [`${method} ${path.split('?')[0]!.split('/').slice(7).join('/')}`] : [],
  )
const condition = async (name: string, type: string): Promise<string> => {
  const found = findCondition((await environment.appWrapper(name)).status?.conditions, type)
  return `${found?.status} ${found?.reason}`
}
const phasesOf = async (name: string): Promise<readonly string[]> =>
  ((await environment.appWrapper(name)).status?.transitions ?? []).map(({ phase, reason }) => `${phase} ${reason}`)

describe('AppWrappers', () => {
  it('run Deployments, StatefulSets, Pods and Jobs, with labelled pods', async () => {
    const place = await environment.pool('kinds', { cpu: '4', memory: '8Gi' })
    const { metadata, spec } = podTemplate({ place }) as { metadata: JsonObject; spec: JsonObject }
    const set = { ...deployment('set', 2, { place }), kind: 'StatefulSet' }
    await environment.wrap('deployed', components(deployment('web', 2, { place })))
    await environment.wrap('stateful', components(set))
    await environment.wrap(
      'bare',
      components({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bare', ...metadata }, spec }),
    )
    await environment.wrap('batch', components(job('batch', 1, { place, simulated: { 'run-seconds': '600' } })))
    await environment.settle(20_000)
    for (const [name, count] of [
      ['deployed', 2],
      ['stateful', 2],
      ['bare', 1],
      ['batch', 1],
    ] as const) {
      expect(await environment.phaseOf(name)).toBe('Running')
      expect(await condition(name, 'PodsReady')).toBe('True SufficientPodsReady')
      const { uid } = (await environment.appWrapper(name)).metadata
      const pods = await environment.podsOf(name)
      expect(pods.map(({ metadata: { labels } }) => [labels?.[nameLabel], labels?.[uidLabel]])).toEqual(
        Array.from({ length: count }, () => [name, uid]),
      )
    }
  })

  it('take at most four requests beside their objects, from creation to removal', async () => {
    const place = await environment.pool('requests', { cpu: '1' })
    await environment.wrap('frugal', components(job('frugal', 2, { place })))
    await environment.settle(20_000)
    expect(await phasesOf('frugal')).toEqual(['Resuming Dispatched', 'Running Deployed', 'Succeeded Completed'])
    await environment.client.delete(AppWrapper, at('frugal'))
    await environment.settle(20_000)
    await expect(environment.appWrapper('frugal')).rejects.toThrow('not found')
    expect(requestsAbout('frugal')).toEqual([
      'PATCH frugal/status',
      'PATCH frugal/status',
      'PATCH frugal/status',
      'PATCH frugal',
    ])
  })

  it('wait for room, say for how much, and start when another one is gone', async () => {
    const place = await environment.pool('room', { cpu: '2' })
    const endless = { place, requests: { cpu: '1' }, simulated: { 'run-seconds': '9999' } }
    for (const name of ['first', 'second', 'third']) {
      await environment.wrap(name, components(job(name, 1, endless)))
      await environment.settle(1000)
    }
    await environment.settle(20_000)
    expect(await Promise.all(['first', 'second', 'third'].map(environment.phaseOf))).toEqual([
      'Running',
      'Running',
      'Suspended',
    ])
    expect(await condition('third', 'QuotaReserved')).toBe('False InsufficientNodes')
    expect(await environment.podsOf('third')).toEqual([])
    expect(requestsAbout('third')).toEqual(['PATCH third/status'])
    await environment.client.delete(AppWrapper, at('first'))
    await environment.settle(20_000)
    expect(await environment.phaseOf('third')).toBe('Running')
  })

  it('are tried again when a Job fails, and fail after the last try', async () => {
    const place = await environment.pool('retries', { cpu: '1' })
    const failing = { place, simulated: { 'run-seconds': '2', 'exit-code': '1' } }
    const patience = { retryLimit: '2', retryPausePeriodDuration: '5s', failureGracePeriodDuration: '0s' }
    await environment.wrap('failing', components(job('failing', 1, failing)), annotated(patience))
    await environment.settle(120_000)
    const { status } = await environment.appWrapper('failing')
    expect([status?.phase, status?.resettingCount]).toEqual(['Failed', 2])
    expect((await phasesOf('failing')).filter((phase) => phase.startsWith('Resetting'))).toHaveLength(2)
    expect(await condition('failing', 'ResourcesDeployed')).toBe('False NotDeployed')
    expect(await environment.podsOf('failing')).toEqual([])
  })

  it('fail at once when a component is deleted', async () => {
    const place = await environment.pool('deleted', { cpu: '1' })
    await environment.wrap('robbed', components(job('robbed', 1, { place, simulated: { 'run-seconds': '9999' } })))
    await environment.settle(20_000)
    await environment.client.delete(Job, at('robbed'))
    await environment.settle(20_000)
    const { status } = await environment.appWrapper('robbed')
    expect([status?.phase, status?.resettingCount]).toEqual(['Failed', 0])
    expect(await phasesOf('robbed')).toContain('Failed MissingComponent')
  })

  it('leave a node whose resource is sick, without using up a try', async () => {
    const place = await environment.pool('sick', { cpu: '1', 'nvidia.com/gpu': '1' }, 2)
    const options = { place, requests: { 'nvidia.com/gpu': '1' }, simulated: { 'run-seconds': '9999' } }
    const template = job('moved', 1, options)
    const { spec } = template as { spec: { template: { spec: { containers: { resources: object }[] } } } }
    spec.template.spec.containers[0]!.resources = { limits: { 'nvidia.com/gpu': '1' } }
    await environment.wrap('moved', components(template), annotated({ retryPausePeriodDuration: '1s' }))
    await environment.settle(20_000)
    const before = (await environment.podsOf('moved'))[0]!.spec!.nodeName!
    const labels = { 'autopilot.ibm.com/gpuhealth': 'EVICT' }
    await environment.client.patch(Node, { name: before }, { metadata: { labels } }, { type: 'merge' })
    await environment.settle(30_000)
    const [moved] = await environment.podsOf('moved')
    expect(moved?.spec?.nodeName).not.toBe(before)
    const { status } = await environment.appWrapper('moved')
    expect([status?.phase, status?.resettingCount]).toEqual(['Running', 0])
    expect(await phasesOf('moved')).toContain('Resetting AutopilotNoExecute')
  })

  it('fail after their tries when pods do not start in time', async () => {
    const place = await environment.pool('stuck', { cpu: '1' })
    const stuck = { place, simulated: { 'fail-image-pull': 'true' } }
    const patience = { warmupGracePeriodDuration: '10s', retryPausePeriodDuration: '1s', retryLimit: '1' }
    await environment.wrap('stuck', components(deployment('stuck', 1, stuck)), annotated(patience))
    await environment.settle(15_000)
    expect(await phasesOf('stuck')).toContain('Resetting InsufficientPodsReady')
    await environment.settle(60_000)
    expect(await environment.phaseOf('stuck')).toBe('Failed')
  })

  it('delete by force what ignores its deletion, pods first, and are free only then', async () => {
    const place = await environment.pool('stubborn', { cpu: '1' })
    const options = { place, simulated: { 'run-seconds': '9999', 'stop-seconds': '99999' } }
    const template = job('stubborn', 1, options)
    const { spec } = template as { spec: { template: { spec: Record<string, unknown> } } }
    spec.template.spec['terminationGracePeriodSeconds'] = 86_400
    await environment.wrap('stubborn', components(template), annotated({ forcefulDeletionGracePeriodDuration: '60s' }))
    await environment.settle(20_000)
    expect(await environment.phaseOf('stubborn')).toBe('Running')
    await environment.client.patch(AppWrapper, at('stubborn'), { spec: { suspend: true } }, { type: 'merge' })
    await environment.settle(30_000)
    expect(await environment.phaseOf('stubborn')).toBe('Suspending')
    expect(await condition('stubborn', 'ResourcesDeployed')).toBe('True Deployed')
    expect(await condition('stubborn', 'QuotaReserved')).toBe('True Reserved')
    await environment.settle(60_000)
    expect(await environment.podsOf('stubborn')).toEqual([])
    expect(await environment.phaseOf('stubborn')).toBe('Suspended')
    expect(await condition('stubborn', 'ResourcesDeployed')).toBe('False NotDeployed')
    await environment.client.patch(AppWrapper, at('stubborn'), { spec: { suspend: false } }, { type: 'merge' })
    await environment.settle(20_000)
    expect(await environment.phaseOf('stubborn')).toBe('Running')
  })

  it('name the owner of an object that is in their way, and fail', async () => {
    const place = await environment.pool('taken', { cpu: '1' })
    await environment.create(Job, { ...job('taken', 1, { place }), metadata: at('taken') } as never)
    await environment.wrap('late', components(job('taken', 1, { place })))
    await environment.settle(10_000)
    expect(await environment.phaseOf('late')).toBe('Failed')
    const { status } = await environment.appWrapper('late')
    expect(findCondition(status?.conditions, 'Unhealthy')?.message).toMatch(
      /^Job taken: .* exists already and belongs to/,
    )
    expect((await environment.client.get(Job, at('taken'))).metadata.labels?.[nameLabel]).toBeUndefined()
  })

  it('of one name, one after the other, never share objects; a restart loses nothing', async () => {
    const place = await environment.pool('again', { cpu: '1' })
    const options = { place, requests: { cpu: '1' }, simulated: { 'run-seconds': '9999' } }
    for (let round = 0; round < 2; round++) {
      await environment.wrap('again', components(job('again', 1, options)))
      await environment.settle(20_000)
      expect(await environment.phaseOf('again')).toBe('Running')
      const writes = environment.writes.length
      await environment.restart()
      await environment.settle(20_000)
      expect(environment.writes.slice(writes)).toEqual([])
      await environment.wrap('behind', components(job('behind', 1, options)))
      await environment.settle(5000)
      expect(await environment.phaseOf('behind')).toBe('Suspended')
      await environment.client.delete(AppWrapper, at('behind'))
      await environment.client.delete(AppWrapper, at('again'))
      await environment.settle(20_000)
    }
    const { items } = await environment.client.list(Pod, { namespace: 'default' })
    expect(items.filter(({ spec }) => spec?.nodeName === 'again-0')).toEqual([])
  })
})

function annotated(settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`workload.codeflare.dev.appwrapper/${name}`, value]),
  )
}
