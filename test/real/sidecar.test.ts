/**
 * A real database and its sidecar through a whole life: start, running, servicing (a backup that is restored and
 * compared), stopping, ended; with both of them killed on the way. Everything is asked of the sidecar's protocol.
 */
import { access } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followAction, type Life, makeLife, signal, until } from './sidecar/life.ts'

const hasEnded = ({ state }: { readonly state: string }): boolean => state !== 'running'
const hasBegun = ({ progress = 0 }: { readonly progress?: number | undefined }): boolean => progress >= 0.1

describe('a database and its sidecar', () => {
  let life: Life
  beforeAll(async () => {
    life = await makeLife()
    await life.startSidecar()
  })
  afterAll(() => life.end())

  const backup = (): string => path.join(life.folder, 'backup.rdb')
  let digest = ''

  it('without a database the state is ended, and unreachable', async () => {
    const watch = life.watchStates()
    expect((await watch.until('ended', false)).message).toContain('port: ECONNREFUSED')
    await watch.stop()
  })

  it('start: the database comes up, and its state says so', async () => {
    const watch = life.watchStates()
    const client = life.client()
    await watch.until('ended')
    const record = await client.start({ key: 'start-1', name: 'start' })
    expect(record).toMatchObject({ key: 'start-1', name: 'start', state: 'running' })
    await watch.until('running', true)
    expect(await followAction(client, 'start-1', hasEnded)).toMatchObject({ state: 'succeeded', exitCode: 0 })
    expect(watch.seen).toContain('start')
    await watch.stop()
    await life.redis('debug', 'populate', '5000', 'key', '100')
    for (const [name, value] of [
      ['greeting', 'hello'],
      ['counter', '42'],
    ] as const)
      await life.redis('set', name, value)
    digest = await life.redis('debug', 'digest')
  })

  it(
    'servicing: a backup continues while its sidecar is killed, and the next one finds it finished',
    { timeout: 120_000 },
    async () => {
      const client = life.client()
      const watch = life.watchStates()
      await watch.until('running')
      const pid = await life.redisPid()
      // A database that stands still keeps the backup in its midst for as long as it takes.
      signal(pid, 'SIGSTOP')
      expect((await watch.until('unresponsive', false)).message).toBe('ping: no answer within 2000 ms')
      await client.start({ key: 'backup-1', name: 'backup', input: { target: backup() } })
      const begun = await followAction(client, 'backup-1', hasBegun)
      expect(begun).toMatchObject({ state: 'running', progress: 0.1, message: 'asking for a snapshot' })

      await life.killSidecar()
      await watch.stop()
      await life.startSidecar()
      const second = life.client()
      expect(await second.action('backup-1')).toMatchObject({ state: 'running', startedAt: begun.startedAt })

      await life.killSidecar()
      signal(pid, 'SIGCONT')
      await until(() =>
        access(backup()).then(
          () => true,
          () => false,
        ),
      )
      await life.startSidecar()
      const third = life.client()
      const done = await followAction(third, 'backup-1', hasEnded)
      expect(done).toMatchObject({ state: 'succeeded', exitCode: 0, progress: 1, startedAt: begun.startedAt })
      expect(done.result).toMatchObject({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string })

      const again = await third.start({ key: 'backup-1', name: 'backup', input: { target: backup() } })
      expect(again).toEqual(done)
      expect(await life.beginnings()).toEqual(['backup-1'])
      await expect(
        third.start({ key: 'backup-1', name: 'backup', input: { target: '/elsewhere' } }),
      ).rejects.toMatchObject({
        name: 'ActionConflict',
      })
    },
  )

  it('reports servicing while a backup runs, and running after it', async () => {
    const client = life.client()
    const watch = life.watchStates()
    await watch.until('running')
    await client.start({ key: 'backup-2', name: 'backup', input: { target: `${backup()}.2` } })
    await watch.until('servicing')
    expect(await followAction(client, 'backup-2', hasEnded)).toMatchObject({ state: 'succeeded' })
    await watch.until('running')
    await watch.stop()
  })

  it('when the database is killed during a backup, the action fails and the state is no longer servicing', async () => {
    const client = life.client()
    const watch = life.watchStates()
    await watch.until('running')
    const pid = await life.redisPid()
    signal(pid, 'SIGSTOP')
    await client.start({ key: 'backup-3', name: 'backup', input: { target: `${backup()}.3` } })
    await followAction(client, 'backup-3', hasBegun)
    signal(pid, 'SIGKILL')
    const failed = await followAction(client, 'backup-3', hasEnded)
    expect(failed).toMatchObject({ state: 'failed', reason: 'ExitCode', progress: 0.1 })
    await watch.until('ended', false)
    await watch.stop()
    await expect(access(`${backup()}.3`)).rejects.toThrow('ENOENT')
  })

  it(
    'restored into an empty folder, the database has the data of the start of the backup',
    { timeout: 120_000 },
    async () => {
      const client = life.client()
      await client.start({ key: 'restore-1', name: 'restore', input: { source: backup(), data: life.data } })
      expect(await followAction(client, 'restore-1', hasEnded)).toMatchObject({ state: 'succeeded' })
      const watch = life.watchStates()
      await watch.until('ended')
      await client.start({ key: 'start-2', name: 'start' })
      await watch.until('running')
      await watch.stop()
      expect(await life.redis('debug', 'digest')).toBe(digest)
      expect(await life.redis('get', 'greeting')).toBe('hello')
      expect(await life.redis('dbsize')).toBe('5002')
    },
  )

  it('stopping, then ended', async () => {
    const watch = life.watchStates()
    await watch.until('running')
    const client = life.client()
    await client.start({ key: 'stop-1', name: 'stop' })
    await watch.until('ended', false)
    // A busy machine may be slow to answer now and then; that is no step of this life.
    expect(watch.seen.filter((state) => state !== 'unresponsive')).toEqual(['running', 'stopping', 'ended'])
    expect(await followAction(client, 'stop-1', hasEnded)).toMatchObject({ state: 'succeeded' })
    await watch.stop()
    const keys = (await client.actions()).map(({ key, state }) => `${key} ${state}`)
    expect(keys).toEqual([
      'start-1 succeeded',
      'backup-1 succeeded',
      'backup-2 succeeded',
      'backup-3 failed',
      'restore-1 succeeded',
      'start-2 succeeded',
      'stop-1 succeeded',
    ])
  })

  it('while it loads its data, a database is in start, not yet running', { timeout: 120_000 }, async () => {
    const client = life.client()
    const watch = life.watchStates()
    await watch.until('ended')
    // Five milliseconds a key: long enough for the sidecar to observe the load.
    await life.configureRedis('key-load-delay 5000')
    await client.start({ key: 'start-slow', name: 'start' })
    await followAction(client, 'start-slow', hasEnded)
    // The action has ended; what makes it `start` now is what the database says of itself.
    expect((await watch.until('start', true)).message).toBeUndefined()
    expect(watch.seen).not.toContain('running')
    await life.redis('config', 'set', 'key-load-delay', '0')
    await watch.until('running')
    await watch.stop()
  })

  it('SIGTERM ends the sidecar, but not the database', async () => {
    expect(await life.stopSidecar()).toBe(0)
    expect(await life.redis('ping')).toBe('PONG')
  })
})
