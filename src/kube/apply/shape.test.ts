import { describe, expect, it } from 'vitest'
import type { Definitions, Schema } from '../schema.ts'
import { deduced, type MapShape, type ApplyShape, shapeOf } from './shape.ts'

const ref = (name: string, more: Schema = {}): Schema => ({
  allOf: [{ $ref: `#/components/schemas/${name}` }],
  ...more,
})

const definitions: Definitions = {
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': {
    type: 'object',
    properties: { name: { type: 'string' }, labels: { type: 'object', additionalProperties: { type: 'string' } } },
  },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] } as Schema,
  'io.k8s.apimachinery.pkg.runtime.RawExtension': { type: 'object' },
  'test.Port': {
    type: 'object',
    properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
  },
  'test.Selector': { type: 'object', properties: { a: { type: 'string' } } },
  'test.Tree': { type: 'object', properties: { children: { type: 'array', items: ref('test.Tree') } } },
}

/** The shape of one field of a built-in kind. */
function builtinField(place: Schema): ApplyShape | undefined {
  const metadata = ref('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')
  return shapeOf({ type: 'object', properties: { metadata, it: place } }, definitions).map?.field('it')
}

/** The shape of one field of a custom kind. */
function customField(place: Schema): ApplyShape | undefined {
  return shapeOf({ type: 'object', properties: { it: place } }).map?.field('it')
}

describe('lists', () => {
  it.each([
    [
      { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['port'] },
      { atomic: false, keys: ['port'] },
    ],
    [{ 'x-kubernetes-list-type': 'set' }, { atomic: false, keys: [] }],
    [{ 'x-kubernetes-list-type': 'atomic' }, { atomic: true }],
    [{}, { atomic: true }],
    [
      { 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': 'port' },
      { atomic: false, keys: ['port'] },
    ],
    [{ 'x-kubernetes-patch-strategy': 'merge,retainKeys' }, { atomic: false, keys: [] }],
    [{ 'x-kubernetes-patch-strategy': 'retainKeys' }, { atomic: true }],
    [{ 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-list-type': 'atomic' }, { atomic: true }],
  ] as const)('marked %j', (marks, expected) => {
    expect(builtinField({ type: 'array', items: ref('test.Port'), ...marks })?.list).toMatchObject(expected)
  })

  it('take the default of a key field from the schema of their items', () => {
    const list = builtinField({ type: 'array', items: ref('test.Port') })?.list
    expect(list?.keyDefault('protocol')).toBe('TCP')
    expect(list?.keyDefault('port')).toBeUndefined()
    expect(list?.keyDefault('constructor')).toBeUndefined()
  })
})

describe('maps', () => {
  it('are granular unless marked, also where the mark is beside a reference', () => {
    expect(builtinField(ref('test.Selector'))?.map?.atomic).toBe(false)
    expect(builtinField(ref('test.Selector', { 'x-kubernetes-map-type': 'atomic' }))?.map?.atomic).toBe(true)
    expect(builtinField(ref('test.Selector'))?.map?.atomic).toBe(false)
  })

  it('distinguish declared, allowed and unknown fields', () => {
    const struct = customField({ type: 'object', properties: { a: { type: 'string' } } })?.map as MapShape
    expect([struct.declares('a'), struct.declares('b'), struct.declares('constructor')]).toEqual([true, false, false])
    expect([struct.field('a'), struct.field('b')]).toEqual([{ scalar: 'string' }, undefined])
    const open = customField({ type: 'object', additionalProperties: { type: 'number' } })?.map as MapShape
    expect([open.declares('a'), open.field('a')]).toEqual([false, { scalar: 'number' }])
  })

  it('without declared fields may contain anything', () => {
    expect(customField({ type: 'object' })?.map?.field('x')).toBe(deduced)
    expect(customField({ type: 'object', additionalProperties: true })?.map?.field('x')).toBe(deduced)
    expect(customField({ type: 'object', additionalProperties: false })?.map?.field('x')).toBeUndefined()
  })

  it('that preserve unknown fields do so for all levels below, but not for a separate type', () => {
    const inner: Schema = { type: 'object', properties: { a: { type: 'string' } } }
    const keeping: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    const outer = customField({ ...keeping, properties: { inner } })?.map as MapShape
    expect(outer.field('unknown')).toBe(deduced)
    expect(outer.field('inner')?.map?.field('unknown')).toBe(deduced)
    const named = builtinField({ ...keeping, properties: { named: ref('test.Selector') } })?.map as MapShape
    expect(named.field('named')?.map?.field('unknown')).toBeUndefined()
  })

  it('may contain themselves', () => {
    const tree = builtinField(ref('test.Tree'))
    expect(tree?.map?.field('children')?.list?.item()).toBe(tree)
  })
})

describe('other values', () => {
  it('scalars have their declared type, and any type where a format or no type is declared', () => {
    expect(customField({ type: 'integer' })).toEqual({ scalar: 'number' })
    expect(customField({ type: 'boolean' })).toEqual({ scalar: 'boolean' })
    expect(customField({ type: 'string', format: 'byte' })).toEqual({ scalar: 'string' })
    expect(customField({ type: 'string', format: 'date-time' })).toEqual({ scalar: 'any' })
    expect(customField({ type: 'string', format: 'int-or-string' })).toEqual({ scalar: 'any' })
    expect(customField({ 'x-kubernetes-int-or-string': true })).toMatchObject({ scalar: 'any' })
    expect(builtinField(ref('io.k8s.apimachinery.pkg.api.resource.Quantity'))).toEqual({ scalar: 'any' })
  })

  it('a value without a type may be a scalar, an atomic list or a granular map', () => {
    const any = customField({ 'x-kubernetes-preserve-unknown-fields': true })
    expect(any).toMatchObject({ scalar: 'any', list: { atomic: true }, map: { atomic: false } })
  })

  it('a raw extension is atomic', () => {
    const raw = builtinField(ref('io.k8s.apimachinery.pkg.runtime.RawExtension'))
    expect(raw).toMatchObject({ scalar: 'any', list: { atomic: true }, map: { atomic: true } })
  })
})

describe('objects', () => {
  it('without a schema have the deduced shape', () => {
    expect(shapeOf(undefined)).toBe(deduced)
    expect(deduced).toMatchObject({ scalar: 'any', list: { atomic: true }, map: { atomic: false } })
  })

  it('of custom kinds, and embedded ones, have the metadata of every object', () => {
    const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true } as const
    const root = shapeOf({ type: 'object', properties: { metadata: { type: 'object' }, it: embedded } })
    for (const { map } of [root, root.map?.field('it') as ApplyShape]) {
      const metadata = map?.field('metadata')?.map
      expect(map?.field('apiVersion')).toEqual({ scalar: 'string' })
      expect(metadata?.field('finalizers')?.list).toMatchObject({ atomic: false, keys: [] })
      expect(metadata?.field('ownerReferences')?.list).toMatchObject({ atomic: false, keys: ['uid'] })
      expect(metadata?.field('ownerReferences')?.list?.item().map?.atomic).toBe(true)
      expect(metadata?.field('bogus')).toBeUndefined()
    }
  })

  it('are computed once', () => {
    const schema: Schema = {
      type: 'object',
      properties: { a: { type: 'object', properties: { b: { type: 'string' } } } },
    }
    expect(shapeOf(schema)).toBe(shapeOf(schema))
    expect(shapeOf(schema).map?.field('a')).toBe(shapeOf(schema).map?.field('a'))
  })
})
