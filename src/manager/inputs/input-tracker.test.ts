import { describe, expect, it } from 'vitest'
import {
  type App,
  app,
  App as AppKind,
  type AppController,
  appOperator,
  read,
  faultyTransport,
} from '../../../test/app-operator.ts'
import { configMap, crds, type Embedded, embedded, namespaces } from '../../../test/embedded.ts'
import { createSharedCache, type SharedCache } from '../../cache/shared-cache.ts'
import { mostWatches } from '../../cache/watch-plan.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/kind/field.ts'
import { exactly, generated, labelled, referenced } from '../../operator/view/input.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ClusterRole, ClusterRoleBinding, ConfigMap, Deployment, Node, Secret, Service } from '../../kube/kinds.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { roleOf } from '../../operator/role.ts'
import type { View } from '../../operator/view/view.ts'
import type { Finding } from '../findings/finding.ts'
import { type OperatorHost, hostOperator } from '../hosting/host.ts'

const here = '$.metadata.namespace'
/** An App names Secrets in its list of items … */
const secrets = referenced(Secret, { from: AppKind, namePath: '$.spec.items[*]', namespacePath: here })
/** … and a ConfigMap in its text, which names another Secret. */
const config = referenced(ConfigMap, { from: AppKind, namePath: '$.spec.text', namespacePath: here })
const chained = referenced(Secret, { from: config, namePath: '$.data.secret', namespacePath: here })

function secret(name: string, value = '1', metadata: object = {}): UntypedObject {
  const data = { value: Buffer.from(value).toString('base64') }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default', ...metadata }, data }
}

/** Reports what it reads. */
function seeing(reads: AppController['reads'] & {}, see: (cr: App, view: View) => string): AppController {
  return { reads, status: ({ cr, view }) => ({ seen: see(cr, view) }) }
}

function valueOf(view: View, name: string, namespace = 'default'): string {
  const found = view.get(Secret, { name, namespace })
  return found ? Buffer.from(found.data?.['value'] ?? '', 'base64').toString() : 'none'
}

const namedSecrets = seeing([secrets], (cr, view) =>
  (cr.spec.items ?? []).map((name) => valueOf(view, name, cr.metadata.namespace)).join(','),
)

interface Scene extends Embedded {
  readonly cache: SharedCache
  readonly hosts: readonly OperatorHost[]
  readonly ledgers: Ledger[]
  readonly findings: Finding[]
  readonly line: ReturnType<typeof faultyTransport>
  /** Runs until nothing moves. */
  readonly settle: () => Promise<void>
  readonly seen: (name: string, namespace?: string) => Promise<string | undefined>
  /** Keys of the reconciles since. */
  readonly woken: (from: number) => readonly string[]
  readonly coverOf: (plural: string) => string | undefined
  readonly watches: (plural: string) => number
  readonly heldOf: (plural: string) => number
}

async function open(
  operators: readonly Operator[],
  {
    prepare,
    ...hosting
  }: { prepare?: (scene: Embedded) => Promise<void> } & Partial<Parameters<typeof hostOperator>[0]> = {},
): Promise<Scene> {
  const cluster = embedded()
  const { clock, client, server } = cluster
  await client.create(crds, AppKind.crd() as unknown as UntypedObject)
  await clock.settle()
  await prepare?.(cluster)
  const line = faultyTransport()
  const own = createClient({ transport: line.through(inProcessTransport(server)), clock, random: seededRandom(3) })
  const cache = createSharedCache({ client: own, clock, random: seededRandom(4) })
  const ledgers: Ledger[] = []
  const findings: Finding[] = []
  const until = async (promise: Promise<unknown>): Promise<void> => {
    let isDone = false
    const noting = promise.finally(() => (isDone = true))
    await clock.until(() => isDone)
    await noting
  }
  const hosts = operators.map((operator) =>
    hostOperator({
      operator,
      client: own,
      cache,
      clock,
      onLedger: (ledger) => void ledgers.push(ledger),
      onFinding: (finding) => void findings.push(finding),
      ...hosting,
    }),
  )
  await until(Promise.all(hosts.map((host) => host.start())))
  const reportOf = (plural: string): ReturnType<SharedCache['report']>[number] | undefined =>
    cache.report().find(({ resource }) => resource.plural === plural)
  const settle = async (): Promise<void> => {
    await clock.advance(2000)
    await until(Promise.all(hosts.map((host) => host.idle())))
    await clock.settle()
  }
  await settle()
  return {
    ...cluster,
    cache,
    hosts,
    ledgers,
    findings,
    line,
    settle,
    seen: async (name, namespace = 'default') => (await client.get<App>(AppKind, { name, namespace })).status?.seen,
    woken: (from) =>
      ledgers
        .slice(from)
        .map(({ key }) => key)
        .toSorted(),
    coverOf: (plural) => reportOf(plural)?.cover,
    watches: (plural) => reportOf(plural)?.watches ?? 0,
    heldOf: (plural) => reportOf(plural)?.objects ?? 0,
  }
}

const patchApp = async ({ client }: Embedded, name: string, spec: object, namespace = 'default'): Promise<void> => {
  await client.patch(AppKind, { name, namespace }, { spec }, { type: 'merge' })
}

describe('declared inputs are watched', () => {
  it.each([
    ['an exact name', [exactly(Secret, { name: 'a', namespace: 'default' })], 'default[][metadata.name=a] full'],
    [
      'a label selection',
      [labelled(Secret, { namespace: 'default', labels: { tier: 'db' } })],
      'default[tier=db][] full',
    ],
    ['a label selection in all namespaces', [labelled(Secret, { labels: { tier: 'db' } })], '*[tier=db][] full'],
    ['generated names', [generated(Secret, { namespace: 'default', prefix: 'g-' })], 'default[][] full'],
    [
      'a label selection in all namespaces beside an exact name',
      [labelled(Secret, { labels: { tier: 'db' } }), exactly(Secret, { name: 'a', namespace: 'default' })],
      '*[tier=db][] full, default[][metadata.name=a] full',
    ],
    ['a whole kind', [Secret], '*[][] full'],
    ['a reference without a target', [secrets], undefined],
  ])('%s', async (_, reads, cover) => {
    const scene = await open([appOperator({ reads })])
    expect(scene.coverOf('secrets')).toBe(cover)
  })

  it('once for fifty operators, and released by the last of them', async () => {
    const reads = [labelled(Secret, { namespace: 'default', labels: { tier: 'db' } })]
    const operators = Array.from({ length: 50 }, (_, index) =>
      defineOperator({ name: `op-${index}`, controllers: [defineController({ for: AppKind, reads })] }),
    )
    const { watches, hosts, coverOf, clock } = await open(operators)
    expect(watches('secrets')).toBe(1)
    for (const host of hosts.slice(1)) await host.stop()
    expect(coverOf('secrets')).toBe('default[tier=db][] full')
    await hosts[0]!.stop()
    await clock.settle()
    expect(coverOf('secrets')).toBeUndefined()
  })

  it("once for each kind that ten operators share, and once for each operator's own kind", async () => {
    const kinds = Array.from({ length: 10 }, (_, index) =>
      defineKind({ group: 'ten.example.com', version: 'v1', kind: `Ten${index}`, spec: { size: integer() } }),
    )
    const operators = kinds.map((kind, index) => {
      const dependents = [
        defineDependent({ for: kind, kind: ConfigMap, fromCR: () => ({}) }),
        defineDependent({ for: kind, kind: Deployment, fromCR: () => ({}) }),
      ]
      const controller = defineController({ for: kind, dependents, reads: [Secret, Node] })
      return defineOperator({ name: `ten-${index}`, controllers: [controller] })
    })
    const scene = await open(operators, {
      prepare: async ({ client, clock }) => {
        for (const kind of kinds) await client.create(crds, kind.crd() as unknown as UntypedObject)
        await clock.settle()
      },
    })
    // Their own, the CRDs, ConfigMaps, Deployments, Secrets and Nodes.
    expect(scene.cache.report().reduce((sum, { watches }) => sum + watches, 0)).toBe(10 + 5)
  })

  it("only in the operator's namespaces, except for explicit namespaces", async () => {
    const reads = [labelled(Secret, { labels: { tier: 'db' } }), exactly(ConfigMap, { name: 'x', namespace: 'shared' })]
    const { coverOf } = await open([appOperator({ reads })], { namespaces: ['default'] })
    expect(coverOf('secrets')).toBe('default[tier=db][] full')
    expect(coverOf('configmaps')).toBe('shared[][metadata.name=x] full')
    expect(coverOf('apps')).toBe('default[][] full')
  })

  it('for one CR, where the controller handles a single one', async () => {
    const only = exactly(AppKind, { name: 'a', namespace: 'default' })
    const controller = defineController({ for: only, status: () => ({ seen: 'yes' }) })
    const scene = await open([defineOperator({ name: 'one', controllers: [controller] })])
    for (const name of ['a', 'b']) await scene.client.create(AppKind, app(name))
    await scene.settle()
    expect([await scene.seen('a'), await scene.seen('b')]).toEqual(['yes', undefined])
    expect(scene.coverOf('apps')).toBe('default[][metadata.name=a] full')
  })
})

describe('references are followed', () => {
  it('as the referring object changes: targets are loaded before they are read, and released when no longer referenced', async () => {
    const scene = await open([appOperator(namedSecrets)])
    for (const name of ['s', 't', 'other']) await scene.client.create(Secret, secret(name, `${name}!`))
    await scene.client.create(AppKind, app('a', { items: ['s'] }))
    await scene.settle()
    expect(await scene.seen('a')).toBe('s!')
    expect(scene.coverOf('secrets')).toBe('default[][metadata.name=s] full')
    await patchApp(scene, 'a', { items: ['t'] })
    await scene.settle()
    expect(await scene.seen('a')).toBe('t!')
    expect(scene.coverOf('secrets')).toBe('default[][metadata.name=t] full')
    await patchApp(scene, 'a', { items: ['s', 't'] })
    await scene.settle()
    expect(await scene.seen('a')).toBe('s!,t!')
    expect(scene.heldOf('secrets')).toBe(2)
    await patchApp(scene, 'a', { items: null })
    await scene.settle()
    expect(await scene.seen('a')).toBe('')
    expect(scene.coverOf('secrets')).toBeUndefined()
    // At no time was something shown as absent that was only not loaded yet.
    expect(scene.ledgers.filter(({ failure }) => failure)).toEqual([])
    expect(scene.findings).toEqual([])
  })

  it('and enqueue exactly the affected keys: by the referenced object, and not by others of the namespace', async () => {
    const scene = await open([appOperator(namedSecrets)])
    for (const [name, items] of [
      ['a', ['s', 't']],
      ['b', ['t', 'u']],
      ['c', []],
    ] as const) {
      await scene.client.create(AppKind, app(name, { items }))
    }
    for (const name of ['s', 't', 'u', 'beside']) await scene.client.create(Secret, secret(name))
    await scene.settle()
    let version = 1
    const touch = async (name: string): Promise<readonly string[]> => {
      const from = scene.ledgers.length
      await scene.client.patch(Secret, { name, namespace: 'default' }, secret(name, String(++version)), {
        type: 'merge',
      })
      await scene.settle()
      return scene.woken(from)
    }
    expect(await touch('s')).toEqual(['default/a'])
    expect(await touch('t')).toEqual(['default/a', 'default/b'])
    expect(await touch('beside')).toEqual([])
    await patchApp(scene, 'b', { items: ['u'] })
    await scene.settle()
    expect(await touch('t')).toEqual(['default/a'])
  })

  it('use an existing wider watch', async () => {
    const wide = defineOperator({ name: 'wide', controllers: [defineController({ for: AppKind, reads: [Secret] })] })
    const scene = await open([wide, appOperator(namedSecrets)])
    await scene.client.create(AppKind, app('a', { items: ['s', 't'] }))
    await scene.client.create(Secret, secret('s'))
    await scene.settle()
    expect(await scene.seen('a')).toBe('1,none')
    expect(scene.coverOf('secrets')).toBe('*[][] full')
    expect(scene.watches('secrets')).toBe(1)
  })

  it('through objects that do not exist yet, and on when they are created, changed and deleted', async () => {
    const scene = await open([
      appOperator(
        seeing([chained], (cr, view) => {
          const named = view.get(ConfigMap, { name: cr.spec.text, namespace: 'default' })?.data?.['secret']
          return named === undefined ? 'no config' : valueOf(view, named)
        }),
      ),
    ])
    await scene.client.create(AppKind, app('a', { text: 'c' }))
    await scene.client.create(Secret, secret('s', 'S'))
    await scene.client.create(Secret, secret('t', 'T'))
    await scene.settle()
    expect(await scene.seen('a')).toBe('no config')
    expect(scene.coverOf('secrets')).toBeUndefined()
    await scene.client.create(ConfigMap, configMap('c', { secret: 's' }))
    await scene.settle()
    expect(await scene.seen('a')).toBe('S')
    await scene.client.patch(
      ConfigMap,
      { name: 'c', namespace: 'default' },
      { data: { secret: 't' } },
      { type: 'merge' },
    )
    await scene.settle()
    expect(await scene.seen('a')).toBe('T')
    await scene.client.patch(
      ConfigMap,
      { name: 'c', namespace: 'default' },
      { data: { secret: 'not-yet' } },
      { type: 'merge' },
    )
    await scene.settle()
    expect(await scene.seen('a')).toBe('none')
    await scene.client.create(Secret, secret('not-yet', 'now'))
    await scene.settle()
    expect(await scene.seen('a')).toBe('now')
    await scene.client.delete(ConfigMap, { name: 'c', namespace: 'default' })
    await scene.settle()
    expect(await scene.seen('a')).toBe('no config')
    expect(scene.coverOf('secrets')).toBeUndefined()
    expect(scene.findings).toEqual([])
  })

  it('to cluster-scoped objects, and from there on', async () => {
    const nodes = referenced(Node, { from: AppKind, namePath: '$.spec.items[*]' })
    const onNode = referenced(Secret, {
      from: nodes,
      namePath: '$.metadata.labels.secret',
      namespacePath: '$.metadata.labels.home',
    })
    const node = (name: string, labels: Readonly<Record<string, string>>): UntypedObject => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels },
    })
    const scene = await open([
      appOperator(
        seeing([nodes, onNode], (cr, view) =>
          (cr.spec.items ?? [])
            .map((name) => {
              const labels = view.get(Node, { name })?.metadata.labels
              return labels ? `${labels['secret']}=${valueOf(view, labels['secret']!)}` : 'no node'
            })
            .join(','),
        ),
      ),
    ])
    await scene.client.create(Node, node('m', { secret: 's', home: 'default' }))
    await scene.client.create(Node, node('beside', {}))
    await scene.client.create(Secret, secret('s', 'S'))
    await scene.client.create(Secret, secret('t', 'T'))
    await scene.client.create(AppKind, app('a', { items: ['m'] }))
    await scene.settle()
    expect(await scene.seen('a')).toBe('s=S')
    expect(scene.heldOf('nodes')).toBe(1)
    const relabel = { metadata: { labels: { secret: 't' } } }
    await scene.client.patch(Node, { name: 'm' }, relabel, { type: 'merge' })
    await scene.settle()
    expect(await scene.seen('a')).toBe('t=T')
    const from = scene.ledgers.length
    await scene.client.patch(Node, { name: 'beside' }, relabel, { type: 'merge' })
    await scene.settle()
    expect(scene.woken(from)).toEqual([])
    await patchApp(scene, 'a', { items: ['later'] })
    await scene.settle()
    expect(await scene.seen('a')).toBe('no node')
    expect(scene.coverOf('secrets')).toBeUndefined()
    await scene.client.create(Node, node('later', { secret: 's', home: 'default' }))
    await scene.settle()
    expect(await scene.seen('a')).toBe('s=S')
    await scene.client.delete(Node, { name: 'later' })
    await scene.settle()
    expect(await scene.seen('a')).toBe('no node')
    expect(scene.findings).toEqual([])
  })

  it('in cycles', async () => {
    const next = (from: Parameters<typeof referenced>[1]['from']): ReturnType<typeof referenced<App>> =>
      referenced(AppKind, { from, namePath: '$.spec.text', namespacePath: here })
    const first = exactly(AppKind, { name: 'a', namespace: 'default' })
    const ring = next(next(next(first)))
    const controller = defineController({
      for: first,
      reads: [ring],
      status: ({ view }) => ({ count: view.list(AppKind).length }),
    })
    const scene = await open([defineOperator({ name: 'ring', controllers: [controller] })])
    for (const [name, text] of [
      ['a', 'b'],
      ['b', 'a'],
      ['c', 'c'],
    ] as const) {
      await scene.client.create(AppKind, app(name, { text }))
    }
    await scene.settle()
    const count = async (): Promise<unknown> =>
      ((await read(scene.client, AppKind, 'a')) as unknown as App).status?.count
    expect(await count()).toBe(2)
    await patchApp(scene, 'b', { text: 'c' })
    await scene.settle()
    expect(await count()).toBe(3)
    await patchApp(scene, 'a', { text: 'a' })
    await scene.settle()
    expect(await count()).toBe(1)
  })

  it('into other namespaces, many of which share one watch', async () => {
    const elsewhere = referenced(Secret, { from: AppKind, namespacePath: '$.spec.items[*]', namePath: '$.spec.text' })
    const scene = await open([
      appOperator(
        seeing([elsewhere], (cr, view) =>
          (cr.spec.items ?? []).map((namespace) => valueOf(view, cr.spec.text, namespace)).join(''),
        ),
      ),
    ])
    const all = Array.from({ length: mostWatches + 1 }, (_, index) => `n${index}`)
    for (const name of all) {
      await scene.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      await scene.client.create(Secret, secret('s', 'x', { namespace: name }))
    }
    await scene.client.create(AppKind, app('a', { text: 's', items: all.slice(0, 3) }))
    await scene.settle()
    expect(await scene.seen('a')).toBe('xxx')
    expect(scene.watches('secrets')).toBe(3)
    await patchApp(scene, 'a', { items: all })
    await scene.settle()
    expect(await scene.seen('a')).toBe('x'.repeat(all.length))
    expect(scene.watches('secrets')).toBe(1)
    expect(scene.heldOf('secrets')).toBe(all.length)
    await patchApp(scene, 'a', { items: [all[5]] })
    await scene.settle()
    expect(scene.coverOf('secrets')).toBe('n5[][metadata.name=s] full')
  })

  it('to a hundred objects of a namespace, which alone are held, with one or two watches', async () => {
    const scene = await open([appOperator(namedSecrets)])
    const all = Array.from({ length: 100 }, (_, index) => `s${index}`)
    for (const name of all) {
      await scene.client.create(Secret, secret(name))
      await scene.client.create(Secret, secret(`beside-${name}`))
    }
    await scene.client.create(AppKind, app('a', { items: all }))
    await scene.settle()
    expect(await scene.seen('a')).toBe(all.map(() => '1').join())
    expect([scene.heldOf('secrets'), scene.watches('secrets')]).toEqual([100, 1])
    // Those that come later stand beside it, until there are too many.
    const more = [...all, 'beside-s0', 'beside-s1']
    await patchApp(scene, 'a', { items: more })
    await scene.settle()
    expect(await scene.seen('a')).toBe(more.map(() => '1').join())
    expect([scene.heldOf('secrets'), scene.watches('secrets')]).toEqual([102, 3])
    await patchApp(scene, 'a', { items: ['s7', 's8'] })
    await scene.settle()
    expect([scene.heldOf('secrets'), scene.watches('secrets')]).toEqual([2, 2])
    expect(scene.findings).toEqual([])
  })

  it('only in the operator’s namespaces, whatever users write into their objects', async () => {
    const elsewhere = referenced(Secret, { from: AppKind, namespacePath: '$.spec.parts.ns', namePath: '$.spec.text' })
    const scene = await open(
      [appOperator(seeing([elsewhere], (cr, view) => valueOf(view, cr.spec.text, cr.spec.parts?.['ns'] ?? '')))],
      { namespaces: ['default'] },
    )
    await scene.client.create(Secret, secret('s', 'treasure', { namespace: 'kube-system' }))
    await scene.client.create(AppKind, app('a', { text: 's', parts: { ns: 'kube-system' } }))
    await scene.client.create(AppKind, app('b', { text: 's,metadata.name!=s', parts: { ns: 'default' } }))
    await scene.client.create(AppKind, app('c', { text: '../x', parts: { ns: 'default' } }))
    await scene.settle()
    expect(await scene.seen('a')).toBeUndefined()
    expect(scene.findings.map(({ kind, key }) => `${kind} ${key}`)).toEqual(
      expect.arrayContaining(['undeclaredRead default/a', 'undeclaredRead default/c']),
    )
    expect(scene.coverOf('secrets')).toBe(String.raw`default[][metadata.name=s\,metadata.name!\=s] full`)
  })

  it('while a watch is slow: no read reports an object as missing that is not loaded, and other keys continue', async () => {
    const scene = await open([appOperator(namedSecrets)])
    await scene.client.create(Secret, secret('s', 'S'))
    const slow = { is: true }
    scene.line.hinder = async ({ path }) => {
      if (path.includes('/secrets')) while (slow.is) await scene.clock.sleep(100)
    }
    await scene.client.create(AppKind, app('a', { items: ['s'] }))
    await scene.client.create(AppKind, app('b', { items: [] }))
    await scene.clock.advance(5000)
    expect([await scene.seen('a'), await scene.seen('b')]).toEqual([undefined, ''])
    slow.is = false
    await scene.clock.advance(5000)
    expect(await scene.seen('a')).toBe('S')
    expect(scene.ledgers.filter(({ failure }) => failure)).toEqual([])
  })

  it('a thousand at once, with one change of the watch plan', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `s${index}`)
    const prepare = async ({ client }: Embedded): Promise<void> => {
      for (const name of names) await client.create(Secret, secret(name))
    }
    const scene = await open([appOperator(seeing([secrets], (_, view) => String(view.list(Secret).length)))], {
      prepare,
    })
    let lists = 0
    scene.line.hinder = ({ path }) => {
      if (path.includes('/secrets')) lists++
    }
    await scene.client.create(AppKind, app('a', { items: names }))
    await scene.settle()
    expect(await scene.seen('a')).toBe('1000')
    expect(lists).toBeLessThanOrEqual(2)
    const from = scene.ledgers.length
    await patchApp(scene, 'a', { items: names.slice(0, 10) })
    await scene.settle()
    expect(await scene.seen('a')).toBe('10')
    expect(scene.woken(from).length).toBeLessThanOrEqual(2)
  })

  it('from objects that the operator writes', async () => {
    const scene = await open([
      appOperator({
        writes: [ConfigMap],
        reads: [referenced(Secret, { from: ConfigMap, namePath: '$.data.secret', namespacePath: here })],
        reconcile: ({ cr, view }) => ({
          objects: [configMap(cr.metadata.name, { secret: cr.spec.text })],
          status: {
            seen: view
              .list(Secret)
              .map(({ metadata }) => metadata.name)
              .join(','),
          },
        }),
      }),
    ])
    await scene.client.create(Secret, secret('s'))
    await scene.client.create(AppKind, app('a', { text: 's' }))
    await scene.settle()
    expect(await scene.seen('a')).toBe('s')
  })

  it('at rest without a write', async () => {
    const scene = await open([appOperator(namedSecrets)])
    await scene.client.create(Secret, secret('s'))
    await scene.client.create(AppKind, app('a', { items: ['s'] }))
    await scene.settle()
    const writes: string[] = []
    scene.line.hinder = ({ method, path }) => {
      if (method !== 'GET') writes.push(path)
    }
    await scene.clock.advance(600_000)
    expect(writes).toEqual([])
    expect(scene.ledgers.length).toBeLessThan(4)
  })
})

describe('a host', () => {
  it('reports active runs, and accepts other settings and gates without a restart', async () => {
    const scene = await open([appOperator({ status: () => ({ seen: 'x' }) })])
    const [host] = scene.hosts
    expect(host!.runs()).toEqual([])
    const held = { is: true }
    scene.line.hinder = async ({ method }) => {
      if (method === 'PATCH') while (held.is) await scene.clock.sleep(100)
    }
    await scene.client.create(AppKind, app('a'))
    await scene.clock.advance(1000)
    expect(host!.runs()).toMatchObject([{ operator: 'kit', key: 'default/a' }])
    held.is = false
    await scene.settle()
    expect(host!.runs()).toEqual([])
    const from = scene.ledgers.length
    host!.reconfigure({ config: {} })
    await scene.settle()
    expect(scene.woken(from)).toEqual(['default/a'])
  })

  it('needs no more than the role derived from its declaration, including names', async () => {
    const operator = appOperator({
      reads: [exactly(Secret, { name: 's', namespace: 'default' }), labelled(Service, { labels: { a: 'b' } })],
      writes: [exactly(ConfigMap, { name: 'mine', namespace: 'default' })],
      reconcile: ({ view }) => ({
        objects: [configMap('mine', { value: valueOf(view, 's'), services: String(view.list(Service).length) })],
      }),
    })
    const { client, server, clock } = embedded()
    const rbac = 'rbac.authorization.k8s.io'
    const role = roleOf(operator) as unknown as UntypedObject
    await client.create(crds, AppKind.crd() as unknown as UntypedObject)
    await client.create(ClusterRole, role)
    await client.create(ClusterRoleBinding, {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: operator.name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: operator.name },
      subjects: [{ kind: 'User', apiGroup: rbac, name: 'operator' }],
    })
    await client.create(Secret, secret('s', 'S'))
    await client.create(AppKind, app('a'))
    const inner = inProcessTransport(server)
    const transport: typeof inner = {
      ...inner,
      send: (request) => inner.send({ ...request, headers: { ...request.headers, 'impersonate-user': 'operator' } }),
    }
    const own = createClient({ transport, clock, random: seededRandom(3) })
    const cache = createSharedCache({ client: own, clock, random: seededRandom(4) })
    const lines: unknown[] = []
    const host = hostOperator({ operator, client: own, cache, clock, log: (line) => void lines.push(line) })
    let isStarted = false
    const starting = host.start().then(() => (isStarted = true))
    await clock.until(() => isStarted, 60_000)
    await starting
    await clock.advance(5000)
    expect((await read(client, ConfigMap, 'mine'))['data']).toEqual({ value: 'S', services: '0' })
    expect(JSON.stringify(lines)).not.toContain('orbidden')
    await client.delete(AppKind, { name: 'a', namespace: 'default' })
    await clock.advance(5000)
    expect(JSON.stringify(lines)).not.toContain('orbidden')
  })
})
