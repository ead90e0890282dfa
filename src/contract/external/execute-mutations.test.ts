import { describe, expect, it } from 'vitest'
import {
  configMap,
  configMaps,
  crds,
  deployments,
  embedded,
  namespaces,
  widget,
  widgetCrd,
  widgets,
} from '../../../test/embedded.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { RecordedMutation } from '../declaration/mutation.ts'
import type { ReadMutation } from '../directory/output-reader.ts'
import { readOutputResources } from '../declaration/resource-list.ts'
import {
  type ExecutedMutations,
  executeMutations,
  type ExecuteOptions,
  checkMutations,
  severalWrites,
} from './execute-mutations.ts'

const declared = readOutputResources(
  {
    configurationResources: {
      kindResources: [
        { group: '', version: 'v1', resource: 'configmaps' },
        { group: '', version: 'v1', resource: 'nodes' },
        { group: '', version: 'v1', resource: 'namespaces' },
        { group: '', version: 'v1', resource: 'pods' },
        { group: 'apps', version: 'v1', resource: 'deployments' },
        { group: 'example.com', version: 'v1', resource: 'widgets' },
        { group: 'nowhere.io', version: 'v1', resource: 'things' },
      ],
    },
  },
  'test',
)

const write = (change: Partial<RecordedMutation>, content: Json | undefined, sequence: number): ReadMutation => ({
  folder: 'Configuration',
  mutation: {
    verb: 'Apply',
    type: { group: '', version: 'v1', resource: 'configmaps' },
    namespace: 'default',
    name: 'a',
    generateName: '',
    controller: 'c',
    body: '',
    options: {},
    ...change,
  },
  content,
  sequence,
  file: `file-${sequence}`,
})
const merge = 'application/merge-patch+json'
const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const object = (name: string, data: Readonly<Record<string, string>> = {}): Json =>
  configMap(name, data) as unknown as Json
const deleteOptions = (more: JsonObject = {}): Json => ({ apiVersion: 'v1', kind: 'DeleteOptions', ...more })

interface Server {
  readonly client: Client
  /** `POST /api/v1/…`: whatever was sent to change something. */
  readonly sent: string[]
  readonly settle: () => Promise<void>
}

function server(): Server {
  const { client: direct, clock } = embedded()
  const sent: string[] = []
  const { transport } = direct
  const client = createClient({
    clock,
    transport: {
      ...transport,
      send(request) {
        if (request.method !== 'GET') sent.push(`${request.method} ${request.path}`)
        return transport.send(request)
      },
    },
  })
  return { client, sent, settle: () => clock.settle() }
}

/** Checks the mutations, and then sends them, as the program host does. */
async function all(
  client: Client,
  mutations: readonly ReadMutation[],
  more: Partial<ExecuteOptions> = {},
): Promise<readonly ExecutedMutations[]> {
  const how = { declared, fieldManager: 'x', targetOf: () => ({ client, writer: client }), ...more }
  return await executeMutations(await checkMutations(mutations, how), how)
}

describe('executing recorded mutations', () => {
  it('sends each in its order; a failure stops only further mutations of the same object', async () => {
    const { client } = server()
    const mutations = [
      write({ verb: 'Patch', patchType: merge }, { data: { k: 'patched' } }, 3),
      write({ verb: 'Apply', fieldManager: 'me', options: { force: true } }, object('a', { k: 'v' }), 1),
      write({ verb: 'Update', name: 'none' }, object('none'), 2),
      write({ verb: 'Delete', name: 'none' }, undefined, 4),
      write({ verb: 'Create', name: 'b' }, object('b'), 5),
      write(
        { verb: 'Delete', name: 'b' },
        { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
        6,
      ),
    ]
    const done = await all(client, mutations)
    expect(
      done.map(({ read, error }) => `${read.sequence} ${error === undefined ? 'done' : (error as Error).name}`),
    ).toEqual(['1 done', '2 NotFound', '3 done', '4 Conflict', '5 done', '6 done'])
    const { items } = await client.list(configMaps, { namespace: 'default' })
    expect(items).toMatchObject([{ metadata: { name: 'a' }, data: { k: 'patched' } }])
  })

  it.each<[string, ReadMutation, RegExp]>([
    [
      'a kind that does not match its resource',
      write({}, { ...configMap('a', {}), kind: 'Secret' } as unknown as Json, 2),
      /holds a Secret/,
    ],
    [
      'a scope that does not match',
      write({ type: { group: '', version: 'v1', resource: 'nodes' } }, object('a'), 2),
      /not in namespaces/,
    ],
    [
      'an unserved resource',
      write({ type: { group: 'nowhere.io', version: 'v1', resource: 'things' } }, object('a'), 2),
      /not served/,
    ],
    [
      'a mutation declared for another cluster',
      { ...write({}, object('a'), 2), folder: 'Management' },
      /not among its declared outputs for Management/,
    ],
    [
      'an object of another owner',
      write({ type: { group: '', version: 'v1', resource: 'secrets' } }, object('a'), 2),
      /not among/,
    ],
    [
      'a patch with another kind',
      write({ verb: 'Patch', patchType: 'application/merge-patch+json' }, { kind: 'Secret' }, 2),
      /holds a Secret/,
    ],
    [
      'an unknown patch type',
      write({ verb: 'Patch', patchType: 'constructor' }, { data: { k: 'v' } }, 2),
      /no patch of type constructor/,
    ],
    [
      'the field manager of another operator',
      write({ fieldManager: 'neighbour' }, object('a'), 2),
      /^file-2: it would be written as "neighbour", a field manager that belongs to the operator of that name\.$/,
    ],
    [
      'the same in the options',
      write({ verb: 'Update', options: { fieldManager: 'neighbour' } }, object('a'), 2),
      /^file-2: it would be written as "neighbour"/,
    ],
    ...['kubectl', 'kubectl-edit', 'kube-controller-manager', 'muster'].map((one): [string, ReadMutation, RegExp] => [
      `the field manager ${one}`,
      write({ fieldManager: one }, object('a'), 2),
      /belongs to the cluster and its tools\.$/,
    ]),
    ...(
      [
        [{ propagationPolicy: 'Sideways' }, 'a Delete cannot have "Sideways" as its propagationPolicy'],
        [{ gracePeriodSeconds: 'soon' }, 'a Delete cannot have "soon" as its gracePeriodSeconds'],
        [{ preconditions: { resourceVersion: 7 } }, 'a Delete cannot have 7 as its resourceVersion'],
        [{ preconditions: 'none' }, 'a Delete cannot have "none" as its preconditions'],
        [{ propagationPolicy: 'Background', orphanDependents: true }, 'both propagationPolicy and orphanDependents'],
      ] as const
    ).flatMap(([said, why]): [string, ReadMutation, RegExp][] => [
      [`a deletion by ${JSON.stringify(said)}`, write({ verb: 'Delete' }, said, 2), new RegExp(`^file-2: ${why}`)],
      [
        `the same in the options: ${JSON.stringify(said)}`,
        write({ verb: 'Delete', options: said }, deleteOptions(), 2),
        new RegExp(`^file-2: ${why}`),
      ],
    ]),
    [
      'a deletion with contradictory preconditions',
      write({ verb: 'Delete', options: { preconditions: { uid: 'a' } } }, { preconditions: { uid: 'b' } }, 2),
      /^file-2: no object can meet the preconditions of both its options and its body \(uid\)\.$/,
    ],
    [
      'an invalid field manager',
      write({ fieldManager: 'x'.repeat(129) }, object('a'), 2),
      /^file-2: its field manager is no printable text of at most 128 characters\.$/,
    ],
  ])('sends nothing at all for %s', async (_, bad, why) => {
    const { client, sent } = server()
    await client.create(configMaps, configMap('a', { before: 'all' }))
    sent.length = 0
    const others = (): readonly string[] => ['x', 'neighbour']
    const [first, last] = [write({ name: 'fine' }, object('fine'), 1), write({ name: 'late' }, object('late'), 3)]
    await expect(all(client, [first, bad, last], { others })).rejects.toThrow(why)
    expect(sent).toEqual([])
    const { items } = await client.list(configMaps)
    expect(items).toMatchObject([{ metadata: { name: 'a' }, data: { before: 'all' } }])
  })

  it('writes with the recorded field manager, else with that of the operator', async () => {
    const { client } = server()
    const others = (): readonly string[] => ['x', 'neighbour']
    const mutations = [
      write({ name: 'a' }, object('a'), 1),
      write({ name: 'b', fieldManager: 'ConfigObserver' }, object('b'), 2),
      write({ name: 'c', verb: 'Create', options: { fieldManager: 'x' } }, object('c', { k: 'v' }), 3),
      write({ name: 'd', fieldManager: 'kube-apiserver-operator-Nodes' }, object('d'), 4),
    ]
    expect((await all(client, mutations, { others })).map(({ error }) => error)).toEqual(Array(4).fill(undefined))
    const { items } = await client.list(configMaps)
    expect(items.map(({ metadata }) => metadata.managedFields?.map(({ manager }) => manager))).toEqual([
      ['x'],
      ['ConfigObserver'],
      ['x'],
      ['kube-apiserver-operator-Nodes'],
    ])
  })

  it('writes status only', async () => {
    const { client, sent } = server()
    await client.create(crds, widgetCrd())
    await client.create(widgets, widget('w', { color: 'red' }))
    sent.length = 0
    const of = { type: { group: 'example.com', version: 'v1', resource: 'widgets' }, name: 'w', subresource: 'status' }
    const blue = { ...widget('w', { color: 'blue' }), status: { is: 'updated' } } as unknown as Json
    const { resourceVersion } = (await client.get(widgets, { name: 'w', namespace: 'default' })).metadata
    const metadata = { name: 'w', namespace: 'default', resourceVersion }
    const mutations = [
      write({ ...of, verb: 'Update' }, { ...(blue as JsonObject), metadata }, 1),
      write(
        { ...of, verb: 'Apply', fieldManager: 'me' },
        { ...widget('w'), status: { by: 'apply' } } as unknown as Json,
        2,
      ),
      write({ ...of, verb: 'Patch', patchType: merge }, { status: { and: 'patched' }, spec: { color: 'blue' } }, 3),
    ]
    expect((await all(client, mutations)).map(({ error }) => error)).toEqual([undefined, undefined, undefined])
    expect(sent.map((each) => each.replace(/\?.*/, ''))).toEqual(
      ['PUT', 'PATCH', 'PATCH'].map((method) => `${method} /apis/example.com/v1/namespaces/default/widgets/w/status`),
    )
    expect(await client.get(widgets, { name: 'w', namespace: 'default' })).toMatchObject({
      spec: { color: 'red' },
      status: { is: 'updated', by: 'apply', and: 'patched' },
    })
  })

  it('writes other subresources: a scale, which is another kind, and an eviction, which is not an object', async () => {
    const { client, sent } = server()
    await client.create(crds, widgetCrd())
    await client.create(widgets, widget('w', { replicas: 1 }))
    const metadata = { name: 'p', namespace: 'default' }
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
    sent.length = 0
    const scaled = {
      type: { group: 'example.com', version: 'v1', resource: 'widgets' },
      name: 'w',
      subresource: 'scale',
    }
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'w' }, spec: { replicas: 4 } }
    const evicted = { type: { group: '', version: 'v1', resource: 'pods' }, name: 'p', subresource: 'eviction' }
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata }
    const mutations = [
      write({ ...scaled, verb: 'Update' }, scale, 1),
      // What was recorded as a trial is one.
      write({ ...evicted, verb: 'Create', options: { dryRun: ['All'] } }, eviction, 2),
    ]
    expect((await all(client, mutations)).map(({ error }) => error)).toEqual([undefined, undefined])
    expect(await client.get(widgets, { name: 'w', namespace: 'default' })).toMatchObject({ spec: { replicas: 4 } })
    expect((await client.get(pods, metadata)).metadata.name).toBe('p')
    await all(client, [write({ ...evicted, verb: 'Create' }, eviction, 1)])
    await expect(client.get(pods, metadata)).rejects.toThrow(/not found/)
    expect(sent.filter((each) => each.includes('eviction'))).toEqual([
      'POST /api/v1/namespaces/default/pods/p/eviction?dryRun=All&fieldManager=x',
      'POST /api/v1/namespaces/default/pods/p/eviction?fieldManager=x',
    ])
  })

  describe('a deletion', () => {
    const dry = { dryRun: ['All'] }
    const names = async (client: Client): Promise<readonly (string | undefined)[]> =>
      (await client.list(configMaps)).items.map(({ metadata }) => metadata.name)

    /** What is left of `a` and of `child`, which belongs to it. */
    async function left(options: JsonObject, body: JsonObject = {}): Promise<readonly (string | undefined)[]> {
      const { client, settle } = server()
      const { uid } = (await client.create(configMaps, configMap('a', {}))).metadata
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: uid! }]
      await client.create(configMaps, configMap('child', {}, { ownerReferences }))
      const done = await all(client, [write({ verb: 'Delete', options }, deleteOptions(body), 1)])
      expect(done.map(({ error }) => error)).toEqual([undefined])
      await settle()
      return await names(client)
    }

    it.each<[string, JsonObject, JsonObject]>([
      ['its options', dry, {}],
      ['its options, by hand', { dryRun: 'All' }, {}],
      ['its body', {}, dry],
      ['its options, and its body sets the propagation', dry, { dryRun: [], propagationPolicy: 'Background' }],
    ])('is a dry run if set in %s', async (_, options, body) => {
      expect(await left(options, body)).toEqual(['a', 'child'])
    })

    it.each<[string, readonly string[], JsonObject, JsonObject]>([
      ['orphans dependents: options', ['child'], { propagationPolicy: 'Orphan' }, {}],
      ['orphans dependents: options, deprecated form', ['child'], { orphanDependents: true }, {}],
      ['orphans dependents: body', ['child'], {}, { propagationPolicy: 'Orphan' }],
      ['deletes dependents: options', [], { propagationPolicy: 'Background' }, {}],
      ['deletes dependents: options, deprecated form', [], { orphanDependents: false }, {}],
      ['follows its body', ['child'], { propagationPolicy: 'Background' }, { propagationPolicy: 'Orphan' }],
      ['follows its body, as a server does', [], { orphanDependents: true }, { propagationPolicy: 'Background' }],
    ])('%s', async (_, expected, options, body) => {
      expect(await left(options, body)).toEqual(expected)
    })

    it('respects the preconditions of both its options and its body', async () => {
      const { client } = server()
      const { uid, resourceVersion } = (await client.create(configMaps, configMap('a', {}))).metadata
      const tried = async (options: JsonObject, body: JsonObject): Promise<string | undefined> => {
        const [done] = await all(client, [write({ verb: 'Delete', options }, deleteOptions(body), 1)])
        return (done?.error as Error | undefined)?.name
      }
      const [is, other] = [{ uid: uid! }, { uid: 'another' }]
      expect(await tried({ preconditions: other }, {})).toBe('Conflict')
      expect(await tried({}, { preconditions: other })).toBe('Conflict')
      expect(await tried({ preconditions: { resourceVersion: '1' } }, { preconditions: is })).toBe('Conflict')
      expect(await tried({ preconditions: is }, { preconditions: { resourceVersion: '1' } })).toBe('Conflict')
      expect(await names(client)).toEqual(['a'])
      expect(await tried({ preconditions: is }, { preconditions: { resourceVersion: resourceVersion! } })).toBe(
        undefined,
      )
      expect(await names(client)).toEqual([])
    })

    it('uses the grace period of its options', async () => {
      const { client } = server()
      const [metadata, spec] = [{ name: 'p', namespace: 'default' }, { containers: [{ name: 'c', image: 'i' }] }]
      const of = { verb: 'Delete', type: { group: '', version: 'v1', resource: 'pods' }, name: 'p' } as const
      await client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, nodeName: 'n' } })
      await all(client, [write({ ...of, options: { gracePeriodSeconds: 17 } }, deleteOptions(), 1)])
      expect((await client.get(pods, metadata)).metadata.deletionGracePeriodSeconds).toBe(17)
      await all(client, [write({ ...of, options: { gracePeriodSeconds: 0 } }, deleteOptions(), 1)])
      await expect(client.get(pods, metadata)).rejects.toThrow(/not found/)
    })
  })

  it('sends each patch type with its media type', async () => {
    const { client } = server()
    await client.create(configMaps, configMap('a', { old: '1', kept: '2' }))
    const template = { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    await client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'w', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'w' } }, template },
    })
    const json = [
      { op: 'test', path: '/data/old', value: '1' },
      { op: 'remove', path: '/data/old' },
    ]
    const added = { spec: { template: { spec: { containers: [{ name: 'd', image: 'j' }] } } } }
    const of = { type: { group: 'apps', version: 'v1', resource: 'deployments' }, name: 'w' }
    const mutations = [
      write({ verb: 'Patch', patchType: 'application/json-patch+json' }, json, 1),
      write({ verb: 'Patch', patchType: merge }, { data: { more: '3' } }, 2),
      write({ ...of, verb: 'Patch', patchType: 'application/strategic-merge-patch+json' }, added, 3),
    ]
    expect((await all(client, mutations)).map(({ error }) => error)).toEqual([undefined, undefined, undefined])
    expect((await client.get(configMaps, { name: 'a', namespace: 'default' }))['data']).toEqual({
      kept: '2',
      more: '3',
    })
    const { spec } = (await client.get(deployments, { name: 'w', namespace: 'default' })) as unknown as {
      readonly spec: {
        readonly template: { readonly spec: { readonly containers: readonly { readonly name: string }[] } }
      }
    }
    // A merge would have put the one in the place of the other.
    expect(spec.template.spec.containers.map(({ name }) => name).toSorted()).toEqual(['c', 'd'])
  })

  it('writes cluster-scoped objects, and adds an omitted namespace', async () => {
    const { client, sent } = server()
    const of = { type: { group: '', version: 'v1', resource: 'namespaces' }, namespace: undefined, name: 'shop' }
    const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }
    const placeless = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } }
    const mutations = [
      write({ ...of, verb: 'Create' }, shop, 1),
      write({ ...of, verb: 'Patch', patchType: merge }, { metadata: { labels: { is: 'open' } } }, 2),
      write({ verb: 'Create', namespace: 'shop' }, placeless, 3),
      write({ ...of, verb: 'Delete', name: 'none' }, undefined, 4),
    ]
    expect((await all(client, mutations)).map(({ error }) => error)).toEqual(Array(4).fill(undefined))
    expect(sent.map((each) => each.replace(/\?.*/, ''))).toEqual([
      'POST /api/v1/namespaces',
      'PATCH /api/v1/namespaces/shop',
      'POST /api/v1/namespaces/shop/configmaps',
      'DELETE /api/v1/namespaces/none',
    ])
    expect(await client.get(namespaces, { name: 'shop' })).toMatchObject({ metadata: { labels: { is: 'open' } } })
    expect(await client.get(configMaps, { name: 'a', namespace: 'shop' })).toMatchObject({ data: { k: 'v' } })
  })

  it('reports objects that are written more than once, other than by apply', () => {
    const twice = [
      write({ verb: 'Update' }, object('a'), 1),
      write({ verb: 'Update', controller: 'd' }, object('a'), 2),
    ]
    expect(severalWrites(twice)).toEqual(['Configuration configmaps. default/a: Update by c, Update by d'])
    expect(severalWrites([write({}, object('a'), 1), write({}, object('a'), 2)])).toEqual([])
  })
})
