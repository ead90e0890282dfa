/** AppWrappers in each other's way: evictions, users without rights, and many at once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AppWrapperEnvironment,
  at,
  components,
  job,
  openAppWrapperEnvironment,
} from '../../../test/appwrapper-environment.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { JsonObject } from '../../kube/json.ts'
import { Job } from '../../kube/kinds.ts'
import { findCondition } from '../../kube/meta/condition.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { AppWrapper, type AppWrapperObject } from './appwrapper.ts'

let environment: AppWrapperEnvironment
beforeAll(async () => {
  environment = await openAppWrapperEnvironment({ mcad: { preemption: true, backoffTime: 0 } })
})
afterAll(() => environment.close())

describe('AppWrappers in each other’s way', () => {
  it('leave for one of higher priority, whole and once, and come back when it has ended', async () => {
    const place = await environment.pool('contended', { cpu: '2' })
    const options = { place, requests: { cpu: '1' } }
    const endless = { ...options, simulated: { 'run-seconds': '9999' } }
    const low = { scheduling: { priority: 1 }, ...components(job('low', 2, endless)) }
    await environment.wrap('low', low)
    await environment.settle(20_000)
    expect(await environment.phaseOf('low')).toBe('Running')
    const high = {
      scheduling: { priority: 9 },
      ...components(job('high', 1, { ...options, simulated: { 'run-seconds': '60' } })),
    }
    await environment.wrap('high', high)
    await environment.settle(30_000)
    expect(await environment.phaseOf('high')).toBe('Running')
    const { status } = await environment.appWrapper('low')
    expect(status?.phase).toBe('Suspended')
    expect(status?.transitions?.find(({ phase }) => phase === 'Suspending')).toMatchObject({
      reason: 'Preempted',
      message: 'It makes room for AppWrapper default/high, which comes first.',
    })
    await expect(environment.client.get(Job, at('low'))).rejects.toThrow('not found')
    await environment.settle(90_000)
    expect(await environment.phaseOf('high')).toBe('Succeeded')
    expect(await environment.phaseOf('low')).toBe('Running')
    const all = (await environment.appWrapper('low')).status?.transitions ?? []
    expect(all.filter(({ phase }) => phase === 'Suspending')).toHaveLength(1)
  })

  it('wrap only what their user may create', async () => {
    const rbac = 'rbac.authorization.k8s.io'
    const rule = (apiGroup: string, resource: string): JsonObject => ({
      apiGroups: [apiGroup],
      resources: [resource],
      verbs: ['create'],
    })
    const rules = [rule('workload.codeflare.dev', 'appwrappers'), rule('apps', 'deployments')]
    const subjects = [{ apiGroup: rbac, kind: 'User', name: 'ada' }]
    const roleRef = { apiGroup: rbac, kind: 'Role', name: 'ada' }
    const create = async (kind: string, more: JsonObject): Promise<void> => {
      const object = { apiVersion: `${rbac}/v1`, kind, metadata: at('ada'), ...more }
      await environment.create(resourceOf(`${rbac}/v1`, kind), object)
    }
    await create('Role', { rules })
    await create('RoleBinding', { roleRef, subjects })
    const { clock, server } = environment
    const transport = inProcessTransport(server)
    const ada = createClient({
      clock,
      transport: {
        ...transport,
        send: (request) => transport.send({ ...request, headers: { ...request.headers, 'impersonate-user': 'ada' } }),
      },
    })
    const wrapper = (name: string, template: JsonObject): UntypedObject => ({
      apiVersion: 'workload.codeflare.dev/v1beta2',
      kind: 'AppWrapper',
      metadata: at(name),
      spec: { suspend: true, ...components(template) },
    })
    await expect(ada.create(AppWrapper, wrapper('denied', job('denied', 1)) as never)).rejects.toThrow(
      'User ada is not authorized to create jobs in default',
    )
    const pods = { ...job('allowed', 1), apiVersion: 'apps/v1', kind: 'Deployment' }
    const stored = (await ada.create(AppWrapper, wrapper('allowed', pods) as never)) as AppWrapperObject
    expect(stored.metadata.labels?.['workload.codeflare.dev/user']).toBe('ada')
  })

  it('of two pods each run by the dozens', async () => {
    const place = await environment.pool('load', { cpu: '64', pods: '200' })
    const names = Array.from({ length: 50 }, (_, index) => `load-${index}`)
    for (const name of names)
      await environment.wrap(name, components(job(name, 2, { place, simulated: { 'run-seconds': '9999' } })))
    await environment.settle(60_000)
    const all = await Promise.all(names.map((name) => environment.appWrapper(name)))
    const isReady = ({ status }: AppWrapperObject): boolean =>
      status?.phase === 'Running' && findCondition(status.conditions, 'PodsReady')?.status === 'True'
    expect(all.filter(isReady)).toHaveLength(50)
  })
})
