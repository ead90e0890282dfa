/** Managers on machines that are killed: who takes over what, how soon, and that nothing is written twice. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { crds } from '../../../test/embedded.ts'
import { createMachineRoom, type Machine, type MachineRoom } from '../../../test/failing-machines.ts'
import { type ApiServer, createApiServer } from '../../apiserver/server/api-server.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { Transport } from '../../transport/transport.ts'
import { seededRandom } from '../../clock/random.ts'
import type { Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { readConfiguration } from '../config/configuration.ts'
import { type Runtime, startRuntime } from './runtime.ts'

const Apple = defineKind({
  group: 'orchard.example.com',
  version: 'v1',
  kind: 'Apple',
  spec: { size: integer({ default: 1 }) },
})
const config = defineDependent({
  for: Apple,
  kind: ConfigMap,
  name: ({ cr }) => `${cr.metadata.name}-child`,
  fromCR: ({ cr }) => ({ data: { size: String(cr.spec.size) } }),
})
const apple = defineOperator({ name: 'apple', controllers: [defineController({ for: Apple, dependents: [config] })] })

/** The longest way of anything between a machine and the server at home (`machines.ts`); elsewhere it takes no time. */
const travelMs = 20
const leaseMs = 15_000
const retryMs = 2_000

interface Replica {
  readonly name: string
  readonly machine: Machine
  readonly runtime: Runtime
}

interface Far {
  readonly server: ApiServer
  /** Of a person there. */
  readonly client: Client
}

let world: MachineRoom
let replicas: Replica[]
/** Clusters beside the one at home. */
let far: Map<string, Far>
/** What replicas sent to them: `replica METHOD cluster/path`. */
let sentFar: string[]
beforeEach(async () => {
  world = createMachineRoom()
  replicas = []
  far = new Map()
  sentFar = []
  await world.client.create(crds, Apple.crd() as unknown as UntypedObject)
})
afterEach(() => world.close())

async function openFar(name: string): Promise<void> {
  const server = createApiServer({ clock: world.clock, random: seededRandom(far.size + 50) })
  const client = createClient({ transport: inProcessTransport(server), clock: world.clock, random: seededRandom(9) })
  await client.create(crds, Apple.crd() as unknown as UntypedObject)
  far.set(name, { server, client })
}

function replica(name: string, value: Json): Replica {
  const machine = world.machine()
  const { client, clock, random } = machine
  const through = (cluster: string): Client => {
    const wire = inProcessTransport(far.get(cluster)!.server)
    const transport: Transport = {
      ...wire,
      send(request) {
        // A dead machine sends no request and receives no response.
        if (machine.isDead) return Promise.withResolvers<never>().promise
        sentFar.push(`${name} ${request.method} ${cluster}${request.path}`)
        return wire.send(request)
      },
    }
    return createClient({ transport, clock, random })
  }
  const runtime = startRuntime({
    settings: readConfiguration([{ source: 'test', value }], [apple]).settings,
    identity: name,
    clock,
    random,
    local: { client, as: () => client },
    reach: (cluster) => {
      const reached = through(cluster)
      return Promise.resolve({ client: reached, as: () => reached })
    },
    load: () => Promise.resolve({ operator: apple }),
    log: () => undefined,
  })
  const made = { name, machine, runtime }
  replicas.push(made)
  return made
}

const plant = (client: Client, name: string): Promise<unknown> =>
  client.create(Apple, Apple.draft({ name, namespace: 'default' }, {}) as unknown as UntypedObject)

const isChild = (path: string): boolean => path.includes('/configmaps/')
const lastRenewal = ({ machine }: Replica): number => machine.sent.findLast(({ method }) => method === 'PUT')!.at

describe('a killed leader', () => {
  it.each([0, 600, 1_200, 1_800])(
    'is replaced with warm caches: the first write leaves within a retry period after its lease expires (%d ms)',
    async (ms) => {
      const electing = { leaderElection: { leaderElect: true } }
      const first = replica('first', electing)
      await world.clock.until(() => first.runtime.isLeader)
      const second = replica('second', electing)
      await world.clock.advance(5_000 + ms)
      first.machine.kill()
      const renewed = lastRenewal(first)
      const begun = second.machine.sent.length
      await plant(world.client, 'one')
      const sent = (): Machine['sent'] => second.machine.sent.slice(begun)
      await world.clock.until(() => sent().some(({ path }) => isChild(path)))
      const write = sent().find(({ path }) => isChild(path))!
      // The first look that must have met the renewal, and the moment at which its answer was there.
      const looks = second.machine.sent.filter(({ method, path }) => method === 'GET' && path.includes('/leases/'))
      const seen = looks.find(({ at }) => at >= renewed + travelMs)!.at + 2 * travelMs
      expect(write.at).toBeGreaterThanOrEqual(renewed + leaseMs)
      expect(write.at - (seen + leaseMs)).toBeLessThanOrEqual(retryMs)
      // It had everything: nothing but the lease was read on the way.
      expect(sent().filter(({ method, path }) => method === 'GET' && !path.includes('/leases/'))).toEqual([])
    },
  )
})

describe('an operator on several clusters, with sharding', () => {
  const clusters = ['local', 'north', 'east', 'south', 'west']
  const ids = clusters.map((cluster) => `apple@${cluster}`)
  const sharing: Json = {
    sharding: { enabled: true },
    clusters: Object.fromEntries(clusters.slice(1).map((cluster) => [cluster, { inCluster: true }])),
    operators: { apple: { clusters } },
  }

  const living = (): readonly Replica[] => replicas.filter(({ machine }) => !machine.isDead)
  const hosts = (id: string): readonly Replica[] => living().filter(({ runtime }) => runtime.manager.lanes().has(id))
  const isSpread = (): boolean => ids.every((id) => hosts(id).length === 1)
  /** The clusters that it works. */
  const share = (one: Replica): readonly string[] => clusters.filter((cluster) => hosts(`apple@${cluster}`)[0] === one)
  const clientOf = (cluster: string): Client => far.get(cluster)?.client ?? world.client

  const plantEverywhere = async (name: string): Promise<void> => {
    for (const cluster of clusters) await plant(clientOf(cluster), name)
  }
  /** Requests for the child of that name, everywhere: `cluster by replica`. */
  const requestsFor = (name: string): readonly string[] => {
    const end = new RegExp(`/configmaps/${name}-child(?:\\?|$)`)
    const home = replicas.flatMap((one) =>
      one.machine.sent
        .filter(({ method, path }) => method !== 'GET' && end.test(path))
        .map(() => `local by ${one.name}`),
    )
    const away = sentFar
      .filter((line) => !line.includes(' GET ') && end.test(line))
      .map((line) => `${/ \w+ (\w+)\//.exec(line)![1]!} by ${line.split(' ', 1)[0]!}`)
    return [...home, ...away].toSorted()
  }
  const written = async (name: string): Promise<readonly string[]> => {
    const found: string[] = []
    for (const cluster of clusters) {
      const { items } = await clientOf(cluster).list(ConfigMap, { namespace: 'default' })
      if (items.some(({ metadata }) => metadata.name === `${name}-child`)) found.push(cluster)
    }
    return found
  }

  it('is owned by one replica at each, moves a cluster at a time, and never writes twice', async () => {
    for (const cluster of clusters.slice(1)) await openFar(cluster)
    world.onStep = () => {
      for (const id of ids)
        if (hosts(id).length > 1)
          throw new Error(
            `${id} is hosted by ${hosts(id)
              .map(({ name }) => name)
              .join()}`,
          )
    }
    const [a, b] = [replica('a', sharing), replica('b', sharing)]
    await world.clock.until(() => isSpread() && share(a).length > 0 && share(b).length > 0, 30_000)
    const [ofA, ofB] = [share(a), share(b)]
    expect([...ofA, ...ofB].toSorted()).toEqual(clusters.toSorted())
    await plantEverywhere('one')
    await world.clock.advance(1_000)
    const eachBy = (shares: readonly (readonly [Replica, readonly string[]])[]): readonly string[] =>
      shares.flatMap(([{ name }, its]) => its.map((cluster) => `${cluster} by ${name}`)).toSorted()
    expect(requestsFor('one')).toEqual(
      eachBy([
        [a, ofA],
        [b, ofB],
      ]),
    )

    a.machine.kill()
    const renewed = lastRenewal(a)
    await plantEverywhere('two')
    await world.clock.advance(1_000)
    // Replica b continues on its clusters, and no replica writes to those of the dead one yet.
    expect((await written('two')).toSorted()).toEqual(ofB.toSorted())
    await world.clock.until(isSpread)
    expect(world.clock.now() - renewed).toBeGreaterThanOrEqual(leaseMs)
    expect(world.clock.now() - renewed).toBeLessThanOrEqual(leaseMs + 10 * travelMs)
    await world.clock.advance(1_000)
    expect(await written('two')).toEqual(clusters)
    expect(requestsFor('two')).toEqual(eachBy([[b, clusters]]))
    // What the dead one had done is not done again.
    expect(requestsFor('one')).toEqual(
      eachBy([
        [a, ofA],
        [b, ofB],
      ]),
    )

    const c = replica('c', sharing)
    await world.clock.until(() => isSpread() && share(c).length > 0, 30_000)
    const [keptByB, ofC] = [share(b), share(c)]
    await plantEverywhere('three')
    await world.clock.advance(1_000)
    expect(requestsFor('three')).toEqual(
      eachBy([
        [b, keptByB],
        [c, ofC],
      ]),
    )
    expect(requestsFor('two')).toEqual(eachBy([[b, clusters]]))
  })
})
