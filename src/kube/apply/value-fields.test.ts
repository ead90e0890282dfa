import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import type { Schema } from '../schema.ts'
import { encodeFields, decodeFields } from './fields-v1.ts'
import { deduced, type ApplyShape, shapeOf } from './shape.ts'
import { fieldSetOf, reshapeFields, withDeclaredFields } from './value-fields.ts'

const text: Schema = { type: 'string' }
const list = (type: 'map' | 'set' | 'atomic', items: Schema): Schema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': type,
  ...(type === 'map' && { 'x-kubernetes-list-map-keys': ['name'] }),
})
const struct = (properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
})
const specShape = (spec: Readonly<Record<string, Schema>>): ApplyShape =>
  shapeOf({ type: 'object', properties: { spec: struct(spec) } }).map?.field('spec') as ApplyShape

const shape = specShape({
  a: text,
  labels: { type: 'object', additionalProperties: text },
  sub: struct({ x: text, y: text }),
  atomic: struct({ x: text }, { 'x-kubernetes-map-type': 'atomic' }),
  items: list('map', struct({ name: text, v: text, sub: struct({ x: text }) })),
  tags: list('set', text),
  args: list('atomic', text),
  any: { 'x-kubernetes-preserve-unknown-fields': true },
})

const fields = (value: Json, of: ApplyShape = shape): Json => encodeFields(fieldSetOf(value, of))

describe('the fields of a value', () => {
  it('are its leaves; a declared struct counts only through its fields', () => {
    expect(fields({ a: 'x', sub: { x: '1' } })).toEqual({ 'f:a': {}, 'f:sub': { 'f:x': {} } })
  })

  it('items of a map are leaves, the map itself is not', () => {
    expect(fields({ labels: { p: 'q' } })).toEqual({ 'f:labels': { 'f:p': {} } })
  })

  it('items of a list count themselves and through their fields', () => {
    expect(fields({ items: [{ name: 'm', v: 'x' }], tags: ['t'] })).toEqual({
      'f:items': { 'k:{"name":"m"}': { '.': {}, 'f:name': {}, 'f:v': {} } },
      'f:tags': { 'v:"t"': {} },
    })
  })

  it('an atomic value is one field', () => {
    expect(fields({ args: ['x', 'y'], atomic: { x: '1' } })).toEqual({ 'f:args': {}, 'f:atomic': {} })
  })

  it('an empty value counts, unless it is a list, which has no items', () => {
    expect(fields({ a: null, labels: {}, sub: {}, atomic: null, items: null, tags: [], args: [] })).toEqual({
      'f:a': {},
      'f:labels': {},
      'f:sub': {},
      'f:atomic': {},
      'f:items': {},
      'f:args': {},
    })
  })

  it('items that share a key are owned as one, without parts', () => {
    const value = { items: [{ name: 'm', v: 'x' }, { name: 'n' }, { name: 'm', v: 'y' }], tags: ['t', 't', 't'] }
    expect(fields(value)).toEqual({
      'f:items': { 'k:{"name":"m"}': {}, 'k:{"name":"n"}': { '.': {}, 'f:name': {} } },
      'f:tags': { 'v:"t"': {} },
    })
  })

  it('without a schema are those of granular maps and atomic lists', () => {
    expect(fields({ spec: { list: [{ a: 1 }], map: { a: 1, b: { c: null } } } }, deduced)).toEqual({
      'f:spec': { '.': {}, 'f:list': {}, 'f:map': { '.': {}, 'f:a': {}, 'f:b': { '.': {}, 'f:c': {} } } },
    })
  })

  it('handle names of Object.prototype', () => {
    const value = JSON.parse('{"labels":{"__proto__":"1","constructor":"2"}}') as Json
    expect(fields(value)).toEqual({ 'f:labels': { 'f:__proto__': {}, 'f:constructor': {} } })
  })
})

describe('declared fields', () => {
  it('join the set when one of their children is in it; items of maps and lists do not', () => {
    const set = decodeFields({
      'f:sub': { 'f:x': {} },
      'f:labels': { 'f:p': {} },
      'f:items': { 'k:{"name":"m"}': { 'f:sub': { 'f:x': {} } } },
      'f:any': { 'f:u': { 'f:v': {} } },
    })
    expect(encodeFields(withDeclaredFields(set, shape))).toEqual({
      'f:sub': { '.': {}, 'f:x': {} },
      'f:labels': { '.': {}, 'f:p': {} },
      'f:items': { '.': {}, 'k:{"name":"m"}': { 'f:sub': { '.': {}, 'f:x': {} } } },
      'f:any': { '.': {}, 'f:u': { 'f:v': {} } },
    })
  })
})

describe('a set from an older schema', () => {
  const atomic = { 'x-kubernetes-map-type': 'atomic' } as const
  const today = specShape({
    sub: struct({ x: text, y: text }, atomic),
    items: list('atomic', struct({ name: text })),
    kept: list('map', struct({ name: text, inner: struct({ x: text }, atomic) })),
    free: { type: 'object', ...atomic },
  })

  it('owns all of a value that became atomic', () => {
    const set = decodeFields({
      'f:sub': { 'f:x': {} },
      'f:items': { 'k:{"name":"m"}': { '.': {}, 'f:name': {} } },
      'f:kept': { 'k:{"name":"m"}': { '.': {}, 'f:inner': { 'f:x': {} } } },
    })
    expect(encodeFields(reshapeFields(set, today))).toEqual({
      'f:sub': {},
      'f:items': {},
      'f:kept': { 'k:{"name":"m"}': { '.': {}, 'f:inner': {} } },
    })
  })

  it('stays unchanged where nothing changed, the schema lacks the field, or does not describe its content', () => {
    const set = decodeFields({ 'f:sub': {}, 'f:gone': { 'f:x': {} }, 'f:free': { 'f:x': {} } })
    expect(reshapeFields(set, today)).toBe(set)
    expect(reshapeFields(set, deduced)).toBe(set)
  })
})
