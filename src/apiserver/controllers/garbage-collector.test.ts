import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { embedded, type Embedded, widgetCrd } from '../../../test/embedded.ts'
import type { Json } from '../../kube/json.ts'
import type { OwnerReference, UntypedObject } from '../../kube/object.ts'

/** Kinds of nodes; `blue` and `green` are namespaces. */
const homes = {
  blue: { list: '/api/v1/namespaces/blue/configmaps', apiVersion: 'v1', kind: 'ConfigMap' },
  green: { list: '/api/v1/namespaces/green/configmaps', apiVersion: 'v1', kind: 'ConfigMap' },
  cluster: {
    list: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
  },
  widget: { list: '/apis/example.com/v1/namespaces/blue/widgets', apiVersion: 'example.com/v1', kind: 'Widget' },
} as const
type Home = keyof typeof homes

const namespaceOf = (home: Home): string | undefined =>
  home === 'cluster' ? undefined : home === 'green' ? 'green' : 'blue'

interface NodePlan {
  readonly home: Home
  readonly isHeld: boolean
  readonly owners: readonly {
    readonly to: number
    readonly how: 'plain' | 'misnamed' | 'ghost' | 'unknown'
    readonly blocks: boolean
  }[]
}

type Policy = 'Foreground' | 'Background' | 'Orphan'

type Step = { readonly deletes: number | 'namespace' | 'crd'; readonly policy: Policy }

interface Plan {
  readonly nodes: readonly NodePlan[]
  readonly steps: readonly Step[]
}

const size = 7

function plans(policies: readonly Policy[], stepKinds: readonly Step['deletes'][]): fc.Arbitrary<Plan> {
  const owner = fc.record({
    to: fc.nat(size - 1),
    how: fc.constantFrom(
      'plain' as const,
      'plain' as const,
      'plain' as const,
      'plain' as const,
      'misnamed' as const,
      'ghost' as const,
      'unknown' as const,
    ),
    blocks: fc.boolean(),
  })
  const node = fc.record({
    home: fc.constantFrom<Home>('blue', 'blue', 'blue', 'green', 'cluster', 'widget'),
    isHeld: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
    owners: fc.uniqueArray(owner, {
      maxLength: 3,
      selector: ({ to, how }) => `${to} ${how === 'plain' || how === 'misnamed'}`,
    }),
  })
  return fc.record({
    nodes: fc.array(node, { minLength: 1, maxLength: size }),
    steps: fc.array(
      fc.record({
        deletes: fc.oneof(fc.nat(size - 1), fc.constantFrom(...stepKinds, 0)),
        policy: fc.constantFrom(...policies),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  })
}

interface Graph {
  readonly cluster: Embedded
  readonly uids: readonly string[]
  readonly references: readonly (readonly OwnerReference[])[]
}

const json = { 'content-type': 'application/json' }
const merge = { 'content-type': 'application/merge-patch+json' }
const widgetCrdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com'

const pathOf = ({ home }: NodePlan, at: number): string => `${homes[home].list}/n${at}`

async function build({ nodes }: Plan): Promise<Graph> {
  const cluster = embedded()
  const { raw, clock } = cluster
  for (const name of ['blue', 'green']) {
    await raw('POST', '/api/v1/namespaces', { headers: json, body: { metadata: { name } } })
  }
  await raw('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { headers: json, body: widgetCrd() })
  await clock.settle()
  const uids: string[] = []
  for (const [at, { home, isHeld }] of nodes.entries()) {
    const { list, apiVersion, kind } = homes[home]
    const metadata = { name: `n${at}`, ...(isHeld && { finalizers: ['example.com/hold'] }) }
    const made = await raw('POST', list, { headers: json, body: { apiVersion, kind, metadata } })
    expect(made.status).toBe(201)
    uids.push((made.json as unknown as UntypedObject).metadata.uid!)
  }
  const references = nodes
    .map(({ owners }) =>
      owners.flatMap(({ to, how, blocks }): readonly OwnerReference[] => {
        const target = nodes[to % nodes.length]!
        const { apiVersion, kind } =
          how === 'unknown' ? { apiVersion: 'nowhere.example.com/v1', kind: 'Nothing' } : homes[target.home]
        const uid = how === 'plain' || how === 'misnamed' ? uids[to % nodes.length]! : `${how}-${to}`
        return [
          {
            apiVersion,
            kind,
            name: how === 'misnamed' ? 'other' : `n${to % nodes.length}`,
            uid,
            blockOwnerDeletion: blocks,
          },
        ]
      }),
    )
    .map((owners) => owners.filter((owner, at) => owners.findIndex((one) => one.uid === owner.uid) === at))
  return { cluster, uids, references }
}

async function stored({ cluster }: Graph, plan: Plan): Promise<readonly (UntypedObject | undefined)[]> {
  return await Promise.all(
    plan.nodes.map(async (node, at) => {
      const { status, json: object } = await cluster.raw('GET', pathOf(node, at))
      return status === 200 ? (object as unknown as UntypedObject) : undefined
    }),
  )
}

async function revision({ cluster }: Graph): Promise<number> {
  const { json: list } = await cluster.raw('GET', '/api/v1/namespaces')
  return Number((list as { readonly metadata: { readonly resourceVersion: string } }).metadata.resourceVersion)
}

/** Executes all steps of a plan; finalizers keep the objects. */
async function run(graph: Graph, plan: Plan): Promise<void> {
  const { raw, clock } = graph.cluster
  for (const [at, node] of plan.nodes.entries()) {
    const body = { metadata: { ownerReferences: graph.references[at]! } } as unknown as object
    await raw('PATCH', pathOf(node, at), { headers: merge, body })
  }
  await clock.settle()
  const before = await revision(graph)
  for (const { deletes, policy } of plan.steps) {
    const path =
      deletes === 'namespace'
        ? '/api/v1/namespaces/blue'
        : deletes === 'crd'
          ? widgetCrdPath
          : pathOf(plan.nodes[deletes % plan.nodes.length]!, deletes % plan.nodes.length)
    await raw('DELETE', path, { headers: json, body: { propagationPolicy: policy } })
  }
  await clock.settle()
  // Each object: marked, unblocked, freed, removed, and every reference dropped once; for each deletion that is asked for.
  const references = graph.references.flat().length
  const most = (4 * (plan.nodes.length + 2) + references) * plan.steps.length
  expect((await revision(graph)) - before).toBeLessThanOrEqual(most)
}

/** What is left to do for an object, though the garbage collector rests; undefined when there is nothing. */
function undoneOf(
  object: UntypedObject,
  { home }: NodePlan,
  all: readonly UntypedObject[],
  isServed: boolean,
): string | undefined {
  const { uid, finalizers = [], deletionTimestamp, ownerReferences: owners = [] } = object.metadata
  const isBlocking = ({ metadata }: UntypedObject): boolean =>
    metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion) ?? false
  if (deletionTimestamp !== undefined) {
    if (finalizers.includes('orphan')) return 'orphan the dependents'
    if (finalizers.length === 0) return 'remove it'
    const isFree = finalizers.includes('foregroundDeletion') && !all.some(isBlocking)
    return isFree ? 'remove the finalizer: no dependent blocks' : undefined
  }
  const isSolid = ({ uid: owner, name }: OwnerReference): boolean =>
    all.some(({ metadata }) => metadata.uid === owner && metadata.name === name)
  if (owners.length === 0 || owners.some(isSolid)) return undefined
  return owners.some((owner) => isUndecidable(home, owner, isServed)) ? undefined : 'delete it: no owner is left'
}

async function undone(graph: Graph, plan: Plan): Promise<readonly string[]> {
  const isServed = plan.steps.every(({ deletes }) => deletes !== 'crd')
  const objects = await stored(graph, plan)
  const all = objects.filter((object) => object !== undefined)
  return objects.flatMap((object, at) => (object && undoneOf(object, plan.nodes[at]!, all, isServed)) ?? [])
}

function isUndecidable(home: Home, { apiVersion, kind }: OwnerReference, isServed: boolean): boolean {
  if (kind === 'Nothing' || (!isServed && apiVersion === 'example.com/v1')) return true
  return home === 'cluster' && (kind === 'ConfigMap' || kind === 'Widget')
}

/** What is gone in the end, by the definition of garbage: deleted by a client, or with no owner left. */
function garbage({ uids, references }: Graph, { nodes, steps }: Plan): ReadonlySet<number> {
  const gone = new Set<number>()
  for (const { deletes } of steps) if (typeof deletes === 'number') gone.add(deletes % nodes.length)
  for (const [at, { home }] of nodes.entries()) {
    if (steps.some(({ deletes }) => deletes === 'namespace') && namespaceOf(home) === 'blue') gone.add(at)
    if (steps.some(({ deletes }) => deletes === 'crd') && home === 'widget') gone.add(at)
  }
  const isLost = (home: Home, { uid, name }: OwnerReference): boolean => {
    const to = uids.indexOf(uid)
    if (to < 0 || name !== `n${to}`) return true
    const owner = namespaceOf(nodes[to]!.home)
    return gone.has(to) || (owner !== undefined && owner !== namespaceOf(home))
  }
  for (let before = -1; before < gone.size;) {
    before = gone.size
    for (const [at, { home }] of nodes.entries()) {
      const owners = references[at]!
      if (owners.length === 0 || owners.some((owner) => isUndecidable(home, owner, true))) continue
      if (owners.every((owner) => isLost(home, owner))) gone.add(at)
    }
  }
  return gone
}

async function release(graph: Graph, plan: Plan): Promise<void> {
  const { raw, clock } = graph.cluster
  for (const at of plan.nodes.keys()) {
    const finalizers = (await stored(graph, plan))[at]?.metadata.finalizers ?? []
    if (!finalizers.includes('example.com/hold')) continue
    const left = finalizers.filter((one) => one !== 'example.com/hold')
    await raw('PATCH', pathOf(plan.nodes[at]!, at), { headers: merge, body: { metadata: { finalizers: left } } })
  }
  await clock.settle()
}

describe('garbage collection of random graphs', () => {
  it('reaches a stable state, and leaves nothing undone', async () => {
    await fc.assert(
      fc.asyncProperty(plans(['Foreground', 'Background', 'Orphan'], ['namespace', 'crd']), async (plan) => {
        const graph = await build(plan)
        await run(graph, plan)
        expect(await undone(graph, plan)).toEqual([])
        await release(graph, plan)
        expect(await undone(graph, plan)).toEqual([])
      }),
      { numRuns: 40 },
    )
  })

  it('collects exactly the garbage', async () => {
    await fc.assert(
      fc.asyncProperty(plans(['Foreground', 'Background'], ['namespace', 'crd']), async (plan) => {
        const graph = await build(plan)
        await run(graph, plan)
        await release(graph, plan)
        // Cycles in which clients deleted every object in the foreground: no cluster resolves them by itself.
        for (const [at, object] of (await stored(graph, plan)).entries()) {
          if (!object?.metadata.finalizers?.includes('foregroundDeletion')) continue
          const body = { propagationPolicy: 'Background' }
          await graph.cluster.raw('DELETE', pathOf(plan.nodes[at]!, at), { headers: json, body })
        }
        await graph.cluster.clock.settle()
        const gone = (await stored(graph, plan)).flatMap((object, at) => (object ? [] : [at]))
        expect(gone).toEqual([...garbage(graph, plan)].toSorted((a, b) => a - b))
        const names = (
          (await graph.cluster.raw('GET', '/api/v1/namespaces')).json as { readonly items: readonly Json[] }
        ).items
        const isKept = plan.steps.every(({ deletes }) => deletes !== 'namespace')
        expect(JSON.stringify(names).includes('"blue"')).toBe(isKept)
      }),
      { numRuns: 40 },
    )
  })
})

describe('an ownership cycle', () => {
  const node = (to: number): NodePlan => ({ home: 'blue', isHeld: false, owners: [{ to, how: 'plain', blocks: true }] })
  const circle = [node(2), node(0), node(1)]

  it('is collected when one object is deleted in the foreground', async () => {
    const plan: Plan = { nodes: circle, steps: [{ deletes: 0, policy: 'Foreground' }] }
    const graph = await build(plan)
    await run(graph, plan)
    expect(await stored(graph, plan)).toEqual([undefined, undefined, undefined])
  })

  it('stays while none of its objects is deleted', async () => {
    const plan: Plan = { nodes: circle, steps: [] }
    const graph = await build(plan)
    await run(graph, plan)
    expect((await stored(graph, plan)).every((object) => object !== undefined)).toBe(true)
  })

  it('of one object blocks its foreground deletion, until it is deleted in the background', async () => {
    const plan: Plan = { nodes: [node(0)], steps: [{ deletes: 0, policy: 'Foreground' }] }
    const graph = await build(plan)
    await run(graph, plan)
    expect((await stored(graph, plan))[0]?.metadata.finalizers).toEqual(['foregroundDeletion'])
    await graph.cluster.raw('DELETE', pathOf(circle[0]!, 0), {
      headers: json,
      body: { propagationPolicy: 'Background' },
    })
    expect(await stored(graph, plan)).toEqual([undefined])
  })
})

describe('the garbage collector', () => {
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const owner = { kind: 'Widget', name: 'w', uid: 'no-such-uid' }

  async function owned(cluster: Embedded, ownerReferences: readonly object[]): Promise<() => Promise<number>> {
    const body = { metadata: { name: 'owned', ownerReferences } }
    await cluster.raw('POST', configMaps, { headers: json, body })
    return async () => {
      await cluster.clock.settle()
      return (await cluster.raw('GET', `${configMaps}/owned`)).status
    }
  }

  it('leaves an object alone while the kind of its owner is not served', async () => {
    const cluster = embedded()
    const status = await owned(cluster, [{ ...owner, apiVersion: 'example.com/v1' }])
    expect(await status()).toBe(200)
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    await cluster.raw('POST', crds, { headers: json, body: widgetCrd() })
    expect(await status()).toBe(404)
  })

  it('does not accept an object of another namespace as the owner', async () => {
    const cluster = embedded()
    await cluster.raw('POST', '/api/v1/namespaces', { headers: json, body: { metadata: { name: 'blue' } } })
    const { list, apiVersion, kind } = homes.blue
    const made = await cluster.raw('POST', list, { headers: json, body: { metadata: { name: 'n0' } } })
    const { uid } = (made.json as { readonly metadata: { readonly uid: string } }).metadata
    const status = await owned(cluster, [{ apiVersion, kind, name: 'n0', uid }])
    expect(await status()).toBe(404)
  })

  it('never collects events', async () => {
    const cluster = embedded()
    const involvedObject = { namespace: 'default' }
    const ownerReferences = [{ ...owner, apiVersion: 'v1', kind: 'ConfigMap' }]
    const path = '/api/v1/namespaces/default/events'
    await cluster.raw('POST', path, {
      headers: json,
      body: { metadata: { name: 'e', ownerReferences }, involvedObject },
    })
    await cluster.clock.settle()
    expect((await cluster.raw('GET', `${path}/e`)).status).toBe(200)
  })

  it('deletes the dependents of a kind that orphans them by default', async () => {
    const cluster = embedded()
    const { raw, clock } = cluster
    const jobs = '/apis/batch/v1/namespaces/default/jobs'
    const containers = [{ name: 'c', image: 'i' }]
    const spec = { template: { spec: { containers, restartPolicy: 'Never' } } }
    const root = await raw('POST', configMaps, { headers: json, body: { metadata: { name: 'root' } } })
    const uidOf = (answer: typeof root): string => (answer.json as { metadata: { uid: string } }).metadata.uid
    const byRoot = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid: uidOf(root) }]
    const job = await raw('POST', jobs, {
      headers: json,
      body: { metadata: { name: 'j', ownerReferences: byRoot }, spec },
    })
    const status = await owned(cluster, [{ apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: uidOf(job) }])
    await raw('DELETE', `${configMaps}/root`)
    await clock.settle()
    expect((await raw('GET', `${jobs}/j`)).status).toBe(404)
    expect(await status()).toBe(404)
  })
})
