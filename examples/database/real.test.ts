/**
 * The example with a real database: Redis and its sidecar as processes, the operator on the embedded API server and on a real
 * one. Neither server runs Pods, so the test acts as the kubelet: it starts Redis when its StatefulSet exists.
 */
import { access } from 'node:fs/promises'
import path from 'node:path'
import { Secret, StatefulSet } from '@muster-dev/muster/operator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followAction, type Life, makeLife, token } from '../../test/real/sidecar/life.ts'
import { find, openStage, type Running, type Stage } from '../../test/stage.ts'
import { Database, operator } from './operator.ts'

describe.each(['embedded', 'any'] as const)('a real database, on the server: %s', { timeout: 120_000 }, (server) => {
  let stage: Stage
  let life: Life
  let namespace: string
  let running: Running
  let digest = ''

  const restart = async () => {
    await running?.stop()
    running = await stage.run(namespace, { config: { sidecarUrl: life.url() } })
  }
  const cr = () => stage.client.get<Database>(Database, { namespace, name: 'd' })
  const set = () => find(stage.client, StatefulSet, { namespace, name: 'd' })
  const wish = (spec: object) => stage.client.patch(Database, { namespace, name: 'd' }, { spec }, { type: 'merge' })
  const backup = () => path.join(life.folder, 'backup.rdb')
  /** Waits until it is in that state, as requested, with no transition in progress. */
  const settled = (state: string) =>
    stage.until(cr, ({ status }) => {
      const wished = status?.conditions?.find(({ type }) => type === 'AtWishedState')
      return status?.lifecycle?.state === state && wished?.status === 'True' && !status.lifecycle.transition
    })
  const startRedis = async (key: string) => {
    await stage.until(set, (found) => found !== undefined)
    await life.client().start({ key, name: 'start' })
    await followAction(life.client(), key, ({ state }) => state === 'succeeded')
  }

  beforeAll(async () => {
    life = await makeLife()
    await life.startSidecar()
    stage = await openStage(operator, server)
    namespace = await stage.namespace()
    await stage.client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'sidecar' },
      data: { token: Buffer.from(token).toString('base64') },
    })
    await restart()
  }, 120_000)
  afterAll(async () => {
    await running.stop()
    await stage.close()
    await life.end()
  })

  it('start, then running: its objects are made, and the database is what it says', async () => {
    await stage.client.create(Database, {
      apiVersion: 'db.example.com/v1alpha1',
      kind: 'Database',
      metadata: { namespace, name: 'd' },
      spec: { tokenFrom: 'sidecar', backupTo: backup() },
    })
    await startRedis('kubelet-1')
    const { status } = await settled('running')
    expect(status?.lifecycle?.history.map(({ state }) => state)).toEqual(['start', 'running'])
    await life.redis('debug', 'populate', '500', 'key', '20')
    digest = await life.redis('debug', 'digest')
  })

  it('servicing: one backup, though the operator is started anew while it is being made', async () => {
    await wish({ state: 'servicing' })
    await stage.until(cr, ({ status }) => status?.lifecycle?.transition?.to === 'servicing')
    await restart()
    const { status } = await settled('running')
    expect(status?.lifecycle?.history.map(({ state }) => state)).toEqual(['start', 'running', 'servicing', 'running'])
    await access(backup())
    expect(await life.beginnings()).toHaveLength(1)
  })

  it('a wish that cannot be reached is refused by the server itself', async () => {
    await expect(wish({ state: 'asleep' })).rejects.toMatchObject({ name: 'Invalid' })
  })

  it('stopping, then ended: it is stopped by its sidecar before its objects go', async () => {
    await wish({ state: 'ended' })
    await settled('ended')
    await stage.until(set, (found) => found === undefined)
    await expect(life.redis('ping')).rejects.toThrow(/refused/i)
    const actions = await life.client().actions()
    expect(actions.at(-1)).toMatchObject({ name: 'stop', state: 'succeeded' })
  })

  it('restored from its backup and wished to run, it holds what it held', async () => {
    const client = life.client()
    await client.start({ key: 'restore', name: 'restore', input: { source: backup(), data: life.data } })
    await followAction(client, 'restore', ({ state }) => state === 'succeeded')
    await wish({ state: 'running' })
    await startRedis('kubelet-2')
    await settled('running')
    expect(await life.redis('debug', 'digest')).toBe(digest)
  })

  it('deleted, it is stopped, and only then let go', async () => {
    await stage.client.delete(Database, { namespace, name: 'd' })
    await stage.until(
      () => find(stage.client, Database, { namespace, name: 'd' }),
      (found) => found === undefined,
    )
    await expect(life.redis('ping')).rejects.toThrow(/refused/i)
    expect(running.sent.filter(({ status }) => status >= 400 && status !== 409)).toEqual([])
  })
})
