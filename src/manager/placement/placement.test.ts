import { afterEach, describe, expect, it } from 'vitest'
import { app, App, appOperator, type AppController } from '../../../test/app-operator.ts'
import { crds, namespaces } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import type { Client } from '../../client/client.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { exactly, referenced } from '../../operator/view/input.ts'
import { ConfigMap, Secret, Service } from '../../kube/kinds.ts'
import { inRole } from '../../operator/placement-role.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import { type OperatorHost, hostOperator } from '../hosting/host.ts'
import { actingAs, impersonationOf } from '../run/identity.ts'
import { actingOn, type Cluster, mapNames } from './cluster.ts'
import { nameMap } from './name-map.ts'
import { place, type Placement, standalone } from './placement.ts'

const config = defineDependent({ for: App, kind: ConfigMap, fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }) })
const secret = defineDependent({
  for: App,
  kind: inRole(Secret, 'management'),
  fromCR: ({ cr }) => ({ data: { text: btoa(cr.spec.text) } }),
})
const service = defineDependent({
  for: App,
  kind: inRole(Service, 'userWorkload'),
  initial: { spec: { ports: [{ port: 80 }] } },
})
const spread: AppController = { dependents: [config, secret, service] }

let clock: VirtualClock
let host: OperatorHost | undefined
afterEach(async () => {
  void host?.stop()
  await clock.settle()
})

function cluster(name: string): Cluster {
  const random = seededRandom(name.length)
  const server = createApiServer({ clock, random: seededRandom(name.length + 20) })
  const client = createClient({ transport: inProcessTransport(server), clock, random })
  return { name, client, cache: createSharedCache({ client, clock, random }) }
}

async function run(
  options: AppController,
  placement: Placement,
  installing: Client = placement.configuration.client,
): Promise<void> {
  const operator = appOperator(options)
  await installing.create(crds, App.crd() as unknown as UntypedObject)
  await clock.settle()
  const { client, cache } = place(operator, placement)
  host = hostOperator({ operator, client, cache, clock })
  let isStarted = false
  const starting = host.start().then(() => (isStarted = true))
  await clock.until(() => isStarted)
  await starting
}

const held = async (client: Client): Promise<readonly string[]> => {
  const lists = await Promise.all(
    [ConfigMap, Secret, Service].map((kind) => client.list(kind as Resource, { namespace: 'default' })),
  )
  return lists.flatMap(({ items }) => items.filter(({ metadata }) => metadata.name === 'a').map(({ kind }) => kind))
}

describe('a placement', () => {
  it('reads and writes each kind in the cluster of its role, and cleans up everywhere', async () => {
    clock = virtualClock()
    const [configuration, management, userWorkload] = ['c', 'mm', 'uuu'].map(cluster) as [Cluster, Cluster, Cluster]
    await run(spread, { configuration, management, userWorkload })
    await configuration.client.create(App, app('a'))
    await clock.advance(5000)
    expect(await held(configuration.client)).toEqual(['ConfigMap'])
    expect(await held(management.client)).toEqual(['Secret'])
    expect(await held(userWorkload.client)).toEqual(['Service'])
    // What drifts there is seen there.
    const name = { namespace: 'default', name: 'a' }
    await management.client.patch(Secret, name, { data: { text: btoa('wrong') } }, { type: 'merge' })
    await clock.advance(5000)
    expect(await management.client.get(Secret, name)).toMatchObject({ data: { text: btoa('hello') } })
    await configuration.client.delete(App, name)
    await clock.advance(5000)
    for (const { client } of [configuration, management, userWorkload]) expect(await held(client)).toEqual([])
  })

  it('is one cluster in the standalone case', async () => {
    clock = virtualClock()
    const one = cluster('one')
    expect(place(appOperator(spread), standalone(one))).toBe(one)
    await run(spread, standalone(one))
    await one.client.create(App, app('a'))
    await clock.advance(5000)
    expect(await held(one.client)).toEqual(['ConfigMap', 'Secret', 'Service'])
  })

  it('writes in each cluster with the identity for that cluster', async () => {
    clock = virtualClock()
    const [configuration, other] = ['c', 'mm'].map(cluster) as [Cluster, Cluster]
    const transport = actingAs(other.client.transport, impersonationOf({ namespace: 'default', name: 'nobody' }))
    const management = actingOn(other, createClient({ transport, clock, random: seededRandom(5) }))
    const spoken = { ...spread, dependents: [config, secret] }
    await run(spoken, { configuration, management, userWorkload: configuration })
    await configuration.client.create(App, app('a'))
    await clock.advance(1000)
    expect(await held(configuration.client)).toEqual(['ConfigMap'])
    expect(await configuration.client.get(App, { namespace: 'default', name: 'a' })).toMatchObject({
      status: { conditions: [{ type: 'Reconciled', reason: 'Forbidden' }, { type: 'Ready' }, { type: 'Stalled' }] },
    })
  })

  it('maps exact names and references, and rejects references outside the map', async () => {
    clock = virtualClock()
    const real = cluster('c')
    const names = nameMap({ name: 'h', rules: [{ operator: 'default/*', cluster: 'hosted/d-*' }] })
    const reads = [
      exactly(ConfigMap, { name: 'fixed', namespace: 'default' }),
      referenced(Secret, { from: App, namePath: '$.spec.text', namespacePath: '$.spec.parts.ns' }),
    ]
    const see: AppController = {
      reads,
      status: ({ cr, view }) => ({
        seen: `${view.get(ConfigMap, { name: 'fixed', namespace: 'default' })?.data?.['x'] ?? '-'}${view.list(Secret).length}${cr.spec.text}`,
      }),
    }
    await real.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hosted' } })
    const data = { value: btoa('x') }
    for (const name of ['d-s', 'd-t', 'other']) {
      await real.client.create(Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: 'hosted' },
        data,
      })
    }
    const metadata = { name: 'd-fixed', namespace: 'hosted' }
    await real.client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x: 'X' } })
    await run(see, standalone(mapNames(real, names)), real.client)
    const at = (name: string, text: string, ns: string): UntypedObject =>
      app(name, { text, parts: { ns } }, { namespace: 'hosted' })
    await real.client.create(App, at('d-a', 's', 'default'))
    await clock.advance(5000)
    const seen = async (name: string): Promise<string | undefined> =>
      (await real.client.get<ObjectOf<typeof App>>(App, { name, namespace: 'hosted' })).status?.seen
    expect(await seen('d-a')).toBe('X1s')
    expect(real.cache.report().find(({ resource }) => resource.plural === 'secrets')?.cover).toContain(
      'metadata.name=d-s',
    )
    await real.client.create(App, at('d-b', 's', 'kube-system'))
    await clock.advance(5000)
    expect(await seen('d-b')).toBe('X1s')
  })

  it('rejects a kind in two roles', () => {
    clock = virtualClock()
    const [configuration, management] = ['c', 'mm'].map(cluster) as [Cluster, Cluster]
    const placement: Placement = { configuration, management, userWorkload: management }
    const twice = appOperator({ dependents: [config], reads: [inRole(ConfigMap, 'management')] })
    expect(() => place(twice, placement)).toThrow('kit has configmaps/v1 in two roles, configuration and management')
    expect(place(appOperator({ dependents: [config] }), placement)).not.toBe(configuration)
  })
})
