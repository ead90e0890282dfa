import { describe, expect, it } from 'vitest'
import { openTestEnvironment, type TestEnvironment } from '@muster-dev/muster/manager'
import type { KubeObject } from '@muster-dev/muster/kube'
import type { HttpAnswer, HttpCall, Live } from '@muster-dev/muster/operator'
import { ConfigMap, Secret, Service, StatefulSet } from '@muster-dev/muster/operator'
import { Database, operator } from './operator.ts'

/** A database in memory, and its sidecar. The suite against real servers uses a real one. */
interface Pretended extends Live {
  state: string
  isReachable: boolean
  readonly started: { readonly key: string; readonly name: string; readonly input: unknown; state: string }[]
}

function pretend(): Pretended {
  const answer = (status: number, body: unknown): HttpAnswer => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    json: () => body,
  })
  const database: Pretended = {
    available: true,
    state: 'start',
    isReachable: true,
    started: [],
    exec: () => Promise.reject(new Error('no command can run here')),
    http({ method, url, body, headers }: HttpCall) {
      if (!database.isReachable) return Promise.reject(new Error('connect ECONNREFUSED'))
      if (headers?.['authorization'] !== 'Bearer open sesame') return Promise.resolve(answer(401, { message: 'who?' }))
      const at = '2026-01-01T00:00:00Z'
      const record = (action: Pretended['started'][number]) => ({ ...action, startedAt: at, updatedAt: at })
      const { pathname } = new URL(url)
      if (pathname === '/v1/state')
        return Promise.resolve(answer(200, { state: database.state, since: at, reachable: true }))
      if (method === 'POST') {
        const wanted = JSON.parse(String(body)) as { key: string; name: string; input: unknown }
        const known = database.started.find(({ key }) => key === wanted.key)
        if (!known) database.started.push({ ...wanted, state: 'running' })
        return Promise.resolve(answer(known ? 200 : 202, record(known ?? database.started.at(-1)!)))
      }
      if (pathname === '/v1/actions') return Promise.resolve(answer(200, { actions: database.started.map(record) }))
      return Promise.resolve(answer(404, { error: 'NotFound', message: 'no such action' }))
    },
  }
  return database
}

const name = { name: 'd', namespace: 'default' }
const lifeOf = async (environment: TestEnvironment) => {
  const { status } = (await environment.client.get(Database, name)) as unknown as {
    status?: {
      lifecycle?: { state: string; transition?: { to: string } }
      conditions?: { type: string; status: string; message: string }[]
    }
  }
  return {
    state: status?.lifecycle?.state,
    to: status?.lifecycle?.transition?.to,
    wished: status?.conditions?.find(({ type }) => type === 'AtWishedState'),
  }
}
const wish = (environment: TestEnvironment, spec: object) =>
  environment.client.patch(Database, name, { spec }, { type: 'merge' })

async function open(live: Pretended): Promise<TestEnvironment> {
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
  it('takes a database through its life: start, running, servicing, stopping, ended, and once more', async () => {
    const live = pretend()
    const environment = await open(live)
    expect(await lifeOf(environment)).toMatchObject({ state: 'start', to: 'start' })
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()

    live.state = 'running'
    await environment.settle(10_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'running', to: undefined, wished: { status: 'True' } })

    await wish(environment, { state: 'servicing', backupTo: '/backup/1' })
    await environment.settle(10_000)
    expect(live.started).toMatchObject([{ name: 'backup', input: { target: '/backup/1' } }])
    live.state = 'servicing'
    await environment.settle(20_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'servicing', to: 'servicing' })
    live.started[0]!.state = 'succeeded'
    live.state = 'running'
    await environment.settle(20_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'running', wished: { status: 'True' } })
    expect(live.started).toHaveLength(1)

    await wish(environment, { state: 'ended' })
    await environment.settle(10_000)
    expect(live.started).toMatchObject([{}, { name: 'stop' }])
    // Its dependents stay until it has stopped.
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()
    live.started[1]!.state = 'succeeded'
    live.state = 'ended'
    await environment.settle(20_000)
    for (const kind of [StatefulSet, Service, ConfigMap]) {
      await expect(environment.client.get<KubeObject>(kind, name)).rejects.toMatchObject({ name: 'NotFound' })
    }
    expect(await lifeOf(environment)).toMatchObject({ state: 'ended', wished: { status: 'True' } })

    live.state = 'start'
    await wish(environment, { state: 'running' })
    await environment.settle(10_000)
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()
    await environment.close()
  })

  it('starts each action once, however often it is itself started anew', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    await wish(environment, { state: 'servicing', backupTo: '/b' })
    for (let round = 0; round < 5; round++) {
      await environment.clock.advance(1700)
      await environment.restart()
    }
    await environment.settle(10_000)
    expect(live.started).toHaveLength(1)
    await environment.close()
  })

  it('is stopped before its objects go when its CR is deleted, and keeps its finalizer until then', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    await environment.client.delete(Database, name)
    await environment.settle(10_000)
    expect(live.started).toMatchObject([{ name: 'stop' }])
    expect((await environment.client.get(Database, name)).metadata.finalizers).toEqual([
      'databases.db.example.com/database',
    ])
    expect(await environment.client.get(StatefulSet, name)).toBeDefined()
    live.started[0]!.state = 'succeeded'
    live.state = 'ended'
    await environment.settle(60_000)
    await expect(environment.client.get(Database, name)).rejects.toMatchObject({ name: 'NotFound' })
    await expect(environment.client.get(StatefulSet, name)).rejects.toMatchObject({ name: 'NotFound' })
    await environment.close()
  })

  it('refuses a service without a place for the backup, and says so; the server refuses an unknown wish', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    await wish(environment, { state: 'servicing' })
    await environment.settle(10_000)
    expect(await lifeOf(environment)).toMatchObject({
      state: 'running',
      wished: { status: 'False', message: expect.stringContaining('spec.backupTo is empty') as string },
    })
    expect(live.started).toEqual([])
    await expect(wish(environment, { state: 'sleeping' })).rejects.toMatchObject({ name: 'Invalid' })
    await environment.close()
  })

  it('sees that a database has gone by itself, and puts it right', async () => {
    const live = pretend()
    const environment = await open(live)
    live.state = 'running'
    await environment.settle(10_000)
    live.state = 'ended'
    await environment.settle(40_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'start', to: 'start' })
    live.state = 'running'
    await environment.settle(40_000)
    expect(await lifeOf(environment)).toMatchObject({ state: 'running', wished: { status: 'True' } })
    await environment.close()
  })

  it('asks no API server for anything while the database is at rest', async () => {
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
