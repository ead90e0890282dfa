import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import type { Schema } from '../schema.ts'
import { decodeFields } from './fields-v1.ts'
import { managerId, type Ownership } from './managed-fields.ts'
import { pruneApplied } from './prune.ts'
import { shapeOf } from './shape.ts'

const text: Schema = { type: 'string' }
const map: Schema = { type: 'object', additionalProperties: text }
const shape = shapeOf({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: text,
        sub: { type: 'object', properties: { x: text, y: text } },
        labels: map,
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: text, v: text, labels: map } },
        },
      },
    },
  },
})

const owner = (manager: string, fields: Json): Ownership => ({
  manager,
  operation: 'Apply',
  apiVersion: 'v1',
  subresource: '',
  time: undefined,
  fields: decodeFields({ 'f:spec': fields }),
})

/** What is left of `spec` (which is applied as such, so that it stays) when the applier `m` owned `last`, owns `now`, and others own what they own. */
function pruned(spec: Json, last: Json, now: Json, ...others: readonly Json[]): Json {
  const owners = [owner('m', now), ...others.map((fields, index) => owner(`other${index}`, fields))]
  const managers = new Map(owners.map((one) => [managerId(one), one]))
  const merged = { apiVersion: 'v1', value: { spec }, shape }
  const out = pruneApplied(merged, owner('m', last), managers, (object) => object)
  return (out.value as { readonly spec?: Json }).spec ?? null
}

const item = (name: string, fields: Json): Json => ({ 'f:items': { [`k:{"name":"${name}"}`]: fields } })

describe('pruning', () => {
  it('removes fields that the applier omits and no other manager owns', () => {
    const spec = { a: '1', labels: { p: '1', q: '1', r: '1' } }
    const last = { 'f:a': {}, 'f:labels': { 'f:p': {}, 'f:q': {} } }
    expect(pruned(spec, last, {}, { 'f:labels': { 'f:q': {}, 'f:r': {} } })).toEqual({ labels: { q: '1', r: '1' } })
  })

  it('keeps fields without an owner beside owned ones', () => {
    const spec = { labels: { p: '1', unowned: '1', q: '1' } }
    expect(pruned(spec, { 'f:labels': { 'f:p': {} } }, {}, { 'f:labels': { 'f:q': {} } })).toEqual({
      labels: { unowned: '1', q: '1' },
    })
  })

  it('removes a struct without owned fields', () => {
    const spec = { a: '1', sub: { x: '1', y: 'unowned' }, labels: { p: '1', q: 'unowned' } }
    expect(pruned(spec, { 'f:sub': { 'f:x': {} }, 'f:labels': { 'f:p': {} } }, {}, { 'f:a': {} })).toEqual({ a: '1' })
  })

  it('removes an item that no manager owns', () => {
    const spec = { items: [{ name: 'm', v: '1' }, { name: 'n' }] }
    const last = item('m', { '.': {}, 'f:name': {}, 'f:v': {} })
    expect(pruned(spec, last, {}, item('n', { '.': {}, 'f:name': {} }))).toEqual({ items: [{ name: 'n' }] })
  })

  it('keeps an item that another manager owns, without the fields of the applier', () => {
    const spec = { items: [{ name: 'm', v: '1', labels: { p: '1' } }] }
    const theirs = item('m', { '.': {}, 'f:name': {}, 'f:labels': { 'f:p': {} } })
    expect(pruned(spec, item('m', { '.': {}, 'f:name': {}, 'f:v': {} }), {}, theirs)).toEqual({
      items: [{ name: 'm', labels: { p: '1' } }],
    })
  })

  it('removes an item with the fields of others, if no manager owns the item itself', () => {
    const spec = { a: '1', items: [{ name: 'm', labels: { p: '1' } }] }
    const theirs = item('m', { 'f:labels': { 'f:p': {} } })
    expect(pruned(spec, item('m', { '.': {}, 'f:name': {} }), {}, theirs)).toEqual({ a: '1', items: null })
  })

  it('changes nothing when all fields are applied again', () => {
    const merged = { apiVersion: 'v1', value: { spec: { a: '1' } }, shape }
    const last = owner('m', { 'f:a': {} })
    expect(pruneApplied(merged, last, new Map([[managerId(last), last]]), (object) => object)).toBe(merged)
  })
})
