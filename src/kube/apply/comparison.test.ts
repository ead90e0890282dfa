import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import type { Schema } from '../schema.ts'
import { compareValues } from './comparison.ts'
import { encodeFields } from './fields-v1.ts'
import { deduced, type ApplyShape, shapeOf } from './shape.ts'

const text: Schema = { type: 'string' }
const shape = shapeOf({
  type: 'object',
  properties: {
    spec: {
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
          items: { type: 'object', properties: { name: text, v: text } },
        },
      },
    },
  },
}).map?.field('spec') as ApplyShape

/** The sets that are not empty, as managedFields would write them. */
function compare(before: Json, after: Json, of: ApplyShape = shape): Json {
  const sets = Object.entries(compareValues(before, after, of)).filter(([, set]) => set.length > 0)
  return Object.fromEntries(sets.map(([name, set]) => [name, encodeFields(set)]))
}

describe('comparing', () => {
  it('equal values yields no change', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        expect(compare(value, structuredClone(value), deduced)).toEqual({})
      }),
    )
  })

  it('is symmetric: what is added one way is removed the other way', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 3, values: [fc.integer()] }), fc.object({ values: [fc.integer()] }), (a, b) => {
        const there = compareValues(a as Json, b as Json, deduced)
        const back = compareValues(b as Json, a as Json, deduced)
        expect(back).toEqual({ added: there.removed, removed: there.added, modified: there.modified })
      }),
    )
  })

  it('reports added, removed and changed fields', () => {
    const before = { a: '1', labels: { p: '1', q: '1' } }
    const after = { labels: { q: '2', r: '1' }, args: ['x'] }
    expect(compare(before, after)).toEqual({
      added: { 'f:labels': { 'f:r': {} }, 'f:args': {} },
      modified: { 'f:labels': { 'f:q': {} } },
      removed: { 'f:a': {}, 'f:labels': { 'f:p': {} } },
    })
  })

  it('counts an added or removed map or list, along with its parts', () => {
    const whole = { 'f:labels': { '.': {}, 'f:p': {} } }
    expect(compare({}, { labels: { p: '1' } })).toEqual({ added: whole })
    expect(compare({ labels: { p: '1' } }, {})).toEqual({ removed: whole })
    expect(compare({}, { items: [{ name: 'm' }] })).toEqual({
      added: { 'f:items': { '.': {}, 'k:{"name":"m"}': { '.': {}, 'f:name': {} } } },
    })
  })

  it('ignores the order of keyed lists, but not that of atomic lists', () => {
    const before = { tags: ['a', 'b'], items: [{ name: 'm' }, { name: 'n' }], args: ['a', 'b'] }
    const after = { tags: ['b', 'a'], items: [{ name: 'n' }, { name: 'm' }], args: ['b', 'a'] }
    expect(compare(before, after)).toEqual({ modified: { 'f:args': {} } })
  })

  it('treats atomic values as one', () => {
    expect(compare({ atomic: { x: '1' } }, { atomic: { x: '1', y: '1' } })).toEqual({ modified: { 'f:atomic': {} } })
  })

  it('distinguishes null, empty and absent', () => {
    expect(compare({ labels: null }, { labels: {} })).toEqual({ modified: { 'f:labels': {} } })
    expect(compare({}, { labels: null })).toEqual({ added: { 'f:labels': {} } })
    expect(compare({ labels: null }, { labels: { p: '1' } })).toEqual({ added: { 'f:labels': { 'f:p': {} } } })
    expect(compare({ tags: [] }, { tags: null })).toEqual({ modified: { 'f:tags': {} } })
  })

  it('reports a value of another type as changed, and its parts as removed or added', () => {
    expect(compare({ x: { y: 1 } }, { x: 'text' }, deduced)).toEqual({
      modified: { 'f:x': {} },
      removed: { 'f:x': { 'f:y': {} } },
    })
    expect(compare({ x: 1 }, { x: { y: 1 } }, deduced)).toEqual({
      modified: { 'f:x': {} },
      added: { 'f:x': { 'f:y': {} } },
    })
  })

  it('treats duplicate items of one key as one value', () => {
    const one = { items: [{ name: 'm', v: '1' }] }
    const two = {
      items: [
        { name: 'm', v: '1' },
        { name: 'm', v: '2' },
      ],
    }
    const item = { 'f:items': { 'k:{"name":"m"}': {} } }
    const parts = { 'f:items': { 'k:{"name":"m"}': { '.': {}, 'f:name': {}, 'f:v': {} } } }
    expect(compare(one, two)).toEqual({ added: item, removed: parts })
    expect(compare(two, one)).toEqual({ added: parts, removed: item })
    expect(compare(two, { items: two.items.toReversed() })).toEqual({ modified: item })
    expect(compare({ tags: ['a', 'a'] }, {})).toEqual({ removed: { 'f:tags': { '.': {}, 'v:"a"': {} } } })
  })

  it('treats a struct of a built-in kind as always present', () => {
    const definitions = {
      ObjectMeta: { type: 'object', properties: { name: text } },
      Spec: {
        type: 'object',
        required: ['items', 'x'],
        properties: { items: { type: 'array', items: text }, x: { type: 'string', default: '' } },
      },
    } as const
    const root: Schema = {
      type: 'object',
      properties: {
        metadata: { $ref: 'ObjectMeta', default: {} },
        spec: { $ref: 'Spec', default: {} },
        more: { $ref: 'Spec' },
      },
    }
    const builtin = shapeOf(root, definitions)
    expect(compare({}, { spec: { x: 'y' } }, builtin)).toEqual({ modified: { 'f:spec': { 'f:x': {} } } })
    expect(compare({ spec: { x: 'y', items: ['a'] } }, {}, builtin)).toEqual({
      modified: { 'f:spec': { 'f:items': {}, 'f:x': {} } },
    })
    expect(compare({}, { spec: { x: '', items: null }, metadata: {} }, builtin)).toEqual({})
    // One that may be absent comes with all that it always has.
    expect(compare({}, { more: { x: 'y' } }, builtin)).toEqual({
      added: { 'f:more': { '.': {}, 'f:items': {}, 'f:x': {} } },
    })
  })
})
