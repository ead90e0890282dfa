import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../json.ts'
import type { JSONSchemaProps } from '../types/apiextensions/v1.ts'
import type { EmbeddedChecks } from './embedded.ts'
import { structuralSchema } from './structural.ts'

const embedded: EmbeddedChecks = { metadata: () => [], kind: () => [] }
const string: JSONSchemaProps = { type: 'string' }
const integer: JSONSchemaProps = { type: 'integer' }

function object(properties: Readonly<Record<string, JSONSchemaProps>>, more: JSONSchemaProps = {}): JSONSchemaProps {
  return { type: 'object', properties, ...more }
}

const kind = structuralSchema(
  object({
    spec: object({
      name: string,
      count: { ...integer, default: 1, minimum: 0 },
      deep: { ...object({ on: { type: 'boolean', default: true }, off: string }), default: {} },
      list: { type: 'array', items: object({ a: { ...string, default: 'x' } }) },
      map: { type: 'object', additionalProperties: integer },
      any: { 'x-kubernetes-preserve-unknown-fields': true },
      nullable: { ...string, nullable: true },
    }),
  }),
  { embedded },
)

function make(spec: unknown, more: object = {}): JsonObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'a' },
    spec,
    ...more,
  } as unknown as JsonObject
}

/** Specs that have a little of everything, wanted and unwanted. */
const specs = fc.record(
  {
    name: fc.option(fc.string()),
    count: fc.option(fc.integer({ min: 0 })),
    deep: fc.option(fc.record({ on: fc.boolean(), odd: fc.integer() }, { requiredKeys: [] })),
    list: fc.array(fc.record({ a: fc.option(fc.string()), b: fc.integer() }, { requiredKeys: [] }), { maxLength: 3 }),
    map: fc.dictionary(fc.string(), fc.integer()),
    any: fc.jsonValue(),
    nullable: fc.option(fc.string()),
    unknown: fc.jsonValue(),
    __proto__: fc.constant(1),
  },
  { requiredKeys: [] },
)

describe('a structural schema', () => {
  it('returns the identical object if it is valid', () => {
    const fine = make({ name: 'x', count: 3, deep: { on: false }, list: [{ a: 'y' }], map: { k: 1 }, nullable: null })
    expect(kind.prune(fine)).toEqual({ object: fine, unknown: [], problem: undefined })
    expect(kind.prune(fine).object).toBe(fine)
    expect(kind.applyDefaults(fine)).toBe(fine)
    expect(kind.validate(fine)).toEqual([])
  })

  it('prunes idempotently, and never changes its input', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        const given = make(spec)
        const before = structuredClone(given)
        const once = kind.prune(given).object
        expect(given).toEqual(before)
        const again = kind.prune(once)
        expect(again.unknown).toEqual([])
        expect(again.object).toBe(once)
        const settled = kind.applyDefaults(once)
        expect(kind.applyDefaults(settled)).toBe(settled)
        expect(kind.validate(settled)).toEqual([])
      }),
    )
  })

  it('reports pruned fields, at every level', () => {
    const { unknown, object: pruned } = kind.prune(
      make({ nme: 1, list: [{ a: 'x' }, { b: { c: 1 } }], deep: { x: 1 }, any: { y: 1 } }, { other: 1 }),
    )
    expect(unknown).toEqual(['other', 'spec.deep.x', 'spec.list[1].b', 'spec.nme'])
    expect(pruned['spec']).toEqual({ list: [{ a: 'x' }, {}], deep: {}, any: { y: 1 } })
  })

  it("treats JavaScript's special keys like any other", () => {
    const given = JSON.parse(
      '{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"},"spec":{"map":{"__proto__":5,"constructor":6},"constructor":1,"__proto__":{"name":"x"}}}',
    ) as JsonObject
    const { object: pruned, unknown } = kind.prune(given)
    expect(unknown).toEqual(['spec.__proto__', 'spec.constructor'])
    const spec = pruned['spec'] as JsonObject
    expect(Object.keys(spec)).toEqual(['map'])
    expect(Object.entries(spec['map'] as JsonObject)).toEqual([
      ['__proto__', 5],
      ['constructor', 6],
    ])
    expect(kind.validate(kind.applyDefaults(pruned))).toEqual([])
    expect(({} as { name?: string }).name).toBeUndefined()
  })

  it('sets defaults from the outside in, also in place of nulls', () => {
    expect(kind.applyDefaults(make({ count: null, list: [{}] }))['spec']).toEqual({
      count: 1,
      list: [{ a: 'x' }],
      deep: { on: true },
    })
  })

  it('reports all errors at once, each with its path', () => {
    const causes = kind.validate(make({ name: 5, count: -1, list: [{ a: 1 }], map: { k: 'x' } }))
    expect(causes.map(({ field }) => field)).toEqual(['spec.name', 'spec.count', 'spec.list[0].a', 'spec.map.k'])
  })

  it('ratchets: tolerates existing errors, and only those', () => {
    const old = make({ count: -1, list: [{ a: 1 }] })
    expect(kind.validate(make({ count: -1, list: [{ a: 1 }], name: 'x' }), { old })).toEqual([])
    expect(kind.validate(make({ count: -2, list: [{ a: 1 }] }), { old })).toHaveLength(1)
    // Items of a plain list have no identity: a list that changed is judged anew.
    expect(kind.validate(make({ count: -1, list: [{ a: 1 }, {}] }), { old })).toHaveLength(1)
  })

  it('allows every object to be replaced by itself', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('name', 'count', 'list', 'map', 'deep'), fc.jsonValue()), (spec) => {
        const given = kind.prune(make(spec)).object
        expect(kind.validate(given, { old: structuredClone(given) })).toEqual([])
      }),
    )
  })

  it('evaluates rules for valid objects, with the old object', () => {
    const ruled = structuralSchema(
      object({
        spec: object(
          { size: { ...integer, 'x-kubernetes-validations': [{ rule: 'self >= oldSelf', message: 'may only grow' }] } },
          { 'x-kubernetes-validations': [{ rule: 'self.size < 10' }] },
        ),
      }),
      { embedded },
    )
    expect(ruled.validate(make({ size: 5 }))).toEqual([])
    expect(ruled.validate(make({ size: 5 }), { old: make({ size: 6 }) })).toEqual([
      { reason: 'FieldValueInvalid', message: 'Invalid value: 5: may only grow', field: 'spec.size' },
    ])
    expect(ruled.validate(make({ size: 11 })).map(({ message }) => message)).toEqual([
      'Invalid value: failed rule: self.size < 10',
    ])
    const warnings: string[] = []
    const old = make({ size: 11 })
    expect(ruled.validate(make({ size: 11 }), { old, warn: (text) => void warnings.push(text) })).toEqual([])
    expect(warnings).toEqual(['spec: Invalid value: failed rule: self.size < 10'])
    expect(ruled.validate(make({ size: 'x' })).at(-1)).toMatchObject({ field: '<nil>' })
  })

  it('validates only status when only status is written', () => {
    const own = structuralSchema(object({ spec: object({ n: integer }), status: object({ n: integer }) }), { embedded })
    const wrong = { ...make({ n: 'x' }), status: { n: 'y' } }
    expect(own.validate(wrong, { subresource: 'status' })).toEqual([
      {
        reason: 'FieldValueTypeInvalid',
        message: 'Invalid value: "string": n in body must be of type integer: "string"',
        field: 'status.n',
      },
    ])
  })

  it('requires replicas that fit a Scale', () => {
    const scale = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.s' }
    const own = structuralSchema(
      object({
        spec: { 'x-kubernetes-preserve-unknown-fields': true },
        status: { 'x-kubernetes-preserve-unknown-fields': true },
      }),
      { embedded, scale },
    )
    expect(own.validate(make({ n: 3 }))).toEqual([])
    const causes = own.validate({ ...make({ n: 'x' }), status: { n: -1, s: 5 } })
    expect(causes.map(({ field, message }) => `${field}: ${message}`)).toEqual([
      '.spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected int64',
      '.status.n: Invalid value: -1: should be a non-negative integer',
      '.status.s: Invalid value: "": .status.s accessor error: 5 is of the type int64, expected string',
    ])
  })

  it('rejects invalid metadata', () => {
    const { problem } = kind.prune({ ...make({}), metadata: { labels: { a: 5 } } })
    expect(problem).toBe('json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string')
  })
})
