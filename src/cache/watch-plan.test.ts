import { array, assert, integer, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anObject, aScope, aShape, scope, type ScopeText } from '../../test/watch-scopes.ts'
import { describeWatch, inWatchScope, pathsToSelect, type ObjectShape, shapeServes } from './need.ts'
import { mostWatches, planWatches, type PlannedWatch, type ScopedNeed } from './watch-plan.ts'

const full: ObjectShape = { detail: 'full', managedFields: false }
const metadata: ObjectShape = { detail: 'metadata', managedFields: false }
const want = (text: ScopeText, shape = full): ScopedNeed => ({ scope: scope(text), shape })
const needs = array(record({ scope: aScope, shape: aShape }), { minLength: 1, maxLength: 8 })
const bound = integer({ min: 1, max: 4 })
const described = (planned: readonly PlannedWatch[]): readonly string[] =>
  planned.map(({ watch }) => describeWatch(watch)).toSorted()

const names = (count: number, namespace = 'a'): readonly ScopedNeed[] =>
  Array.from({ length: count }, (_, index) => want({ namespace, fields: `metadata.name=n${index}` }))

describe('the plan of watches', () => {
  it('serves every need completely, with all required fields of each object', () => {
    assert(
      property(needs, bound, anObject, (all, most, object) => {
        const planned = planWatches({ needs: all, most })
        for (const { scope: asked, shape } of all) {
          const hosts = planned.filter((one) =>
            one.needs.some((each) => each.scope.key === asked.key && each.shape === shape),
          )
          for (const { watch } of hosts) {
            expect(!inWatchScope(asked, object) || inWatchScope(watch.scope, object)).toBe(true)
            expect(shapeServes(watch.shape, shape)).toBe(true)
            expect(shapeServes(watch.shape, { ...metadata, detail: pathsToSelect(asked, watch.scope) })).toBe(true)
          }
        }
        const served = new Set(planned.flatMap((one) => one.needs.map((each) => each.scope.key)))
        expect(all.every((each) => served.has(each.scope.key))).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('respects the limit, has no duplicates, and delivers unneeded objects only by joined watches', () => {
    assert(
      property(needs, bound, anObject, (all, most, object) => {
        const planned = planWatches({ needs: all, most })
        expect(planned.length).toBeLessThanOrEqual(most)
        expect(new Set(described(planned)).size).toBe(planned.length)
        for (const { watch, isJoined, needs: some } of planned) {
          const isWhole = some.every((each) => each.scope.prefix === undefined)
          if (isJoined || !isWhole || !inWatchScope(watch.scope, object)) continue
          expect(some.some((each) => inWatchScope(each.scope, object))).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('does the same beside existing joined watches, and is stable while needs do not change', () => {
    assert(
      property(needs, needs, bound, (before, after, most) => {
        const next = (planned: readonly PlannedWatch[]): readonly PlannedWatch[] =>
          planWatches({ needs: after, joined: planned.filter(({ isJoined }) => isJoined), most })
        const planned = next(planWatches({ needs: before, most }))
        expect(planned.length).toBeLessThanOrEqual(most)
        expect(new Set(described(planned)).size).toBe(planned.length)
        const again = next(planned)
        expect(described(next(again))).toEqual(described(again))
      }),
      { numRuns: 300 },
    )
  })

  it.each<[string, readonly ScopedNeed[], readonly string[]]>([
    ['the same twice', [want({}), want({})], ['*[][] full']],
    ['overlapping fields of the same selection', [want({}), want({}, metadata)], ['*[][] full']],
    ['a label’s values', [want({ labels: 'app=x' }), want({ labels: 'app=y' })], ['*[app in (x,y)][] full']],
    ['two labels', [want({ labels: 'app=x' }), want({ labels: 'tier=z' })], ['*[app=x][] full', '*[tier=z][] full']],
    ['one contained in another', [want({}), want({ namespace: 'a', labels: 'app=x' })], ['*[][] full']],
    [
      'one contained in another with fewer fields',
      [want({}, metadata), want({ namespace: 'a' })],
      ['*[][] metadata', 'a[][] full'],
    ],
    [
      'one contained in another without the fields of its selector',
      [want({}, metadata), want({ fields: 'status.phase=Failed' }, metadata)],
      ['*[][] metadata', '*[][status.phase=Failed] metadata'],
    ],
    [
      'a label in all namespaces beside a name',
      [want({ labels: 'app=x' }), want({ namespace: 'a', fields: 'metadata.name=one' })],
      ['*[app=x][] full', 'a[][metadata.name=one] full'],
    ],
    ['name prefixes', [want({ prefix: 'a-' }), want({ prefix: 'b-' })], ['*[][] full']],
    [
      'a name beside a prefix',
      [want({ namespace: 'a', prefix: 'a-' }), want({ namespace: 'a', fields: 'metadata.name=b' })],
      ['a[][] full', 'a[][metadata.name=b] full'],
    ],
    ['many names', names(mostWatches), names(mostWatches).map((one) => `${one.scope.key} full`)],
    ['too many names', names(mostWatches + 1), ['a[][] full']],
    [
      'too many names in two namespaces',
      [...names(mostWatches), ...names(2, 'b'), ...names(1, 'c')],
      ['a[][] full', 'b[][] full', 'c[][metadata.name=n0] full'],
    ],
    ['too many namespaces', Array.from({ length: 51 }, (_, index) => want({ namespace: `n${index}` })), ['*[][] full']],
  ])('%s', (_, all, expected) => {
    expect(described(planWatches({ needs: all }))).toEqual([...expected].toSorted())
  })

  it('keeps a joined watch, with later ones beside it, until there are too many or half as many', () => {
    const joined = planWatches({ needs: names(51) })
    expect(planWatches({ needs: names(60), joined })).toHaveLength(10)
    expect(planWatches({ needs: names(101), joined })).toHaveLength(1)
    expect(planWatches({ needs: names(26), joined })).toHaveLength(1)
    expect(planWatches({ needs: names(25), joined })).toHaveLength(25)
  })

  it('splits watches that the server forbids, and serves no other need by them', () => {
    const refuses = (...keys: readonly string[]) => ({
      isRefused: (watch: PlannedWatch['watch']) => keys.includes(describeWatch(watch)),
    })
    expect(planWatches({ needs: names(60), ...refuses('a[][] full') })).toHaveLength(60)
    const places = Array.from({ length: 51 }, (_, index) => want({ namespace: `n${index}` }))
    expect(planWatches({ needs: places, ...refuses('*[][] full') })).toHaveLength(51)
    const wide = [want({}), want({ namespace: 'a', fields: 'metadata.name=one' })]
    expect(planWatches({ needs: wide })).toHaveLength(1)
    expect(planWatches({ needs: wide, ...refuses('*[][] full') })).toHaveLength(2)
    const values = [want({ labels: 'app=x' }), want({ labels: 'app=y' })]
    expect(planWatches({ needs: values, ...refuses('*[app in (x,y)][] full') })).toHaveLength(2)
  })

  it('is fast for thousands of names', () => {
    const all = [...names(5000), want({ labels: 'app=x' })]
    const joined = planWatches({ needs: all })
    expect(
      planWatches({ needs: [...all, want({ namespace: 'a', fields: 'metadata.name=new' })], joined }),
    ).toHaveLength(3)
  })
})
