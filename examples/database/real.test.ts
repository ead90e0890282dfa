/**
 * The example with a real database: Redis and its sidecar as processes, the operator on the embedded API server and on a real
 * one. Neither server runs Pods, so the test acts as the kubelet: it starts Redis when its StatefulSet exists.
 */
import { access } from 'node:fs/promises'
import path from 'node:path'
import { Secret, StatefulSet } from '@muster-dev/muster/operator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followAction, type Life, makeLife, token } from '../../test/real/sidecar/life.ts'
import {
  find,
  openOperatorEnvironment,
  type RunningOperator,
  type OperatorEnvironment,
} from '../../test/operator-environment.ts'
import { Database, operator } from './operator.ts'

describe.each(['embedded', 'any'] as const)('a real database on the %s API server', { timeout: 120_000 }, (server) => {
  let environment: OperatorEnvironment
  let life: Life
  let namespace: string
  let running: RunningOperator
  let digest = ''

  const restart = async () => {
    await running?.stop()
    running = await environment.run(namespace, { config: { sidecarUrl: life.url() } })
  }
  const cr = () => environment.client.get(Database, { namespace, name: 'd' })
  const set = () => find(environment.client, StatefulSet, { namespace, name: 'd' })
  const patchSpec = (spec: object) =>
    environment.client.patch(Database, { namespace, name: 'd' }, { spec }, { type: 'merge' })
  const backup = () => path.join(life.folder, 'backup.rdb')
  /** Waits until it is in that state, as requested, with no transition in progress. */
  const settled = (state: string) =>
    environment.until(cr, ({ status }) => {
      const desired = status?.conditions?.find(({ type }) => type === 'AtDesiredState')
      return status?.lifecycle?.state === state && desired?.status === 'True' && !status.lifecycle.transition
    })
  const startRedis = async (key: string) => {
    await environment.until(set, (found) => found !== undefined)
    await life.client().start({ key, name: 'start' })
    await followAction(life.client(), key, ({ state }) => state === 'succeeded')
  }

  beforeAll(async () => {
    life = await makeLife()
    await life.startSidecar()
    environment = await openOperatorEnvironment(operator, server)
    namespace = await environment.namespace()
    await environment.client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'sidecar' },
      data: { token: Buffer.from(token).toString('base64') },
    })
    await restart()
  }, 120_000)
  afterAll(async () => {
    await running.stop()
    await environment.close()
    await life.end()
  })

  it('reaches running: the dependents are created, and the database reports the same state', async () => {
    await environment.client.create(Database, {
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

  it('servicing makes one backup, even if the operator restarts during it', async () => {
    await patchSpec({ state: 'servicing' })
    await environment.until(cr, ({ status }) => status?.lifecycle?.transition?.to === 'servicing')
    await restart()
    const { status } = await settled('running')
    expect(status?.lifecycle?.history.map(({ state }) => state)).toEqual(['start', 'running', 'servicing', 'running'])
    await access(backup())
    expect(await life.beginnings()).toHaveLength(1)
  })

  it('the API server rejects an unreachable desired state', async () => {
    await expect(patchSpec({ state: 'asleep' })).rejects.toMatchObject({ name: 'Invalid' })
  })

  it('stopping, then ended: the sidecar stops the database before its dependents are deleted', async () => {
    await patchSpec({ state: 'ended' })
    await settled('ended')
    await environment.until(set, (found) => found === undefined)
    await expect(life.redis('ping')).rejects.toThrow(/refused/i)
    const actions = await life.client().actions()
    expect(actions.at(-1)).toMatchObject({ name: 'stop', state: 'succeeded' })
  })

  it('restored from its backup, it runs with the same data', async () => {
    const client = life.client()
    await client.start({ key: 'restore', name: 'restore', input: { source: backup(), data: life.data } })
    await followAction(client, 'restore', ({ state }) => state === 'succeeded')
    await patchSpec({ state: 'running' })
    await startRedis('kubelet-2')
    await settled('running')
    expect(await life.redis('debug', 'digest')).toBe(digest)
  })

  it('a deleted database is stopped before its finalizer is removed', async () => {
    await environment.client.delete(Database, { namespace, name: 'd' })
    await environment.until(
      () => find(environment.client, Database, { namespace, name: 'd' }),
      (found) => found === undefined,
    )
    await expect(life.redis('ping')).rejects.toThrow(/refused/i)
    expect(running.sent.filter(({ status }) => status >= 400 && status !== 409)).toEqual([])
  })
})
