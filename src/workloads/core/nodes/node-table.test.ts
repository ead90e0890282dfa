import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ResourceAmounts } from '../../../kube/scheduling/pod-needs.ts'
import { createNodeTable, type NodeTable, type PodGroup } from './node-table.ts'
import { makePodShape, type PodShape, podShapeOf } from '../pods/pod-shape.ts'

const resources = ['cpu', 'memory', 'example.com/gpu', 'example.com/nic', 'hugepages-2Mi', 'ephemeral-storage']
const names = ['a', 'b', 'c', 'd']

const amounts = fc.dictionary(fc.constantFrom(...resources), fc.integer({ min: 1, max: 9 }), { maxKeys: 3 })
const shapes = fc
  .record({ requests: amounts, zone: fc.option(fc.constantFrom('x', 'y')), isExclusive: fc.boolean() })
  .map(({ requests, zone, isExclusive }) =>
    makePodShape(
      new Map(Object.entries(requests)),
      zone === null ? {} : { nodeSelector: { zone } },
      isExclusive ? 1 : Infinity,
    ),
  )
const changes = fc.array(
  fc.oneof(
    fc.record({
      set: fc.constantFrom(...names),
      zone: fc.constantFrom('x', 'y'),
      has: fc.option(fc.dictionary(fc.constantFrom(...resources), fc.integer({ min: 0, max: 30 }))),
    }),
    fc.record({ take: fc.constantFrom(...names), shape: shapes, count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ watch: shapes }),
    fc.record({ forget: fc.nat() }),
  ),
  { maxLength: 40 },
)

/** The table, and the same by plain bookkeeping. */
interface Model {
  readonly table: NodeTable
  readonly nodes: Map<string, { readonly zone: string; readonly allocatable: ResourceAmounts }>
  readonly taken: Map<string, Map<string, number>>
}

function play(steps: typeof changes extends fc.Arbitrary<infer Steps> ? Steps : never): Model {
  const model: Model = { table: createNodeTable(), nodes: new Map(), taken: new Map() }
  const { table, nodes, taken } = model
  const watched: PodShape[] = []
  for (const step of steps) {
    if ('set' in step) {
      const { set: name, has, zone } = step
      const allocatable = new Map(Object.entries({ pods: 4, ...has }))
      if (has === null) nodes.delete(name)
      else nodes.set(name, { zone, allocatable })
      table.setNode(name, has === null ? undefined : { metadata: { name, labels: { zone } } }, allocatable)
    } else if ('take' in step) {
      const own = taken.get(step.take) ?? new Map<string, number>()
      taken.set(step.take, own)
      for (const [resource, amount] of step.shape.requests)
        own.set(resource, (own.get(resource) ?? 0) + amount * step.count)
      table.take(step.take, step.shape.requests, step.count)
    } else if ('watch' in step) {
      watched.push(step.watch)
      table.watch(step.watch)
    } else if (watched.length > 0) {
      const [shape] = watched.splice(step.forget % watched.length, 1)
      table.forget(shape!)
    }
  }
  return model
}

function freeOf({ nodes, taken }: Model, name: string, resource: string): number {
  return (nodes.get(name)?.allocatable.get(resource) ?? 0) - (taken.get(name)?.get(resource) ?? 0)
}

function roomOf(model: Model, shape: PodShape): number {
  let room = 0
  for (const [name, { zone }] of model.nodes) {
    const wanted = shape.constraints.nodeSelector?.['zone']
    if (wanted !== undefined && wanted !== zone) continue
    const fits = [...shape.requests].map(([resource, amount]) => Math.floor(freeOf(model, name, resource) / amount))
    room += Math.max(0, Math.min(shape.perNode, ...fits))
  }
  return room
}

describe('the table of nodes', () => {
  it('has the room that a count over all nodes gives, after any changes, for watched and unwatched shapes', () => {
    fc.assert(
      fc.property(changes, shapes, fc.boolean(), (steps, shape, isWatched) => {
        const first = play([...(isWatched ? [{ watch: shape }] : []), ...steps.filter((step) => !('forget' in step))])
        expect(first.table.room(shape)).toBe(roomOf(first, shape))
        const model = play(steps)
        expect(model.table.room(shape)).toBe(roomOf(model, shape))
      }),
    )
  })

  it('places groups only on nodes that accept them and have the room, and changes nothing by it', () => {
    fc.assert(
      fc.property(
        changes,
        fc.array(fc.record({ shape: shapes, count: fc.integer({ min: 1, max: 6 }) }), { minLength: 1, maxLength: 3 }),
        (steps, groups: readonly PodGroup[]) => {
          const model = play(steps)
          const before = groups.map(({ shape }) => model.table.room(shape))
          const placed = model.table.place(groups)
          expect(groups.map(({ shape }) => model.table.room(shape))).toEqual(before)
          if (!placed) return
          for (const { shape, count } of groups)
            expect(
              placed.filter((one) => one.shape.key === shape.key).reduce((sum, one) => sum + one.count, 0),
            ).toBeGreaterThanOrEqual(count)
          for (const { node, shape, count } of placed) {
            const wanted = shape.constraints.nodeSelector?.['zone']
            expect([undefined, model.nodes.get(node)?.zone]).toContain(wanted)
            expect(count).toBeLessThanOrEqual(shape.perNode)
          }
          for (const name of new Set(placed.map(({ node }) => node)))
            for (const resource of [...resources, 'pods']) {
              const used = placed
                .filter(({ node }) => node === name)
                .reduce((sum, { shape, count }) => sum + (shape.requests.get(resource) ?? 0) * count, 0)
              expect(used).toBeLessThanOrEqual(Math.max(0, freeOf(model, name, resource)))
            }
        },
      ),
    )
  })

  it('places one group exactly if there is room for all of it', () => {
    fc.assert(
      fc.property(changes, shapes, fc.integer({ min: 1, max: 8 }), (steps, shape, count) => {
        const { table } = play(steps)
        expect(table.place([{ shape, count }]) !== undefined).toBe(table.room(shape) >= count)
      }),
    )
  })

  it('keeps the pods of a node that is missing, and counts them when it is back', () => {
    const table = createNodeTable()
    const shape = makePodShape(new Map([['cpu', 1000]]))
    table.take('a', shape.requests, 2)
    table.setNode(
      'a',
      { metadata: { name: 'a' } },
      new Map([
        ['cpu', 4000],
        ['pods', 10],
      ]),
    )
    expect(table.room(shape)).toBe(2)
    table.setNode('a', undefined)
    expect(table.room(shape)).toBe(0)
    table.setNode(
      'a',
      { metadata: { name: 'a' } },
      new Map([
        ['cpu', 8000],
        ['pods', 10],
      ]),
    )
    expect(table.room(shape)).toBe(6)
  })
})

describe('the shape of a pod', () => {
  it('counts init containers, sidecars, overhead and extended resources, and knows its node constraints', () => {
    const shape = podShapeOf({
      containers: [{ name: 'main', resources: { requests: { cpu: '500m', 'example.com/gpu': '2' } } }],
      initContainers: [
        { name: 'proxy', restartPolicy: 'Always', resources: { requests: { cpu: '100m' } } },
        { name: 'load', resources: { requests: { cpu: '2' } } },
      ],
      overhead: { cpu: '50m' },
      nodeSelector: { zone: 'x' },
    })
    expect(Object.fromEntries(shape.requests)).toEqual({ cpu: 2150, 'example.com/gpu': 2, pods: 1 })
    expect(shape.constraints).toEqual({ nodeSelector: { zone: 'x' } })
  })

  it('is the same for pods that differ in what does not matter', () => {
    const one = podShapeOf({
      containers: [{ name: 'a', image: 'x', resources: { requests: { cpu: 1, memory: '1Gi' } } }],
    })
    const other = podShapeOf({
      containers: [{ name: 'b', image: 'y', resources: { requests: { memory: '1024Mi', cpu: '1000m' } } }],
    })
    expect(one.key).toBe(other.key)
  })

  it('fits a node once if it takes a port of the host', () => {
    const shape = podShapeOf({ containers: [{ name: 'a', ports: [{ containerPort: 80, hostPort: 80 }] }] })
    const table = createNodeTable()
    table.setNode('a', { metadata: { name: 'a' } }, new Map([['pods', 10]]))
    expect(table.room(shape)).toBe(1)
  })
})
