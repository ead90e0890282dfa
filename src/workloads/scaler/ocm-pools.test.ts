import type { Server } from 'node:http'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { inProcess, type ManagerFault, MisbehavingClusterManager } from '../../../test/misbehaving-cluster-manager.ts'
import type { Client } from '../../client/client.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { createLive } from '../../manager/run/live-calls.ts'
import type { Live } from '../../operator/live.ts'
import { ensurePool, type WantedPool } from './managed-pool-provider.ts'
import { ocmPools } from './ocm-pools.ts'

let manager: MisbehavingClusterManager
let server: Server
let url: string
beforeEach(async () => {
  manager = new MisbehavingClusterManager()
  ;({ url, server } = await manager.listen())
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

// What the calls do not touch of a client is not there.
const client = {} as Client
const overHttp = (): Live['http'] => {
  const live = createLive({ client, clock: systemClock })
  return (call) => live.http(call)
}

const options = (http: Live['http'], more: object = {}) => ({
  http,
  now: Date.UTC(2026, 0, 1),
  url,
  tokenUrl: `${url}/token`,
  token: 'offline-token',
  externalId: manager.externalId,
  timeoutMs: 5000,
  ...more,
})

const wanted: WantedPool = { id: 'train-1a2b3c', instanceType: 'g4dn.xlarge', replicas: 2, labels: { a: 'b' } }

describe.each(['machine pools', 'node pools of a hosted cluster'])('%s', (sort) => {
  it('are made, resized instead of made again, and removed, over HTTP', async () => {
    manager.isHosted = sort.startsWith('node')
    const provider = await ocmPools(options(overHttp()))
    expect(await ensurePool(provider, wanted)).toMatchObject({ replicas: 2 })
    expect(manager.pools.get(wanted.id)).toEqual({ ...wanted })
    expect(await ensurePool(provider, wanted)).toMatchObject({ replicas: 2, current: 2 })
    await ensurePool(provider, { ...wanted, replicas: 5 })
    expect(manager.pools.size).toBe(1)
    expect(manager.pools.get(wanted.id)?.replicas).toBe(5)
    await ensurePool(provider, { ...wanted, replicas: 0 })
    expect(manager.pools.size).toBe(0)
    await provider.remove(wanted.id)
  })

  it('have ids of a limited length', async () => {
    manager.isHosted = sort.startsWith('node')
    const provider = await ocmPools(options(overHttp()))
    const most = manager.isHosted ? 15 : 30
    await ensurePool(provider, { ...wanted, id: 'x'.repeat(most) })
    await expect(ensurePool(provider, { ...wanted, id: 'x'.repeat(most + 1) })).rejects.toMatchObject({
      reason: 'PoolIdTooLong',
      retry: 'terminal',
    })
  })
})

describe('a cluster manager that behaves badly', () => {
  const faults: fc.Arbitrary<ManagerFault | undefined> = fc.constantFrom<(ManagerFault | undefined)[]>(
    undefined,
    'hang',
    'break',
    'lose',
    'lie',
    'throttle',
    'fail',
    'garbage',
    'otherPool',
  )

  it('gets exactly one pool of the wanted size in the end, and keeps none that is not wanted', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(faults, { maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (misbehaviour, sizes, isHosted) => {
          const target = new MisbehavingClusterManager()
          target.isHosted = isHosted
          target.faults.push(...misbehaviour)
          const attempt = async (replicas: number): Promise<boolean> => {
            try {
              const provider = await ocmPools(options(inProcess(target), { clusterId: target.clusterId }))
              await ensurePool(provider, { ...wanted, replicas })
              return true
            } catch {
              return false
            }
          }
          for (const size of sizes) await attempt(size)
          const last = sizes.at(-1)!
          // Each attempt is a reconcile; a lie is found out by the next one.
          for (let each = 0; each < misbehaviour.length + 2; each++) await attempt(last)
          expect([...target.pools.values()].map(({ id, replicas }) => [id, replicas])).toEqual(
            last === 0 ? [] : [[wanted.id, last]],
          )
        },
      ),
    )
  })

  it('is asked again when it says so, and not much later', async () => {
    const provider = await ocmPools(options(overHttp()))
    for (const [text, afterMs] of [
      ['7', 7000],
      ['99999999', 600_000],
      ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ] as const) {
      manager.retryAfter = text
      manager.faults.push('throttle')
      await expect(provider.find('a')).rejects.toMatchObject({ reason: 'Throttled', retry: 'transient', afterMs })
    }
    manager.retryAfter = 'soon'
    manager.faults.push('throttle')
    await expect(provider.find('a')).rejects.toMatchObject({ reason: 'Throttled', afterMs: undefined })
  })

  it('cannot hold the reconcile, nor pass off its pages as pools', async () => {
    const clock = virtualClock()
    const live = createLive({ client, clock })
    const provider = await ocmPools(options((call) => live.http(call)))
    manager.faults.push('hang')
    const hanging = provider.find('a').catch((error: unknown) => error)
    await vi.waitUntil(() => manager.faults.length === 0)
    await clock.advance(5000)
    expect(await hanging).toMatchObject({ name: 'Unreachable' })
    manager.faults.push('break')
    await expect(provider.find('a')).rejects.toMatchObject({ name: 'Unreachable' })
    for (const fault of ['garbage', 'otherPool', 'lie'] as const) {
      manager.faults.push(fault)
      await expect(provider.find('a')).rejects.toMatchObject({ reason: 'UnexpectedAnswer', retry: 'transient' })
    }
    manager.faults.push('fail')
    await expect(provider.find('a')).rejects.toMatchObject({ reason: 'ManagerFailed', retry: 'transient' })
  })

  it('sees no token in an error, and a refused one is an error that names the Secret', async () => {
    manager.refreshToken = 'another'
    const failure = await ocmPools(options(overHttp())).catch((error: unknown) => error)
    expect(failure).toMatchObject({ reason: 'TokenRefused', retry: 'terminal' })
    expect(String(failure)).toContain('instascale.ocmSecretRef')
    expect(String(failure)).not.toContain('offline-token')
  })

  it('says why it refuses a pool, which another attempt does not change', async () => {
    manager.shortages.set('g4dn.xlarge', 'quota exceeded\u001b[31m')
    const provider = await ocmPools(options(overHttp()))
    await expect(ensurePool(provider, wanted)).rejects.toMatchObject({
      reason: 'PoolRefused',
      retry: 'terminal',
      message: 'The cluster manager answers 400 for pool train-1a2b3c: quota exceeded [31m.',
    })
  })

  it('does not take over a pool of another type', async () => {
    const provider = await ocmPools(options(overHttp()))
    await ensurePool(provider, wanted)
    await expect(ensurePool(provider, { ...wanted, instanceType: 'm5.xlarge' })).rejects.toMatchObject({
      reason: 'PoolTaken',
    })
  })
})
