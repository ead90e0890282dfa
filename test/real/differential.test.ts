/**
 * The embedded server and the real one are sent the same requests, by chance but always the same, and must answer alike.
 * See differential/README.md; MUSTER_DIFFERENTIAL=SEED:REQUESTS hunts elsewhere, or longer.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from './cluster.ts'
import { hunt } from './differential/hunt.ts'

const [seed = 6, requests = 10_000] = (process.env['MUSTER_DIFFERENTIAL'] ?? '').split(':').filter(Boolean).map(Number)

describe('the embedded server and the real one', () => {
  let cluster: Cluster
  // A server of its own: what other suites make the default for all would be seen here.
  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(async () => {
    await cluster.stop()
  })

  it(`answer ${requests} requests identically`, { timeout: 100 * requests }, async () => {
    const { requests: sent, differences } = await hunt(cluster.access, { seed, requests })
    expect(differences.join('\n\n')).toBe('')
    expect(sent).toBeGreaterThanOrEqual(requests)
  })
})
