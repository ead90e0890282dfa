import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { createQuotaTree } from '../core/quota/quota-tree.ts'
import { noQuotaObjects, type QuotaModel, type QuotaObjects, readQuota } from './quota-model.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd', 'default', 'constructor')
const amount = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.constantFrom('500m', '2', '-1', '1e3', 'x', '', '9E'),
  fc.boolean(),
)
const amounts = fc.dictionary(fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu', '__proto__'), amount, { maxKeys: 3 })

const child = fc.record(
  { name: fc.oneof(name, fc.constant(7)), quotas: fc.record({ requests: amounts, hardLimit: fc.boolean() }) },
  { requiredKeys: [] },
)

const group = fc.record({
  coveredResources: fc.array(fc.constantFrom('cpu', 'memory'), { maxLength: 2 }),
  flavors: fc.array(
    fc.record({
      name,
      resources: fc.array(
        fc.record(
          {
            name: fc.constantFrom('cpu', 'memory'),
            nominalQuota: amount,
            borrowingLimit: amount,
            lendingLimit: amount,
          },
          { requiredKeys: ['name'] },
        ),
        { maxLength: 2 },
      ),
    }),
    { maxLength: 2 },
  ),
})

const specs: Readonly<Record<keyof QuotaObjects, fc.Arbitrary<object>>> = {
  subtrees: fc.record({ parent: name, children: fc.array(child, { maxLength: 4 }) }, { requiredKeys: [] }),
  clusterQueues: fc.record(
    {
      cohortName: name,
      resourceGroups: fc.array(group, { maxLength: 2 }),
      namespaceSelector: fc.constantFrom({}, { matchLabels: { team: 'a' } }, { matchExpressions: [null] }, 3),
      stopPolicy: fc.constantFrom('None', 'Hold', 'Never'),
    },
    { requiredKeys: [] },
  ),
  cohorts: fc.record({ parentName: name, resourceGroups: fc.array(group, { maxLength: 1 }) }, { requiredKeys: [] }),
  localQueues: fc.record({ clusterQueue: name }),
  resourceFlavors: fc.record({ nodeLabels: fc.dictionary(name, name, { maxKeys: 1 }) }, { requiredKeys: [] }),
  priorityClasses: fc.constant({}),
}

/** Any JSON now and then: a directory may hold anything. */
const specOr = (spec: fc.Arbitrary<object>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: spec }, { weight: 1, arbitrary: fc.jsonValue() })

const objectsOf = (kind: keyof QuotaObjects): fc.Arbitrary<KubeObject[]> =>
  fc.uniqueArray(
    fc.record({
      apiVersion: fc.constant('x/v1'),
      kind: fc.constant(kind),
      metadata: fc.record(
        {
          name: fc.string({ minLength: 1, maxLength: 3 }),
          namespace: name,
          labels: fc.record({ tree: fc.constantFrom('one', 'two') }),
          creationTimestamp: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
        },
        { requiredKeys: ['name'] },
      ),
      spec: specOr(specs[kind]),
      value: fc.oneof(fc.integer(), fc.constant('x')),
    }),
    { maxLength: 6, selector: ({ metadata }) => `${metadata.namespace}/${metadata.name}` },
  )

const anyObjects = fc.record({
  subtrees: objectsOf('subtrees'),
  clusterQueues: objectsOf('clusterQueues'),
  cohorts: objectsOf('cohorts'),
  localQueues: objectsOf('localQueues'),
  resourceFlavors: objectsOf('resourceFlavors'),
  priorityClasses: objectsOf('priorityClasses'),
})

const options = { quotaEnabled: true, preemption: true }

const labels = fc.record({ one: name, two: name, 'kueue.x-k8s.io/queue-name': name }, { requiredKeys: [] })

const seen = ({ pools, problems }: QuotaModel): unknown => ({ pools, problems })

describe('the model of quota', () => {
  it('is the same in any order of objects, and nothing malformed makes it fail', () => {
    const given = anyObjects.chain((objects) => {
      const shuffled = (list: readonly KubeObject[]) =>
        fc.shuffledSubarray([...list], { minLength: list.length, maxLength: list.length })
      return fc.record({
        objects: fc.constant(objects),
        other: fc.record({
          subtrees: shuffled(objects.subtrees),
          clusterQueues: shuffled(objects.clusterQueues),
          cohorts: shuffled(objects.cohorts),
          localQueues: shuffled(objects.localQueues),
          resourceFlavors: shuffled(objects.resourceFlavors),
          priorityClasses: shuffled(objects.priorityClasses),
        }),
        labels,
        namespace: name,
      })
    })
    fc.assert(
      fc.property(given, ({ objects, other, labels: own, namespace }) => {
        const [first, second] = [readQuota(objects, options), readQuota(other, options)]
        expect(seen(second)).toEqual(seen(first))
        const workload = { namespace, labels: own, namespaceLabels: {} }
        expect(second.chargeOf(workload)).toEqual(first.chargeOf(workload))
      }),
    )
  })

  it('has pools with unique names, known parents and no cycles, and charges only to them', () => {
    fc.assert(
      fc.property(anyObjects, labels, name, (objects, own, namespace) => {
        const model = readQuota(objects, options)
        const parents = new Map(model.pools.map((pool) => [pool.name, pool.parent]))
        expect(parents.size).toBe(model.pools.length)
        for (const pool of model.pools) {
          let at: string | undefined = pool.name
          for (let steps = 0; at !== undefined; steps++) {
            expect(parents.has(at)).toBe(true)
            expect(steps).toBeLessThan(parents.size)
            at = parents.get(at)
          }
        }
        const charge = model.chargeOf({ namespace, labels: own, namespaceLabels: {} })
        const charged = charge.kind === 'Charged' ? charge.pools : []
        expect(charged.filter((pool) => !parents.has(pool))).toEqual([])
      }),
    )
  })

  it('gives each node of a tree what QuotaSubtrees say, with all that is below it', () => {
    fc.assert(
      fc.property(objectsOf('subtrees'), (subtrees) => {
        const { pools } = readQuota({ ...noQuotaObjects, subtrees }, options)
        const tree = createQuotaTree()
        tree.setNodes(
          pools.map(({ name: id, parent, groups }) => ({
            name: id,
            ...(parent !== undefined && { parent }),
            limits: groups[0]!.flavors[0]!.limits,
          })),
        )
        const below = (id: string, resource: string): number => {
          const pool = pools.find((one) => one.name === id)!
          const own = pool.groups[0]!.flavors[0]!.limits.get(resource)?.nominal ?? 0
          return pools.filter(({ parent }) => parent === id).reduce((sum, one) => sum + below(one.name, resource), own)
        }
        const roots = pools.filter(({ parent }) => parent === undefined)
        for (const { name: id } of roots) expect(tree.available(id, 'cpu')).toBe(below(id, 'cpu'))
      }),
    )
  })
})
