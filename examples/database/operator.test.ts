import { describe, expect, it } from 'vitest'
import { type FakeSidecar, fakeSidecar, openTestEnvironment, type TestEnvironment } from '@muster-dev/muster/testing'
import type { KubeObject } from '@muster-dev/muster/kube'
import { ConfigMap, Secret, Service, StatefulSet } from '@muster-dev/muster/operator'
import { Database, operator } from './operator.ts'

/** The suite against real servers uses a real sidecar. */
const pretend = (): FakeSidecar => fakeSidecar({ state: 'start', token: 'open sesame' })

const name = { name: 'd', namespace: 'default' }
const lifeOf = async (environment: TestEnvironment) => {
  const { status } = await environment.client.get(Database, name)
  return {
    state: status?.lifecycle?.state,
    to: status?.lifecycle?.transition?.to,
    desired: status?.conditions?.find(({ type }) => type === 'AtDesiredState'),
  }
}
const patchSpec = (environment: TestEnvironment, spec: object) =>
  environment.client.patch(Database, name, { spec }, { type: 'merge' })

async function open(live: FakeSidecar): Promise<TestEnvironment> {
  const environment = await openTestEnvironment(operator, { live })
  await environment.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'sesame', namespace: 'default' },
    data: { token: Buffer.from('open sesame').toString('base64') },
  })
  await environment.create(Database, {
    apiVersion: 'db.example.com/v1alpha1',
    kind: 'Database',
    metadata: name,
    spec: { tokenFrom: 'sesame' },
  })
  await environment.settle(10_000)
  return environment
}

describe('the database operator', () => {
  it('runs through the life cycle: start, running, servicing, stopping, ended, and start again', async () => {
    const live = pretend()
    const environment = await open(live)
    expect(await lifeOf(environment)).toMatchObject({ state: 'start', to: 'start' })
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()

    live.state = 'running'
    await environment.settle(10_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'running', to: undefined, desired: { status: 'True' } })

    await patchSpec(environment, { state: 'servicing', backupTo: '/backup/1' })
    await environment.settle(10_000)
    expect(live.actions).toMatchObject([{ name: 'backup', input: { target: '/backup/1' } }])
    live.state = 'servicing'
    await environment.settle(20_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'servicing', to: 'servicing' })
    live.finish()
    live.state = 'running'
    await environment.settle(20_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'running', desired: { status: 'True' } })
    expect(live.actions).toHaveLength(1)

    await patchSpec(environment, { state: 'ended' })
    await environment.settle(10_000)
    expect(live.actions).toMatchObject([{}, { name: 'stop' }])
    // Its dependents stay until it has stopped.
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()
    live.finish()
    live.state = 'ended'
    await environment.settle(20_000)
    for (const kind of [StatefulSet, Service, ConfigMap]) {
      await expect(environment.client.get<KubeObject>(kind, name)).rejects.toMatchObject({ name: 'NotFound' })
    }
    expect(await lifeOf(environment)).toMatchObject({ state: 'ended', desired: { status: 'True' } })

    live.state = 'start'
    await patchSpec(environment, { state: 'running' })
    await environment.settle(10_000)
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()
    await environment.close()
  })

  it('starts each action once, however often the operator restarts', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    await patchSpec(environment, { state: 'servicing', backupTo: '/b' })
    for (let round = 0; round < 5; round++) {
      await environment.clock.advance(1700)
      await environment.restart()
    }
    await environment.settle(10_000)
    expect(live.actions).toHaveLength(1)
    await environment.close()
  })

  it('stops the database before its dependents are deleted, and keeps the finalizer of a deleted CR until then', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    await environment.client.delete(Database, name)
    await environment.settle(10_000)
    expect(live.actions).toMatchObject([{ name: 'stop' }])
    expect((await environment.client.get(Database, name)).metadata.finalizers).toEqual([
      'databases.db.example.com/database',
    ])
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()
    live.finish()
    live.state = 'ended'
    await environment.settle(60_000)
    await expect(environment.client.get(Database, name)).rejects.toMatchObject({ name: 'NotFound' })
    await expect(environment.client.get(StatefulSet, name)).rejects.toMatchObject({ name: 'NotFound' })
    await environment.close()
  })

  it('rejects a service without a backup target and reports it; the API server rejects an unknown state', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    await patchSpec(environment, { state: 'servicing' })
    await environment.settle(10_000)
    expect(await lifeOf(environment)).toMatchObject({
      state: 'running',
      desired: { status: 'False', message: expect.stringContaining('spec.backupTo is empty') as string },
    })
    expect(live.actions).toEqual([])
    await expect(patchSpec(environment, { state: 'sleeping' })).rejects.toMatchObject({ name: 'Invalid' })
    await environment.close()
  })

  it('detects a database that stopped by itself, and restarts it', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    live.state = 'ended'
    await environment.settle(40_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'start', to: 'start' })
    live.state = 'running'
    await environment.settle(40_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'running', desired: { status: 'True' } })
    await environment.close()
  })

  it('sends no request to the API server while the database is at rest', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(60_000)
    const before = environment.sent.length
    await environment.settle(3_600_000)
    expect(environment.sent.slice(before)).toEqual([])
    await environment.close()
  })
})
