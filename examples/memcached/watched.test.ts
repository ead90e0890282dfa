/** Least privilege: in a cluster full of unrelated objects, only those of the operator are watched and held. */
import { createApiServer } from '@muster-dev/muster/apiserver'
import { createSharedCache } from '@muster-dev/muster/cache'
import { createClient, inProcessTransport } from '@muster-dev/muster/client'
import { virtualClock } from '@muster-dev/muster/testing'
import { hostOperator } from '@muster-dev/muster/manager'
import { ConfigMap, Deployment, Pod, Secret } from '@muster-dev/muster/operator'
import { expect, it } from 'vitest'
import { simulatedWorkloads } from '../../src/apiserver/simulated/simulation.ts'
import { seededRandom } from '../../src/clock/random.ts'
import { crds } from '../../test/embedded.ts'
import { Memcached, operator } from './operator.ts'

it('the caches of memcached hold none of a thousand unrelated objects', async () => {
  const clock = virtualClock()
  const random = seededRandom(1)
  const server = createApiServer({ clock, random, workloads: simulatedWorkloads() })
  const client = createClient({ transport: inProcessTransport(server), clock, random })
  await client.create(crds, Memcached.crd())
  await clock.settle()
  const containers = [{ name: 'web', image: 'nginx' }]
  for (let index = 0; index < 250; index++) {
    const metadata = { name: `unrelated-${index}`, namespace: 'default', labels: { app: 'web' } }
    await client.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } })
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'eA==' } })
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } })
    const selector = { matchLabels: { app: `web-${index}` } }
    const template = { metadata: { labels: selector.matchLabels }, spec: { containers } }
    const spec = { replicas: 0, selector, template }
    await client.create(Deployment, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec })
  }
  const cr = Memcached.draft({ name: 'a', namespace: 'default' }, { size: 3, passwordFrom: 'unrelated-7' })
  await client.create(Memcached, cr)

  const cache = createSharedCache({ client, clock, random })
  const host = hostOperator({ operator, client, cache, clock })
  const started = host.start()
  await clock.advance(60_000)
  await started

  const held = Object.fromEntries(cache.report().map(({ resource, objects }) => [resource.plural, objects]))
  expect(held).toMatchObject({ memcacheds: 1, pods: 3, secrets: 2, configmaps: 1, deployments: 1 })
  const [memcached] = (await client.list(Memcached)).items
  expect(memcached?.status).toMatchObject({ nodes: { length: 3 } })
  const stopping = host.stop()
  await clock.advance(1000)
  await stopping
  cache.close()
})
