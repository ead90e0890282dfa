import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { QuotaNode } from './quota-node.ts'
import { createQuotaTree } from './quota-tree.ts'

const limit = fc.record(
  {
    nominal: fc.integer({ min: 0, max: 20 }),
    borrowing: fc.integer({ min: 0, max: 20 }),
    lending: fc.integer({ min: 0, max: 20 }),
  },
  { requiredKeys: ['nominal'] },
)
/** Parents come before their children, so that there are no circles. */
const trees = fc
  .array(fc.record({ parent: fc.nat(), isRoot: fc.boolean(), limit }), { minLength: 1, maxLength: 6 })
  .map((nodes) =>
    nodes.map(({ parent, isRoot, limit: cpu }, index): QuotaNode => ({
      name: `${index}`,
      ...(index > 0 && !isRoot && { parent: `${parent % index}` }),
      limits: new Map([['cpu', cpu]]),
    })),
  )
const demands = fc.array(
  fc.record({ queue: fc.nat(), amount: fc.integer({ min: 1, max: 10 }), end: fc.option(fc.nat()) }),
  {
    maxLength: 40,
  },
)

/** Uses quota as long as it is available, and gives some back. */
function play(nodes: readonly QuotaNode[], steps: typeof demands extends fc.Arbitrary<infer Steps> ? Steps : never) {
  const tree = createQuotaTree()
  tree.setNodes(nodes)
  const running: { readonly name: string; readonly amounts: ReadonlyMap<string, number> }[] = []
  for (const { queue, amount, end } of steps) {
    const name = nodes[queue % nodes.length]!.name
    const amounts = new Map([['cpu', amount]])
    if (!tree.shortage([{ node: name, amounts }])) {
      tree.use(name, amounts, 1)
      running.push({ name, amounts })
    }
    if (end === null || running.length === 0) continue
    const [ended] = running.splice(end % running.length, 1)
    tree.use(ended!.name, ended!.amounts, -1)
  }
  return { tree, running }
}

function available(tree: ReturnType<typeof createQuotaTree>, nodes: readonly QuotaNode[]): readonly number[] {
  return nodes.map(({ name }) => tree.available(name, 'cpu'))
}

describe('a quota tree', () => {
  it('never lets all of a tree use more than its nodes have', () => {
    fc.assert(
      fc.property(trees, demands, (nodes, steps) => {
        const { running } = play(nodes, steps)
        const rootOf = (name: string): string => {
          const { parent } = nodes[Number(name)]!
          return parent === undefined ? name : rootOf(parent)
        }
        for (const [root, all] of Map.groupBy(running, ({ name }) => rootOf(name))) {
          const used = all.reduce((sum, { amounts }) => sum + amounts.get('cpu')!, 0)
          const nominal = nodes
            .filter(({ name }) => rootOf(name) === root)
            .reduce((sum, { limits }) => sum + limits!.get('cpu')!.nominal, 0)
          expect(used).toBeLessThanOrEqual(nominal)
        }
      }),
    )
  })

  it('is after any uses what a new tree is with what remains', () => {
    fc.assert(
      fc.property(trees, demands, (nodes, steps) => {
        const { tree, running } = play(nodes, steps)
        const fresh = createQuotaTree()
        for (const { name, amounts } of running) fresh.use(name, amounts, 1)
        fresh.setNodes(nodes)
        expect(available(fresh, nodes)).toEqual(available(tree, nodes))
      }),
    )
  })

  it('keeps its usage when it shrinks, and is as before when it grows back', () => {
    fc.assert(
      fc.property(trees, demands, (nodes, steps) => {
        const { tree, running } = play(nodes, steps)
        const before = available(tree, nodes)
        tree.setNodes([{ name: '0', limits: new Map([['cpu', { nominal: 0 }]]) }])
        tree.setNodes(nodes)
        expect(available(tree, nodes)).toEqual(before)
        for (const { name, amounts } of running) tree.use(name, amounts, -1)
        const empty = createQuotaTree()
        empty.setNodes(nodes)
        expect(available(tree, nodes)).toEqual(available(empty, nodes))
      }),
    )
  })

  it('lends what is not used, up to its limits', () => {
    const tree = createQuotaTree()
    const limits = (nominal: number, more = {}): NonNullable<QuotaNode['limits']> =>
      new Map([['cpu', { nominal, ...more }]])
    tree.setNodes([
      { name: 'all', limits: new Map() },
      { name: 'gold', parent: 'all', limits: limits(10, { lending: 4 }) },
      { name: 'silver', parent: 'all', limits: limits(5) },
      { name: 'hard', parent: 'all', limits: limits(5, { borrowing: 0 }) },
    ])
    expect(['silver', 'hard', 'gold'].map((name) => tree.available(name, 'cpu'))).toEqual([14, 5, 20])
    tree.use('silver', new Map([['cpu', 8]]), 1)
    expect(tree.isBorrowing('silver', 'cpu')).toBe(true)
    expect(tree.shortage([{ node: 'gold', amounts: new Map([['cpu', 13]]) }])).toEqual({
      node: 'gold',
      resource: 'cpu',
      requested: 13,
      available: 12,
    })
  })

  it('lends at every level what the whole subtree has beyond the limit', () => {
    const tree = createQuotaTree()
    const cpu = (nominal: number, more = {}): NonNullable<QuotaNode['limits']> =>
      new Map([['cpu', { nominal, ...more }]])
    tree.setNodes([
      { name: 'all', limits: cpu(1) },
      { name: 'team', parent: 'all', limits: cpu(2, { lending: 5 }) },
      { name: 'one', parent: 'team', limits: cpu(10) },
      { name: 'other', parent: 'all', limits: cpu(0) },
    ])
    // The team has 12, and lends 5 of them.
    expect(['other', 'one'].map((name) => tree.available(name, 'cpu'))).toEqual([6, 13])
    tree.use('one', new Map([['cpu', 9]]), 1)
    expect(['other', 'one'].map((name) => tree.available(name, 'cpu'))).toEqual([4, 4])
  })

  it('has nothing for an unknown node, and survives a circle of parents', () => {
    const tree = createQuotaTree()
    tree.setNodes([
      { name: 'a', parent: 'b', limits: new Map([['cpu', { nominal: 1 }]]) },
      { name: 'b', parent: 'a', limits: new Map([['cpu', { nominal: 1 }]]) },
    ])
    expect(tree.available('none', 'cpu')).toBe(0)
    expect(tree.available('a', 'cpu')).toBeGreaterThanOrEqual(0)
  })
})
