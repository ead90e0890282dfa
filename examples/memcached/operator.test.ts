/** The behaviour of the operator on an embedded cluster in virtual time: nothing is mocked, every request is counted. */
import { Deployment, Pod, Secret } from '@muster-dev/muster/operator'
import { openTestEnvironment, type TestEnvironment, type TestEnvironmentOptions } from '@muster-dev/muster/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { Memcached, operator } from './operator.ts'

const sample = { namespace: 'default', name: 'sample' }

let environment: TestEnvironment
afterEach(() => environment.close())

/** A test environment with simulated workloads and one Memcached. */
async function open(spec: object, options: TestEnvironmentOptions = {}): Promise<void> {
  environment = await openTestEnvironment(operator, { workloads: true, ...options })
  await environment.create(Memcached, memcached(spec))
  await environment.settle(30_000)
}

function memcached(spec: object) {
  return { apiVersion: 'cache.example.com/v1alpha1', kind: 'Memcached', metadata: sample, spec }
}

async function status() {
  const { status: now } = await environment.client.get(Memcached, sample)
  const conditions = now?.conditions?.map((condition) => `${condition.type} ${condition.status} ${condition.reason}`)
  return { ...now, conditions }
}

describe('memcached', () => {
  it('runs as many servers as requested, and lists them', async () => {
    await open({ size: 3 })
    const pods = await environment.client.list(Pod, { namespace: 'default' })
    const { nodes, conditions, observedGeneration } = await status()
    expect(new Set(nodes)).toEqual(new Set(pods.items.map(({ metadata }) => metadata.name)))
    expect(nodes).toHaveLength(3)
    expect(conditions).toEqual(['Reconciled True Success', 'Ready True Ready'])
    expect(observedGeneration).toBe(1)
  })

  it('follows a change of size, up and down', async () => {
    await open({ size: 1 })
    for (const size of [4, 2]) {
      await environment.client.patch(Memcached, sample, { spec: { size } }, { type: 'merge' })
      await environment.settle(30_000)
      expect((await status()).nodes).toHaveLength(size)
    }
  })

  it('corrects drift of replicas with one write', async () => {
    await open({ size: 2 })
    const before = environment.writes.length
    await environment.client.patch(Deployment, sample, { spec: { replicas: 5 } }, { type: 'merge' })
    await environment.settle(30_000)
    expect((await environment.client.get(Deployment, sample)).spec?.replicas).toBe(2)
    expect(environment.writes.slice(before).filter(({ path }) => path.includes('/deployments/'))).toHaveLength(1)
  })

  it('waits for the Secret named in a CR, and reports it', async () => {
    await open({ passwordFrom: 'from-above' })
    expect((await status()).conditions).toEqual(['Reconciled False Waiting', 'Ready False Missing'])
    await environment.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'from-above' },
      data: { password: 'c2VzYW1l' },
    })
    await environment.settle(30_000)
    expect((await environment.client.get(Secret, sample)).data).toEqual({ PASSWORD: 'c2VzYW1l' })
    expect((await status()).conditions).toEqual(['Reconciled True Success', 'Ready True Ready'])
  })

  it('gives up on an invalid CR until it changes', async () => {
    await open({ passwordFrom: 'sample' })
    expect((await status()).conditions).toContain('Stalled True PasswordFromItself')
    await environment.client.patch(Memcached, sample, { spec: { passwordFrom: null } }, { type: 'merge' })
    await environment.settle(30_000)
    expect((await status()).conditions).toEqual(['Reconciled True Success', 'Ready True Ready'])
  })

  it('sends no request at rest, nor after a restart', async () => {
    await open({ size: 2 })
    const asked = environment.sent.length
    await environment.clock.advance(3600_000)
    expect(environment.sent.slice(asked)).toEqual([])
    const written = environment.writes.length
    await environment.restart()
    await environment.settle(30_000)
    expect(environment.writes.slice(written)).toEqual([])
  })
})
