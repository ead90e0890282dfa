import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import type { Schema } from '../schema.ts'
import { leaves } from './field-set.ts'
import { decodeFields } from './fields-v1.ts'
import { extractItems, removeItems } from './items.ts'
import { deduced, type ApplyShape, shapeOf } from './shape.ts'
import { fieldSetOf } from './value-fields.ts'

const text: Schema = { type: 'string' }
const spec: Schema = {
  type: 'object',
  properties: {
    a: text,
    labels: { type: 'object', additionalProperties: text },
    args: { type: 'array', items: text },
    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    items: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', properties: { name: text, v: text } },
    },
  },
}
const shape = shapeOf({ type: 'object', properties: { spec } }).map?.field('spec') as ApplyShape
const value = {
  a: '1',
  labels: { p: '1', q: '2' },
  args: ['x', 'y'],
  tags: ['t', 'u'],
  items: [
    { name: 'm', v: '1' },
    { name: 'n', v: '2' },
  ],
}

describe('removing', () => {
  const remove = (fields: Json): Json => removeItems(value, decodeFields(fields), shape)

  it('removes fields and items, and nothing else', () => {
    const fields = {
      'f:a': {},
      'f:labels': { 'f:p': {} },
      'f:tags': { 'v:"t"': {} },
      'f:items': { 'k:{"name":"m"}': {} },
    }
    expect(remove(fields)).toEqual({
      labels: { q: '2' },
      args: ['x', 'y'],
      tags: ['u'],
      items: [{ name: 'n', v: '2' }],
    })
  })

  it('descends into an item', () => {
    expect(remove({ 'f:items': { 'k:{"name":"m"}': { 'f:v': {} } } })).toMatchObject({
      items: [{ name: 'm' }, { name: 'n', v: '2' }],
    })
  })

  it('leaves null where nothing remains, and where part of an atomic value is removed', () => {
    const fields = {
      'f:labels': { 'f:p': {}, 'f:q': {} },
      'f:tags': { 'v:"t"': {}, 'v:"u"': {} },
      'f:args': { 'i:0': {} },
    }
    expect(remove(fields)).toMatchObject({ labels: null, tags: null, args: null })
  })

  it('an empty set returns the value itself', () => {
    expect(remove({})).toBe(value)
  })
})

describe('extracting', () => {
  const extract = (fields: Json): Json => extractItems(value, leaves(decodeFields(fields)), shape)

  it('keeps only the fields of the set', () => {
    const fields = {
      'f:labels': { '.': {}, 'f:q': {} },
      'f:args': {},
      'f:items': { 'k:{"name":"n"}': { '.': {}, 'f:name': {} } },
      'f:missing': {},
    }
    expect(extract(fields)).toEqual({ labels: { q: '2' }, args: ['x', 'y'], items: [{ name: 'n' }] })
  })

  it('keeps a map that is owned itself, without the content of other managers', () => {
    expect(extract({ 'f:labels': {}, 'f:tags': { 'v:"u"': {} } })).toEqual({ labels: {}, tags: ['u'] })
  })

  it('all fields of a value returns the value', () => {
    expect(extractItems(value, leaves(fieldSetOf(value, shape)), shape)).toEqual(value)
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (any) => {
        expect(extractItems(any, leaves(fieldSetOf(any, deduced)), deduced)).toEqual(any)
      }),
    )
  })
})
