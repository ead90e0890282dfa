import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beats, type Contender, hash, owners, winnerOf } from './rendezvous.ts'

const contenders = (): fc.Arbitrary<readonly Contender[]> =>
  fc.uniqueArray(
    fc.record({
      name: fc.string(),
      weight: fc.option(fc.double({ min: 0.1, max: 10, noNaN: true }), { nil: undefined }),
    }),
    { selector: ({ name }) => name, maxLength: 8 },
  )
const items = Array.from({ length: 1000 }, (_, index) => `operator-${index}`)
const members = (count: number): readonly Contender[] =>
  Array.from({ length: count }, (_, index) => ({ name: `muster-7d9c5b-${index}` }))
const shares = (among: readonly Contender[]): ReadonlyMap<string, number> => {
  const counted = new Map(among.map(({ name }) => [name, 0]))
  for (const owner of owners(items, among).values()) counted.set(owner, counted.get(owner)! + 1)
  return counted
}

describe('rendezvous hashing', () => {
  it('every item has one owner, whatever the order of members', () => {
    fc.assert(
      fc.property(contenders(), fc.string(), (all, item) => {
        expect(winnerOf(item, all)?.name).toBe(winnerOf(item, all.toReversed())?.name)
        expect(owners([item], all).size).toBe(all.length > 0 ? 1 : 0)
      }),
    )
  })

  it('when a member leaves, only its items move', () => {
    fc.assert(
      fc.property(contenders(), fc.string(), fc.nat(), (all, item, index) => {
        const gone = all[index % all.length]
        const before = winnerOf(item, all)
        const after = winnerOf(
          item,
          all.filter((one) => one !== gone),
        )
        expect(before === gone ? gone : after).toBe(before)
      }),
    )
  })

  it('when a member joins, only the items that it wins move', () => {
    fc.assert(
      fc.property(contenders(), fc.string(), (all, item) => {
        const [newcomer, ...others] = all
        fc.pre(newcomer !== undefined)
        expect([winnerOf(item, others), newcomer]).toContain(winnerOf(item, all))
      }),
    )
  })

  it('two members that know each other never both win, whichever others they know', () => {
    fc.assert(
      fc.property(contenders(), contenders(), fc.string(), (all, strangers, item) => {
        const [one, other, ...rest] = all
        fc.pre(one !== undefined && other !== undefined)
        const half = [one, other, ...rest.slice(0, 2)]
        const rests = [
          one,
          other,
          ...rest.slice(2),
          ...strangers.filter(({ name }) => !all.some((a) => a.name === name)),
        ]
        expect(winnerOf(item, half) === one && winnerOf(item, rests) === other).toBe(false)
        expect(beats(one, other, item)).toBe(!beats(other, one, item))
      }),
    )
  })

  it('shares are even, also for similar member names', () => {
    for (const share of shares(members(10)).values()) {
      expect(share).toBeGreaterThan(70)
      expect(share).toBeLessThan(130)
    }
  })

  it('a share is proportional to its weight', () => {
    const [first, ...rest] = members(5)
    const heavy = shares([{ ...first!, weight: 4 }, ...rest]).get(first!.name)!
    expect(heavy).toBeGreaterThan(450)
    expect(heavy).toBeLessThan(550)
  })

  it('scores are the same in every release', () => {
    expect([hash(''), hash('a'), hash('muster-a\nmemcached'), hash('é💥')]).toMatchInlineSnapshot(`
      [
        3338908027751811,
        7929297801672961,
        5982806453462287,
        3022406148979001,
      ]
    `)
    expect(Object.fromEntries(owners(items.slice(0, 6), members(4)))).toMatchInlineSnapshot(`
      {
        "operator-0": "muster-7d9c5b-0",
        "operator-1": "muster-7d9c5b-3",
        "operator-2": "muster-7d9c5b-0",
        "operator-3": "muster-7d9c5b-2",
        "operator-4": "muster-7d9c5b-2",
        "operator-5": "muster-7d9c5b-3",
      }
    `)
  })
})
