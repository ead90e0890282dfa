import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import type { Schema } from '../schema.ts'
import { mergeValues } from './merge.ts'
import { deduced, type ApplyShape, shapeOf } from './shape.ts'

const text: Schema = { type: 'string' }
const spec: Schema = {
  type: 'object',
  properties: {
    a: text,
    labels: { type: 'object', additionalProperties: text },
    args: { type: 'array', items: text },
    atomic: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { x: text, y: text } },
    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    items: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', properties: { name: text, v: text, w: text } },
    },
  },
}
const shape = shapeOf({ type: 'object', properties: { spec } }).map?.field('spec') as ApplyShape

const merge = (live: Json, applied: Json): Json => mergeValues(live, applied, shape)
const mergeTags = (live: readonly string[], applied: readonly string[]): Json =>
  (merge({ tags: live }, { tags: applied }) as { readonly tags: Json }).tags

describe('merging', () => {
  it('merges maps and items; the applied value wins', () => {
    const live = { a: '1', labels: { p: '1', q: '1' }, items: [{ name: 'm', v: '1', w: '1' }] }
    const applied = { labels: { q: '2', r: '2' }, items: [{ name: 'm', v: '2' }, { name: 'n' }] }
    expect(merge(live, applied)).toEqual({
      a: '1',
      labels: { p: '1', q: '2', r: '2' },
      items: [{ name: 'm', v: '2', w: '1' }, { name: 'n' }],
    })
  })

  it('replaces atomic values', () => {
    const live = { args: ['a', 'b'], atomic: { x: '1' } }
    expect(merge(live, { args: ['c'], atomic: { y: '1' } })).toEqual({ args: ['c'], atomic: { y: '1' } })
  })

  it('lets null and empty replace each other, but not a value with content', () => {
    expect(merge({ labels: { a: '1' }, tags: ['x'] }, { labels: null, tags: [] })).toEqual({
      labels: { a: '1' },
      tags: ['x'],
    })
    expect(merge({ labels: {}, tags: null, a: 'x' }, { labels: null, tags: [], a: null })).toEqual({
      labels: null,
      tags: [],
      a: null,
    })
  })

  it('returns the live value itself when nothing changes', () => {
    const live = { labels: { a: '1' }, items: [{ name: 'm', v: '1' }], args: ['x'], atomic: { x: '1' } }
    expect(merge(live, structuredClone(live))).toBe(live)
    expect(merge(live, { labels: {}, args: ['x'] })).toBe(live)
    const { items, args } = merge(live, { labels: { a: '2' } }) as typeof live
    expect([items, args]).toEqual([live.items, live.args])
    expect(items).toBe(live.items)
  })

  it('lets a value change its type where the schema allows any', () => {
    expect(mergeValues({ x: { y: 1 } }, { x: [1] }, deduced)).toEqual({ x: [1] })
    expect(mergeValues({ x: [1] }, { x: { y: 1 } }, deduced)).toEqual({ x: { y: 1 } })
  })

  it('handles names of Object.prototype', () => {
    const live = JSON.parse('{"labels":{"__proto__":"1"}}') as Json
    const applied = JSON.parse('{"labels":{"constructor":"2"}}') as Json
    expect(JSON.stringify(merge(live, applied))).toBe('{"labels":{"__proto__":"1","constructor":"2"}}')
  })
})

describe('the order of merged items', () => {
  it.each([
    // Live and applied agree: what only one has keeps its place between shared neighbours, the live one first.
    ['a b c', 'a b c', 'a b c'],
    ['a b c', 'b', 'a b c'],
    ['a b', 'c', 'a b c'],
    ['a c', 'a b c', 'a b c'],
    ['a x c', 'a b c', 'a x b c'],
    ['x a', 'a y', 'x a y'],
    // They do not: shared items follow the applied order.
    ['a b c', 'c b a', 'c b a'],
    ['a x b', 'b a', 'x b a'],
    ['a b', 'b n a', 'b n a'],
    ['b a x', 'a b c', 'a x b c'],
    // Of duplicates the applied one remains.
    ['a a b', 'a', 'a b'],
    ['a a x', 'a c', 'a c x'],
    ['d d', 'x', 'd d x'],
  ])('%s with %s is %s', (live, applied, merged) => {
    expect(mergeTags(live.split(' '), applied.split(' '))).toEqual(merged.split(' '))
  })

  const tags = (): fc.Arbitrary<string[]> => fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'))

  it('keeps the applied order, contains every item once, and is idempotent', () => {
    fc.assert(
      fc.property(tags(), tags(), (live, applied) => {
        const merged = mergeTags(live, applied) as readonly string[]
        expect(merged.toSorted()).toEqual([...new Set([...live, ...applied])].toSorted())
        expect(merged.filter((tag) => applied.includes(tag))).toEqual(applied)
        expect(mergeTags(merged, applied)).toEqual(merged)
      }),
    )
  })

  it('keeps the live order of items that are only in the live list', () => {
    fc.assert(
      fc.property(tags(), tags(), (live, applied) => {
        const own = live.filter((tag) => !applied.includes(tag))
        expect((mergeTags(live, applied) as readonly string[]).filter((tag) => own.includes(tag))).toEqual(own)
      }),
    )
  })
})
