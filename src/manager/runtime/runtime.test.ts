import { describe, expect, it } from 'vitest'
import { crds, embedded, type Embedded } from '../../../test/embedded.ts'
import { type Clock, sleepOn } from '../../clock/clock.ts'
import { seededRandom } from '../../clock/random.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import type { Transport } from '../../transport/transport.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { roleOf } from '../../operator/role.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { defineWebhook } from '../../operator/kind/webhook.ts'
import { readConfiguration } from '../config/configuration.ts'
import type { Settings } from '../config/settings.ts'
import { withCredentials } from '../run/identity.ts'
import type { Reached } from './clusters.ts'
import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts'

type Own = Operator & { readonly own: Kind }

/** A ConfigMap for each CR. */
function small(name: string): Own {
  const own = defineKind({
    group: 'runtime.example.com',
    version: 'v1',
    kind: `${name[0]!.toUpperCase()}${name.slice(1)}`,
    spec: { size: integer({ default: 1 }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => `${cr.metadata.name}-${name}`,
    fromCR: ({ cr }) => ({ data: { size: String(cr.spec.size) } }),
  })
  return { ...defineOperator({ name, controllers: [defineController({ for: own, dependents: [config] })] }), own }
}

const [apple, berry, cherry] = [small('apple'), small('berry'), small('cherry')]
const all = [apple, berry, cherry]

const settingsOf = (value: Json = {}, operators: readonly Operator[] = all): Settings =>
  readConfiguration([{ source: 'test', value }], operators).settings

function reached(cluster: Embedded, seed = 8): Reached {
  const transport = inProcessTransport(cluster.server)
  const through = (wire: Transport): Client =>
    createClient({ transport: wire, clock: cluster.clock, random: seededRandom(seed) })
  return { client: through(transport), as: (credentials) => through(withCredentials(transport, credentials)) }
}

interface Scene {
  readonly home: Embedded
  readonly lines: JsonObject[]
  readonly start: (settings: Settings, options?: Partial<RuntimeOptions>) => Runtime
  /** In virtual time. */
  readonly until: <T>(promise: Promise<T>) => Promise<T>
  readonly advance: (ms: number) => Promise<void>
  readonly create: (operator: Own, name?: string, namespace?: string) => Promise<void>
  /** The ConfigMaps that operators made, as `namespace/name=size`. */
  readonly made: (cluster?: Embedded) => Promise<readonly string[]>
}

async function open(): Promise<Scene> {
  const home = embedded()
  for (const { own } of all) await home.client.create(crds, own.crd() as unknown as UntypedObject)
  const lines: JsonObject[] = []
  let seed = 20
  return {
    home,
    lines,
    start: (settings, options = {}) =>
      startRuntime({
        settings,
        identity: `replica-${seed}`,
        clock: home.clock,
        random: seededRandom(seed),
        local: reached(home, seed++),
        reach: (name) => Promise.reject(new Error(`nobody knows ${name}`)),
        load: (name) => Promise.resolve({ operator: all.find((operator) => operator.name === name)! }),
        log: (line) => void lines.push(line),
        ...options,
      }),
    until: async (promise) => {
      let isDone = false
      promise.finally(() => (isDone = true)).catch(() => undefined)
      await home.clock.until(() => isDone)
      return await promise
    },
    advance: (ms) => home.clock.advance(ms),
    create: async ({ own }, name = 'one', namespace = 'default') => {
      await home.client.create(own, own.draft({ name, namespace }, {}) as unknown as UntypedObject)
    },
    made: async (cluster = home) => {
      const { items } = await cluster.client.list(ConfigMap)
      return items
        .filter(({ metadata }) => metadata.ownerReferences?.length)
        .map(({ metadata, data }) => `${metadata.namespace}/${metadata.name}=${data?.['size']}`)
        .toSorted()
    },
  }
}

describe('a runtime', () => {
  it('hosts the operators of its settings, and follows changes while it runs', async () => {
    const { start, until, advance, create, made } = await open()
    for (const operator of all) await create(operator)
    const runtime = start(settingsOf({ operators: { berry: { paused: true }, cherry: { enabled: false } } }))
    await advance(1000)
    expect(await made()).toEqual(['default/one-apple=1'])
    expect(runtime.assignments().map(({ id, state, lane }) => [id, state, lane?.isPaused])).toEqual([
      ['apple', 'active', false],
      ['berry', 'active', true],
    ])
    await until(runtime.reconfigure(settingsOf({ operators: { apple: { enabled: false } } })))
    await advance(1000)
    expect(await made()).toEqual(['default/one-apple=1', 'default/one-berry=1', 'default/one-cherry=1'])
    expect(runtime.assignments().map(({ id }) => id)).toEqual(['berry', 'cherry'])
    await until(runtime.stop())
    await create(cherry, 'late')
    await advance(60_000)
    expect(await made()).not.toContain('default/late-cherry=1')
  })

  it('starts the others when one fails to start, and that one later', async () => {
    const { start, until, advance, create, made, lines } = await open()
    for (const operator of all) await create(operator)
    let isBroken = true
    const runtime = start(settingsOf(), {
      load: (name) =>
        name === 'berry' && isBroken
          ? Promise.reject(new Error('berry does not compile'))
          : Promise.resolve({ operator: all.find((operator) => operator.name === name)! }),
    })
    await advance(1000)
    expect(await made()).toEqual(['default/one-apple=1', 'default/one-cherry=1'])
    expect(lines).toContainEqual({
      level: 'warn',
      msg: 'Operator failed',
      operator: 'berry',
      error: 'berry does not compile',
      retryAfterMs: 1000,
    })
    isBroken = false
    await advance(2000)
    expect(await made()).toHaveLength(3)
    await until(runtime.stop())
  })

  it('works alone when it leads; a standby has its caches filled, and takes over at once', async () => {
    const { start, until, advance, create, made, lines } = await open()
    const election = settingsOf({ leaderElection: { leaderElect: true } })
    const first = start(election)
    await advance(3000)
    const second = start(election)
    await advance(3000)
    expect([first.isLeader, second.isLeader]).toEqual([true, false])
    await create(apple)
    await advance(1000)
    expect(await made()).toEqual(['default/one-apple=1'])
    expect(second.assignments()[0]).toMatchObject({ state: 'active', lane: { isPaused: true } })
    expect(second.clusters.local.cache.report().every(({ freshness }) => freshness.state === 'synced')).toBe(true)
    await until(first.stop())
    await create(apple, 'two')
    await advance(2000)
    expect(second.isLeader).toBe(true)
    expect(await made()).toEqual(['default/one-apple=1', 'default/two-apple=1'])
    expect(lines.filter(({ error }) => error !== undefined)).toEqual([])
    await until(second.stop())
  })

  it('shards: each operator is hosted once, and moves when its replica dies', async () => {
    const { start, until, advance, create, made } = await open()
    const sharing = settingsOf({ sharding: { enabled: true } })
    const replicas = [start(sharing), start(sharing)]
    await advance(40_000)
    const hosted = (): readonly (readonly string[])[] =>
      replicas.map((replica) => [...replica.manager.lanes().keys()].toSorted())
    const [mine = [], others = []] = hosted()
    expect([...mine, ...others].toSorted()).toEqual(['apple', 'berry', 'cherry'])
    expect(replicas[0]!.assignments().filter(({ state }) => state === 'elsewhere')).toHaveLength(others.length)
    for (const operator of all) await create(operator)
    await advance(1000)
    expect(await made()).toHaveLength(3)
    await until(replicas[0]!.stop())
    await advance(20_000)
    expect(hosted()[1]).toEqual(['apple', 'berry', 'cherry'])
    for (const operator of all) await create(operator, 'two')
    await advance(1000)
    expect(await made()).toHaveLength(6)
    await until(replicas[1]!.stop())
  })

  it.each(['inline', 'worker'])(
    'answers webhooks of an operator (%s) on every replica, until it is removed',
    async (isolation) => {
      const { start, until, advance } = await open()
      const wanted = (enabled: boolean): Settings =>
        settingsOf({ sharding: { enabled: true }, operators: { apple: { isolation, enabled } } }, [apple])
      const asked: Operator = defineOperator({
        name: 'apple',
        controllers: apple.controllers,
        webhooks: [defineWebhook({ for: apple.own, validate: () => undefined })],
      })
      const told: string[][] = [[], []]
      /** Of each replica: who works it and who answers for it have the same. */
      const held = [0, 0]
      const replicas = told.map((lines, index) =>
        start(wanted(true), {
          load: () => {
            held[index]!++
            return Promise.resolve({ operator: asked, close: () => Promise.resolve(void held[index]!--) })
          },
          webhooks: {
            set: (name) => void lines.push(`set ${name}`),
            settled: () => Promise.resolve(),
            delete: (name) => Promise.resolve(void lines.push(`delete ${name}`)),
          },
        }),
      )
      await advance(40_000)
      expect(replicas.map(({ manager }) => manager.lanes().size).toSorted((one, other) => one - other)).toEqual([0, 1])
      for (const lines of told) expect(new Set(lines)).toEqual(new Set(['set apple']))
      expect(held).toEqual([1, 1])
      for (const replica of replicas) await until(replica.reconfigure(wanted(false)))
      await advance(1000)
      for (const lines of told) expect(lines.at(-1)).toBe('delete apple')
      expect(held).toEqual([0, 0])
      for (const replica of replicas) await until(replica.stop())
    },
  )

  it.each(['impersonation', 'token'] as const)('writes as the operator’s own account, by %s', async (by) => {
    const { start, until, advance, home, create, made, lines } = await open()
    const account = { namespace: 'default', name: 'apple' }
    const meta = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account }
    await home.client.create(resourceOf('v1', 'ServiceAccount'), meta)
    const identity = { serviceAccount: 'default/apple', by }
    const runtime = start(settingsOf({ operators: { apple: { identity } } }, [apple]))
    await create(apple)
    // Keys of tokens are made outside of virtual time.
    await home.clock.until(() =>
      JSON.stringify(lines).includes('User \\"system:serviceaccount:default:apple\\" cannot'),
    )
    expect(await made()).toEqual([])
    const rbac = 'rbac.authorization.k8s.io/v1'
    const role = roleOf(apple) as unknown as UntypedObject
    await home.client.create(resourceOf(rbac, 'ClusterRole'), { ...role, metadata: { name: 'apple' } })
    await home.client.create(resourceOf(rbac, 'ClusterRoleBinding'), {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'apple' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'apple' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    })
    // Nothing tells that a role was granted: it is looked again from time to time.
    await advance(310_000)
    expect(await made()).toEqual(['default/one-apple=1'])
    await until(runtime.stop())
  })

  it('serves several clusters separately, and waits for an unreachable one', async () => {
    const { start, until, advance, home, create, made } = await open()
    const edge = embedded()
    await edge.client.create(crds, apple.own.crd() as unknown as UntypedObject)
    let isReachable = false
    const runtime = start(
      settingsOf({ clusters: { edge: { inCluster: true } }, operators: { apple: { clusters: ['local', 'edge'] } } }),
      {
        reach: () =>
          isReachable
            ? Promise.resolve(reached({ ...edge, clock: home.clock }))
            : Promise.reject(new Error('no route to edge')),
      },
    )
    await create(apple)
    const far = apple.own.draft({ name: 'far', namespace: 'default' }, {})
    await edge.client.create(apple.own, far as unknown as UntypedObject)
    await advance(1000)
    expect(await made()).toEqual(['default/one-apple=1'])
    expect(runtime.assignments().find(({ id }) => id === 'apple@edge')).toMatchObject({ state: 'failed' })
    isReachable = true
    await advance(5000)
    expect(await made(edge)).toEqual(['default/far-apple=1'])
    await until(runtime.stop())
  })

  it('serves hosted clusters with mapped names, transparently for the operator', async () => {
    const { start, until, advance, home, create, made } = await open()
    for (const name of ['hosted-a', 'hosted-b']) {
      await home.client.create(
        { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      )
    }
    const hosted = (name: string): Json => ({ rules: [{ operator: 'default/*', cluster: `${name}/x-*` }] })
    const runtime = start(
      settingsOf({
        placement: { hosted: { 'hosted-a': hosted('hosted-a'), 'hosted-b': hosted('hosted-b') } },
        operators: {
          apple: { clusters: ['hosted-a', 'hosted-b'] },
          berry: { enabled: false },
          cherry: { enabled: false },
        },
      }),
    )
    await create(apple, 'x-one', 'hosted-a')
    await create(apple, 'x-two', 'hosted-b')
    await create(apple, 'x-nobody', 'default')
    await advance(2000)
    expect(await made()).toEqual(['hosted-a/x-one-apple=1', 'hosted-b/x-two-apple=1'])
    await until(runtime.stop())
  })

  it('is ready, with a warning, while one operator cannot be started and one cluster is unreachable', async () => {
    const { start, until, advance, home, create, made } = await open()
    const edge = embedded()
    const cut: Transport = {
      ...inProcessTransport(edge.server),
      send: () => Promise.reject(new MusterError(clientErrors.Unreachable, 'no route to edge')),
    }
    const client = createClient({ transport: cut, clock: home.clock, random: seededRandom(3) })
    const loading = Promise.withResolvers<void>()
    const runtime = start(
      settingsOf({ clusters: { edge: { inCluster: true } }, operators: { apple: { clusters: ['local', 'edge'] } } }),
      {
        reach: () => Promise.resolve({ client, as: () => client }),
        async load(name) {
          await loading.promise
          if (name === 'berry') throw new Error('berry does not compile')
          return { operator: all.find((operator) => operator.name === name)! }
        },
      },
    )
    await create(apple)
    await advance(1000)
    expect(runtime.health()).toMatchObject({
      isReady: false,
      problems: ['apple@local', 'apple@edge', 'berry', 'cherry'].map((id) => `${id} is being started`),
    })
    loading.resolve()
    await advance(120_000)
    expect(await made()).toEqual(['default/one-apple=1'])
    const { isReady, problems, warnings } = runtime.health()
    expect([isReady, problems]).toEqual([true, []])
    expect(warnings).toEqual([
      'apple@edge cannot be started: no route to edge',
      'berry cannot be started: berry does not compile',
    ])
    await until(runtime.stop())
  })

  it('is not ready while no operator could be started', async () => {
    const { start, until, advance } = await open()
    const runtime = start(settingsOf({}, [apple]), { load: () => Promise.reject(new Error('it does not compile')) })
    await advance(1000)
    expect(runtime.health()).toMatchObject({
      isReady: false,
      problems: ['apple cannot be started: it does not compile'],
    })
    await until(runtime.stop())
  })

  it('starts nothing after its end, and cancels starts in progress', async () => {
    const { start, until, advance, create, made } = await open()
    for (const operator of all) await create(operator)
    let closed = 0
    const loading = Promise.withResolvers<void>()
    const runtime = start(settingsOf(), {
      async load(name) {
        await loading.promise
        return {
          operator: all.find((operator) => operator.name === name)!,
          close: () => Promise.resolve(void closed++),
        }
      },
    })
    await advance(100)
    // stop() and reconfigure() do not wait for a load that never ends.
    await until(runtime.stop())
    await until(runtime.reconfigure(settingsOf({ concurrency: 3 })))
    loading.resolve()
    await advance(60_000)
    expect(await made()).toEqual([])
    expect(closed).toBe(all.length)
  })

  it('reconciles nothing of an operator that is paused while it starts', async () => {
    const { start, until, advance, create, made } = await open()
    await create(apple)
    const loading = Promise.withResolvers<void>()
    let loads = 0
    const runtime = start(settingsOf({}, [apple]), {
      async load() {
        loads++
        await loading.promise
        return { operator: apple }
      },
    })
    await advance(100)
    await until(runtime.reconfigure(settingsOf({ paused: true }, [apple])))
    loading.resolve()
    await advance(10_000)
    expect([loads, await made()]).toEqual([1, []])
    await until(runtime.reconfigure(settingsOf({}, [apple])))
    await advance(1000)
    expect(await made()).toEqual(['default/one-apple=1'])
    await until(runtime.stop())
  })

  it('keeps nothing of earlier settings, however often they change', async () => {
    const { start, until, advance, home } = await open()
    const edge = embedded()
    await edge.client.create(crds, apple.own.crd() as unknown as UntypedObject)
    let pending = 0
    const after: Clock['after'] = (ms, fire) => {
      pending++
      let isOver = false
      const over = (): void => {
        if (!isOver) pending--
        isOver = true
      }
      const timer = home.clock.after(ms, () => {
        over()
        fire()
      })
      return {
        cancel() {
          over()
          timer.cancel()
        },
      }
    }
    const clock: Clock = { now: () => home.clock.now(), after, sleep: (ms, signal) => sleepOn(after, ms, signal) }
    let isOpen = 0
    const told: string[] = []
    const settings = (turn: number): Settings =>
      settingsOf(
        {
          clusters: { edge: { kubeconfig: `/edge-${turn}`, context: 'x' } },
          operators: {
            apple: { clusters: ['edge', ...(turn % 3 === 0 ? ['local'] : [])] },
            berry: { enabled: turn % 2 === 0, gates: { concurrency: 1 + (turn % 4) } },
          },
        },
        [apple, berry],
      )
    const runtime = start(settings(0), {
      clock,
      reach() {
        const { client } = reached({ ...edge, clock: home.clock })
        isOpen++
        const close = async (): Promise<void> => {
          isOpen--
          await client.close()
        }
        return Promise.resolve({ client: { ...client, close }, as: () => client })
      },
      webhooks: {
        set: (name) => void told.push(name),
        settled: () => Promise.resolve(),
        delete: () => Promise.resolve(),
      },
    })
    await advance(5000)
    const [atRest, informers] = [pending, runtime.clusters.reports().flatMap(([, list]) => list).length]
    for (let turn = 1; turn <= 60; turn++) {
      await until(runtime.reconfigure(settings(turn)))
      // Some in the midst of it.
      await advance(turn % 5)
    }
    await advance(5000)
    expect(isOpen).toBe(1)
    expect(runtime.clusters.reports().map(([name]) => name)).toEqual(['local', 'edge'])
    expect(runtime.clusters.reports().flatMap(([, list]) => list)).toHaveLength(informers)
    expect(pending).toBeLessThanOrEqual(atRest)
    await until(runtime.stop())
    await advance(0)
    expect([isOpen, pending]).toEqual([0, 0])
  })

  it('writes with the current connection of the cluster, also with the operator’s own account', async () => {
    const { start, until, advance, home } = await open()
    const [first, second] = [embedded(), embedded()]
    for (const edge of [first, second]) {
      await edge.client.create(crds, apple.own.crd() as unknown as UntypedObject)
      const one = apple.own.draft({ name: 'one', namespace: 'default' }, {})
      await edge.client.create(apple.own, one as unknown as UntypedObject)
    }
    const asked: string[] = []
    const to = (name: string, edge: Embedded): Reached => {
      const wire = inProcessTransport(edge.server)
      const transport: Transport = {
        ...wire,
        send(request) {
          const as = request.headers?.['impersonate-user'] ?? 'the manager'
          if (request.method !== 'GET') asked.push(`${name} as ${String(as)}`)
          return wire.send(request)
        },
      }
      const client = createClient({ transport, clock: home.clock, random: seededRandom(3) })
      return { client, as: () => client }
    }
    const settings = (kubeconfig: string): Settings =>
      settingsOf(
        {
          clusters: { edge: { kubeconfig } },
          operators: { apple: { clusters: ['edge'], identity: { serviceAccount: 'default/apple' } } },
        },
        [apple],
      )
    const runtime = start(settings('/first'), {
      reach: (_, { kubeconfig }) =>
        Promise.resolve(kubeconfig === '/first' ? to('first', first) : to('second', second)),
    })
    await advance(2000)
    expect(new Set(asked)).toEqual(new Set(['first as system:serviceaccount:default:apple']))
    asked.length = 0
    await until(runtime.reconfigure(settings('/second')))
    await advance(2000)
    expect(new Set(asked)).toEqual(new Set(['second as system:serviceaccount:default:apple']))
    await until(runtime.stop())
  })

  it('is ready while caches are fresh and runs end', async () => {
    const { start, until, advance, home, create } = await open()
    const wire = inProcessTransport(home.server)
    let isCut = false
    const transport: Transport = {
      ...wire,
      send: (request) =>
        isCut ? Promise.reject(new MusterError(clientErrors.Unreachable, 'cut')) : wire.send(request),
    }
    const client = createClient({ transport, clock: home.clock, random: seededRandom(3) })
    const hung = Promise.withResolvers<never>()
    const hanging: Operator = defineOperator({
      name: 'apple',
      controllers: [defineController({ for: apple.own, timeoutMs: 600_000, check: () => hung.promise })],
    })
    const runtime = start(settingsOf({}, [apple]), {
      local: { client, as: () => client },
      load: () => Promise.resolve({ operator: hanging }),
      health: { staleMs: 60_000, stuckMs: 30_000, blockedMs: 5000 },
    })
    await advance(1000)
    expect(runtime.health()).toMatchObject({ isAlive: true, isReady: true, problems: [], warnings: [] })
    await create(apple)
    await advance(31_000)
    expect(runtime.health()).toMatchObject({ isReady: false, problems: ['apple has been at default/one for 31 s'] })
    hung.reject(new Error('enough'))
    await advance(1000)
    expect(runtime.health().isReady).toBe(true)
    isCut = true
    home.server.endWatches()
    await advance(61_000)
    const { isAlive, isReady, problems } = runtime.health()
    expect([isAlive, isReady]).toEqual([true, false])
    expect(problems.join('\n')).toMatch(/apples\.runtime\.example\.com\/v1 is stale for \d+ s: .*cut/)
    isCut = false
    await advance(60_000)
    expect(runtime.health().isReady).toBe(true)
    await until(runtime.stop())
  })
})
