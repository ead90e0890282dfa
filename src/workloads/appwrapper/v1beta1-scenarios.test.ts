import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AppWrapperEnvironment,
  at,
  deployment,
  item,
  items,
  job,
  OldAppWrapper,
  openAppWrapperEnvironment,
} from '../../../test/appwrapper-environment.ts'
import { isJsonObject } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { Deployment } from '../../kube/kinds.ts'
import { findCondition } from '../../kube/meta/condition.ts'
import { legacyNameLabel } from './labels.ts'

let environment: AppWrapperEnvironment
beforeAll(async () => {
  environment = await openAppWrapperEnvironment()
})
afterAll(() => environment.close())

const stateOf = async (name: string) => (await environment.oldStatus(name))['state']
/** The log of conditions: what happened, in order. */
const logOf = async (name: string): Promise<readonly string[]> => {
  const { conditions } = await environment.oldStatus(name)
  return isJsonArray(conditions)
    ? conditions.filter(isJsonObject).map(({ type, reason }) => `${type as string} ${reason as string}`)
    : []
}
const endless = { 'run-seconds': '9999' }

describe('AppWrappers of v1beta1', () => {
  it('run side by side as long as they fit; one that does not waits and says what is short', async () => {
    const place = await environment.pool('fits', { cpu: '2' })
    const pods = (name: string, cpu: string) =>
      items(item(deployment(name, 2, { place, requests: { cpu }, simulated: endless })))
    await environment.wrapOld('half', pods('half', '550m'))
    await environment.wrapOld('more', pods('more', '350m'))
    await environment.settle(20_000)
    await environment.wrapOld('beyond', pods('beyond', '426m'))
    await environment.settle(30_000)
    expect(await Promise.all(['half', 'more', 'beyond'].map(stateOf))).toEqual(['Running', 'Running', 'Pending'])
    expect(await environment.podsOf('beyond')).toEqual([])
    const { queuejobstate, message } = await environment.oldStatus('beyond')
    expect(queuejobstate).toBe('Backoff')
    expect(message).toMatch(/needs .*2.*pods/)
    const [pod] = await environment.podsOf('half')
    expect(pod?.metadata.labels?.[legacyNameLabel]).toBe('half')
  })

  it('do not hold back a smaller one that comes later', async () => {
    const place = await environment.pool('head', { cpu: '1' })
    const pods = (name: string, cpu: string) => items(item(deployment(name, 1, { place, requests: { cpu } })))
    await environment.wrapOld('oversized', pods('oversized', '3'))
    await environment.settle(5000)
    await environment.wrapOld('small', pods('small', '500m'))
    await environment.settle(15_000)
    expect(await Promise.all(['oversized', 'small'].map(stateOf))).toEqual(['Pending', 'Running'])
  })

  it('go back to the queue when their pods do not run in time, with more time at each try', async () => {
    const place = await environment.pool('late', { cpu: '2' })
    const initContainers = [{ name: 'slow', image: 'slow:1' }]
    const simulated = { 'run-seconds.slow': '200' }
    const scheduling = { minAvailable: 3, requeuing: { timeInSeconds: 60, growthType: 'exponential' } }
    await environment.wrapOld('slow', {
      schedulingSpec: scheduling,
      ...items(item(deployment('slow', 3, { place, initContainers, simulated }))),
    })
    await environment.settle(55_000)
    expect((await environment.oldStatus('slow'))['numberOfRequeueings']).toBeUndefined()
    await environment.settle(20_000)
    expect((await environment.oldStatus('slow'))['numberOfRequeueings']).toBe(1)
    await environment.settle(130_000)
    expect((await environment.oldStatus('slow'))['numberOfRequeueings']).toBe(2)
    await environment.settle(230_000)
    expect(await stateOf('slow')).toBe('Running')
    expect((await environment.oldStatus('slow'))['numberOfRequeueings']).toBe(2)
    expect((await environment.podsOf('slow')).map(({ status }) => status?.phase)).toEqual(Array(3).fill('Running'))
    expect(await logOf('slow')).toContain('PreemptCandidate MinPodsNotRunning')
  })

  it('are given up after the last requeuing, and nothing of them is left', async () => {
    const place = await environment.pool('given-up', { cpu: '1' })
    const scheduling = {
      minAvailable: 1,
      requeuing: { timeInSeconds: 1, growthType: 'none', maxNumRequeuings: 3 },
    }
    const stuck = deployment('stuck', 1, { place, simulated: { 'fail-image-pull': 'true' } })
    await environment.wrapOld('hopeless', { schedulingSpec: scheduling, ...items(item(stuck)) })
    await environment.settle(180_000)
    const { state, numberOfRequeueings } = await environment.oldStatus('hopeless')
    expect([state, numberOfRequeueings]).toEqual(['Deleted', 3])
    expect(await environment.podsOf('hopeless')).toEqual([])
    await expect(environment.client.get(Deployment, at('stuck'))).rejects.toThrow('not found')
  })

  it('whose pods no node takes leave, and the next one runs', async () => {
    const place = await environment.pool('nowhere', { cpu: '1' })
    const options = { place, requests: { cpu: '700m' } }
    // What is declared is less than what the pods ask for.
    const declared = { custompodresources: [{ replicas: 1, requests: { cpu: '100m' } }] }
    const tooLarge = deployment('too-large', 1, { place, requests: { cpu: '1200m' } })
    await environment.wrapOld('too-large', {
      schedulingSpec: { minAvailable: 1, requeuing: { timeInSeconds: 20, maxNumRequeuings: 1 } },
      ...items(item(tooLarge, declared)),
    })
    await environment.settle(5000)
    await environment.wrapOld('next', items(item(deployment('next', 1, options))))
    await environment.settle(120_000)
    expect(await logOf('too-large')).toContain('PreemptCandidate PodsFailedScheduling')
    expect(await logOf('too-large')).toContain('Backoff PreemptionTriggered')
    expect(await stateOf('next')).toBe('Running')
  })

  it('are completed by the conditions of their items that are true, and hold while pods run', async () => {
    const place = await environment.pool('complete', { cpu: '2' })
    const short = job('short', 1, { place, simulated: { 'run-seconds': '5' } })
    const long = job('long', 1, { place, simulated: { 'run-seconds': '60' } })
    await environment.wrapOld('alone', items(item(job('alone', 1, { place }), { completionstatus: 'Complete' })))
    await environment.wrapOld('both', items(item(short, { completionstatus: 'complete, failed' }), item(long)))
    await environment.settle(20_000)
    expect(await stateOf('alone')).toBe('Completed')
    expect(findCondition((await environment.appWrapper('alone')).status?.conditions, 'QuotaReserved')?.status).toBe(
      'False',
    )
    expect(await stateOf('both')).toBe('RunningHoldCompletion')
    await environment.settle(60_000)
    expect(await stateOf('both')).toBe('Completed')
  })

  it('with an item that never completes neither complete nor hold', async () => {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'svc' },
      spec: { selector: { app: 'x' }, ports: [{ port: 80 }] },
    }
    await environment.wrapOld('service', items(item(service, { completionstatus: 'Complete' })))
    await environment.settle(60_000)
    expect(await stateOf('service')).toBe('Running')
  })

  it('with an item that cannot be created fail, and leave nothing behind', async () => {
    const place = await environment.pool('broken', { cpu: '1' })
    const broken = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'broken' }, spec: { template: 'none' } }
    const fine = deployment('fine', 1, { place })
    await environment.wrapOld('broken', items(item(fine), item(broken)))
    await environment.wrapOld('shapeless', items(item({ kind: 'Pod' })))
    await environment.settle(60_000)
    expect(await stateOf('broken')).toBe('Failed')
    expect(await logOf('broken')).toContain('Failed ItemCreationFailure.')
    await expect(environment.client.get(Deployment, at('fine'))).rejects.toThrow('not found')
    expect(await stateOf('shapeless')).toBe('Failed')
  })

  it('are judged by their declared pods alone', async () => {
    const place = await environment.pool('declared', { cpu: '850m' })
    const two = (name: string) => deployment(name, 2, { place, requests: { cpu: '426m' } })
    const declare = (cpu: string) => ({ custompodresources: [{ replicas: 2, requests: { cpu } }] })
    await environment.wrapOld('too-little', items(item(two('too-little'), declare('425m'))))
    await environment.wrapOld('too-much', items(item(two('too-much'), declare('4270m'))))
    await environment.settle(30_000)
    const pods = await environment.podsOf('too-little')
    expect(pods.map(({ status }) => status?.phase ?? '').toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'Pending',
      'Running',
    ])
    expect(await stateOf('too-much')).toBe('Pending')
    expect(await environment.podsOf('too-much')).toEqual([])
  })

  it('fail when they take longer than their limit, and not before', async () => {
    const place = await environment.pool('limit', { cpu: '1' })
    await environment.wrapOld('limited', {
      schedulingSpec: { dispatchDuration: { limit: 60 } },
      ...items(item(deployment('limited', 1, { place }))),
    })
    await environment.settle(58_000)
    expect(await stateOf('limited')).toBe('Running')
    await environment.settle(10_000)
    expect(await stateOf('limited')).toBe('Failed')
    expect(await logOf('limited')).toContain('Failed DispatchDeadlineExceeded')
    expect(await environment.podsOf('limited')).toEqual([])
  })

  it('that MCAD had dispatched keep running, and keep their place', async () => {
    const place = await environment.pool('migrated', { cpu: '1' })
    const endlessJob = (name: string) => items(item(deployment(name, 1, { place, requests: { cpu: '1' } })))
    const { client } = environment
    await environment.stop()
    await environment.wrapOld('migrated', endlessJob('migrated'))
    const status = { state: 'Running', canrun: true, queuejobstate: 'Dispatched' }
    await client.patch(OldAppWrapper, at('migrated'), { status }, { type: 'merge', subresource: 'status' })
    await environment.start()
    await environment.wrapOld('after', endlessJob('after'))
    await environment.settle(60_000)
    expect(await stateOf('migrated')).toBe('Running')
    expect(await environment.podsOf('migrated')).toEqual([])
    expect(await stateOf('after')).toBe('Pending')
  })
})
