/** The same operator, unchanged, for hosted clusters: under other names in one management cluster. */
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Memcached, operator as memcached } from './operator.ts'
import { crds, deployments } from '../../test/embedded.ts'
import { createSharedCache } from '../../src/cache/shared-cache.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { inProcessTransport } from '../../src/client/in-process.ts'
import type { Transport } from '../../src/transport/transport.ts'
import { createApiServer } from '../../src/apiserver/server/api-server.ts'
import { seededRandom } from '../../src/clock/random.ts'
import { type VirtualClock, virtualClock } from '../../src/clock/virtual-clock.ts'
import { clientErrors } from '../../src/client/errors.ts'
import { isMusterError } from '../../src/kube/muster-error.ts'
import type { Resource } from '../../src/kube/kind.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { ConfigMap, Deployment, Namespace } from '../../src/kube/kinds.ts'
import type { Ledger } from '../../src/operator/ledger.ts'
import type { Operator } from '../../src/operator/operator.ts'
import { hostOperator } from '../../src/manager/hosting/host.ts'
import { type Cluster, mapNames } from '../../src/manager/placement/cluster.ts'
import { type NameMap, nameMap, checkApart } from '../../src/manager/placement/name-map.ts'

interface Management {
  readonly clock: VirtualClock
  /** A user with kubectl. */
  readonly person: Client
  /** A cluster for one host, and its writes. */
  connect(): { readonly cluster: Cluster; readonly writes: readonly string[] }
}

async function management(...namespaces: readonly string[]): Promise<Management> {
  const clock = virtualClock()
  const server = createApiServer({ clock, random: seededRandom(11) })
  const random = seededRandom(2)
  const person = createClient({ transport: inProcessTransport(server), clock, random })
  await person.create(crds, Memcached.crd())
  for (const name of namespaces) {
    await person.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
  await clock.settle()
  return {
    clock,
    person,
    connect() {
      const writes: string[] = []
      const inner = inProcessTransport(server)
      const transport: Transport = {
        ...inner,
        send(request) {
          if (request.method !== 'GET') writes.push(request.path.replace(/\?.*/, ''))
          return inner.send(request)
        },
      }
      const client = createClient({ transport, clock, random: seededRandom(3) })
      return {
        cluster: { name: 'm', client, cache: createSharedCache({ client, clock, random: seededRandom(4) }) },
        writes,
      }
    },
  }
}

async function run(at: Management, cluster: Cluster, operator: Operator = memcached): Promise<Ledger[]> {
  const { clock } = at
  const ledgers: Ledger[] = []
  const { client, cache } = cluster
  const host = hostOperator({ operator, client, cache, clock, onLedger: (ledger) => void ledgers.push(ledger) })
  let isStarted = false
  const starting = host.start().then(() => (isStarted = true))
  await clock.until(() => isStarted)
  await starting
  onTestFinished(async () => {
    void host.stop()
    await clock.settle()
  })
  return ledgers
}

const cr = (namespace: string, name: string, spec: object = {}): UntypedObject => ({
  apiVersion: 'cache.example.com/v1alpha1',
  kind: 'Memcached',
  metadata: { namespace, name },
  spec,
})

const hosted = (name: string): NameMap =>
  nameMap({
    name,
    rules: [
      { operator: 'default/special', cluster: `hosted-${name}/chosen` },
      { operator: 'default/*', cluster: `hosted-${name}/d-*` },
      { operator: 'other/*', cluster: `hosted-${name}/o-*` },
    ],
  })

type Step =
  | { readonly what: 'ask'; readonly name: string; readonly size: number; readonly passwordFrom?: string | undefined }
  | { readonly what: 'drop' | 'break'; readonly name: string }

const names = fc.constantFrom('a', 'b', 'special')
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({
      what: fc.constant('ask' as const),
      name: names,
      size: fc.integer({ min: 0, max: 5 }),
      passwordFrom: fc.constantFrom(undefined, undefined, 'pw'),
    }),
    fc.record({ what: fc.constantFrom('drop' as const, 'break' as const), name: names }),
  ),
  { minLength: 1, maxLength: 6 },
)

/** What an operator does about these, where its objects are called as `to` says. */
async function live(
  happening: readonly Step[],
  to: (name: string) => { readonly namespace: string; readonly name: string },
  over: (cluster: Cluster) => Cluster,
): Promise<readonly Ledger[]> {
  const at = await management('hosted-a')
  const ledgers = await run(at, over(at.connect().cluster))
  const ignore = (error: unknown): void => {
    if (!isMusterError(error, clientErrors.NotFound)) throw error
  }
  for (const step of happening) {
    const ref = to(step.name)
    if (step.what === 'ask') {
      const { size, passwordFrom } = step
      const wanted = cr(ref.namespace, ref.name, { size, ...(passwordFrom && { passwordFrom }) })
      await at.person.apply(Memcached, wanted, { fieldManager: 'person', force: true })
    } else if (step.what === 'drop') await at.person.delete(Memcached, ref).catch(ignore)
    else await at.person.patch(deployments, ref, { spec: { replicas: 9 } }, { type: 'merge' }).catch(ignore)
    await at.clock.advance(5000)
  }
  return ledgers
}

describe('an operator with mapped names', () => {
  it('has the same ledgers as without a name map', async () => {
    const map = hosted('a')
    const stored = (name: string) =>
      map.toCluster(Memcached, { namespace: 'default', name }) as { namespace: string; name: string }
    await fc.assert(
      fc.asyncProperty(steps, async (happening) => {
        const plain = await live(
          happening,
          (name) => ({ namespace: 'default', name }),
          (cluster) => cluster,
        )
        const mapped = await live(happening, stored, (cluster) => mapNames(cluster, map))
        expect(mapped).toEqual(plain)
      }),
      { numRuns: 8 },
    )
  })

  it('has its objects at the mapped names, with mapped owners: the garbage collector keeps and deletes them', async () => {
    const at = await management('hosted-a')
    await run(at, mapNames(at.connect().cluster, hosted('a')))
    await at.person.create(Memcached, cr('hosted-a', 'd-x'))
    await at.clock.advance(120_000)
    const made = await at.person.get(Deployment, { namespace: 'hosted-a', name: 'd-x' })
    expect(made.metadata?.ownerReferences).toMatchObject([{ kind: 'Memcached', name: 'd-x' }])
    // Names inside the spec belong to the author and are not mapped.
    expect(made.spec?.template.spec?.containers[0]?.envFrom).toEqual([{ configMapRef: { name: 'x' } }])
    await at.person.delete(Memcached, { namespace: 'hosted-a', name: 'd-x' })
    await at.clock.advance(120_000)
    expect((await at.person.list(Deployment as Resource)).items).toEqual([])
  })

  it('records Events beside the object that they regard', async () => {
    const at = await management('hosted-a')
    await run(at, mapNames(at.connect().cluster, hosted('a')))
    await at.person.create(Memcached, cr('hosted-a', 'd-x'))
    await at.clock.advance(5000)
    const events: Resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
    const { items } = await at.person.list(events, { namespace: 'hosted-a' })
    expect(items.map(({ reason }) => reason)).toEqual(['Created', 'Created'])
    expect(items[0]).toMatchObject({ involvedObject: { namespace: 'hosted-a', name: 'd-x' } })
  })

  it('may neither read nor write a name outside the map', async () => {
    const at = await management('hosted-a')
    const { client, cache } = mapNames(at.connect().cluster, hosted('a'))
    const subscription = cache.subscribe(ConfigMap, { consumer: 'test' })
    await at.clock.settle()
    const outside = { namespace: 'kube-system', name: 'x' }
    expect(() => subscription.get(outside)).toThrow('Name map a has no rule for ConfigMap kube-system/x.')
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: outside }
    const writer = cache.writer('test')
    const writes = [
      () => writer.apply(ConfigMap, object, { fieldManager: 'x' }),
      () => writer.delete(ConfigMap, outside),
      () => client.create(ConfigMap, object),
      () => client.delete(crds, { name: Memcached.crd().metadata.name ?? '' }),
      () => client.request({ method: 'DELETE', path: '/api/v1/namespaces/hosted-a' }),
    ]
    for (const write of writes) await expect((async () => await write())()).rejects.toThrow('Name map a')
  })
})

describe('two hosted clusters on one management cluster', () => {
  it('never touch each other’s objects, nor receive each other’s events', async () => {
    const at = await management('hosted-a', 'hosted-b')
    const maps = [hosted('a'), hosted('b')]
    checkApart(maps)
    const { cluster } = at.connect()
    const sides = await Promise.all(
      maps.map(async (map) => {
        const own = at.connect()
        // One cache for both; each has a client of its own, so that their writes can be distinguished.
        const mine: Cluster = {
          ...cluster,
          client: own.cluster.client,
          cache: { ...cluster.cache, writer: (consumer) => cluster.cache.writer(consumer, own.cluster.client) },
        }
        return { ledgers: await run(at, mapNames(mine, map)), writes: own.writes }
      }),
    )
    for (const host of ['a', 'b']) {
      for (const name of ['d-x', 'o-x', 'chosen']) await at.person.create(Memcached, cr(`hosted-${host}`, name))
    }
    await at.clock.advance(10_000)
    const [a, b] = sides
    expect(a!.ledgers).toEqual(b!.ledgers)
    expect(new Set(a!.ledgers.map(({ key }) => key))).toEqual(new Set(['default/x', 'other/x', 'default/special']))
    for (const [index, { writes }] of sides.entries()) {
      const elsewhere = writes.filter((path) => !path.includes(`/namespaces/hosted-${'ab'[index]}/`))
      expect(elsewhere).toEqual([])
      expect(writes.length).toBeGreaterThan(0)
    }
    const before = [a!.ledgers.length, b!.writes.length]
    await at.person.patch(Memcached, { namespace: 'hosted-a', name: 'd-x' }, { spec: { size: 3 } }, { type: 'merge' })
    await at.clock.advance(10_000)
    expect(a!.ledgers.length).toBeGreaterThan(before[0]!)
    expect(b!.writes.length).toBe(before[1])
    expect(b!.ledgers).toHaveLength(before[0]!)
    // One watch for each mapped namespace, and no other.
    const report = cluster.cache.report().find(({ resource }) => resource.kind === 'ConfigMap')
    expect(report?.consumers.map(({ consumer, objects }) => [consumer, objects])).toEqual([
      ['memcached@a', 3],
      ['memcached@b', 3],
    ])
  })
})
