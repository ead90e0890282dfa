import { afterEach, describe, expect, it } from 'vitest'
import type { FeedReport } from '../cache/shared-cache.ts'
import { Secret } from '../operator/kinds.ts'
import { type HealthInput, healthReport } from './health.ts'
import { startStatusServer, type StatusServer } from './status-server.ts'

const feed = (freshness: FeedReport['freshness']): FeedReport => ({
  resource: Secret,
  freshness,
  watches: 1,
  cover: 'all',
  objects: 0,
  bytes: 0,
  consumers: [],
})
const calm: HealthInput = { now: 1_000_000, feeds: [feed({ state: 'synced', since: 0 })], runs: [], turnAt: 999_999 }

describe('health', () => {
  it('is good while what is read is fresh and what runs ends', () => {
    expect(healthReport(calm)).toEqual({ isAlive: true, isReady: true, problems: [] })
    expect(healthReport({ ...calm, runs: [{ operator: 'a', key: 'k', since: 950_000 }] }).isReady).toBe(true)
    expect(healthReport({ ...calm, feeds: [feed({ state: 'stale', since: 990_000 })] }).isReady).toBe(true)
  })

  it('is not, with the reason, when a cache is empty or stale for long, a run is stuck, or the loop is held', () => {
    const report = (more: Partial<HealthInput>): readonly string[] => healthReport({ ...calm, ...more }).problems
    expect(report({ feeds: [feed({ state: 'stale', since: 0, reason: 'no answer' })] })).toEqual([
      'secrets/v1 is stale for 1000 s: no answer',
    ])
    expect(report({ feeds: [feed({ state: 'syncing', since: 999_000 })] })).toEqual(['secrets/v1 is syncing for 1 s'])
    expect(report({ runs: [{ operator: 'a', key: 'default/k', since: 0 }] })).toEqual([
      'a has been at default/k for 1000 s',
    ])
    expect(healthReport({ ...calm, turnAt: 0 })).toMatchObject({ isAlive: false, isReady: false })
  })
})

describe('the status server', () => {
  let server: StatusServer | undefined
  afterEach(() => server?.close())

  it('answers what it is asked, changes nothing, and says what there is', async () => {
    let report = healthReport(calm)
    server = await startStatusServer({ port: 0, health: () => report, metrics: () => 'a 1\n' })
    const ask = async (path: string, method = 'GET'): Promise<readonly [number, string]> => {
      const response = await fetch(`${server!.url}${path}`, { method })
      return [response.status, (await response.text()).trimEnd()]
    }
    expect(await ask('/readyz')).toEqual([200, 'ok'])
    report = healthReport({ ...calm, runs: [{ operator: 'a', key: 'k', since: 0 }] })
    expect(await ask('/readyz')).toEqual([503, 'a has been at k for 1000 s'])
    expect(await ask('/livez')).toEqual([200, 'ok'])
    expect(await ask('/metrics')).toEqual([200, 'a 1'])
    expect((await ask('/'))[0]).toBe(404)
    expect(await ask('/readyz', 'POST')).toEqual([405, 'only GET'])
  })
})
