import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { parsePointer } from '../../kube/patch/json-pointer.ts'
import type { CustomResourceDefinition, JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { breakingObjects } from './breaking-objects.ts'
import { unsafeChanges } from './unsafe-changes.ts'

const preserve = 'x-kubernetes-preserve-unknown-fields'

type Edit = (schema: JSONSchemaProps) => JSONSchemaProps | undefined

const when =
  (type: string, edit: (schema: JSONSchemaProps) => JSONSchemaProps): Edit =>
  (schema) =>
    schema.type === type ? edit(schema) : undefined

function without(schema: JSONSchemaProps, ...keys: readonly (keyof JSONSchemaProps)[]): JSONSchemaProps {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !(keys as readonly string[]).includes(key)))
}

/** Edits that accept more, and keep every field. */
const widenings: readonly Edit[] = [
  when('integer', (schema) => (schema.maximum === undefined ? schema : { ...schema, maximum: schema.maximum + 1 })),
  when('integer', (schema) => without(schema, 'minimum', 'exclusiveMinimum')),
  when('string', (schema) => without(schema, 'maxLength', 'pattern')),
  when('string', (schema) => (schema.enum ? { ...schema, enum: [...schema.enum, 'more'] } : schema)),
  when('array', (schema) => without(schema, 'maxItems')),
  when('object', (schema) => without(schema, 'required', 'maxProperties')),
  when('object', (schema) =>
    schema.additionalProperties === undefined && schema[preserve] !== true
      ? { ...schema, properties: { ...schema.properties, added: { type: 'string' } } }
      : schema,
  ),
  when('object', (schema) => (schema.additionalProperties ? schema : { ...schema, [preserve]: true })),
  (schema) => (schema.default === undefined ? { ...schema, nullable: true } : schema),
  (schema) => without(schema, 'x-kubernetes-validations', 'not', 'allOf', 'anyOf'),
]

/** Edits that accept less, drop a field, or change the meaning of objects. */
const narrowings: readonly Edit[] = [
  when('integer', (schema) => ({ ...schema, maximum: (schema.maximum ?? 100) - 1 })),
  when('integer', (schema) => ({ ...schema, minimum: (schema.minimum ?? -100) + 1 })),
  when('string', (schema) => ({ ...schema, maxLength: (schema.maxLength ?? 100) - 1 })),
  when('string', (schema) => ({ ...schema, enum: schema.enum ? schema.enum.slice(1) : ['only'] })),
  when('string', (schema) => ({ ...schema, pattern: `${schema.pattern ?? ''}^n` })),
  when('string', (schema) => ({ ...schema, format: 'date-time' })),
  when('array', (schema) => ({ ...schema, maxItems: (schema.maxItems ?? 100) - 1 })),
  when('array', (schema) => ({ ...schema, 'x-kubernetes-list-type': 'set' })),
  when('object', (schema) => ({ ...schema, minProperties: 3 })),
  (schema) => {
    const [name] = Object.keys(schema.properties ?? {})
    if (name === undefined || schema[preserve] === true) return undefined
    return { ...schema, properties: Object.fromEntries(Object.entries(schema.properties!).slice(1)) }
  },
  (schema) => {
    const name = Object.keys(schema.properties ?? {}).find((one) => !schema.required?.includes(one))
    if (name === undefined || schema.properties![name]!.default !== undefined) return undefined
    return { ...schema, required: [...(schema.required ?? []), name] }
  },
  (schema) =>
    schema[preserve] === true && schema.additionalProperties === undefined ? without(schema, preserve) : undefined,
  (schema) => (schema.additionalProperties && !schema[preserve] ? without(schema, 'additionalProperties') : undefined),
  (schema) => (schema.type === 'boolean' ? { type: 'string' } : schema.type ? { type: 'boolean' } : undefined),
  (schema) => (schema.nullable === true ? without(schema, 'nullable') : undefined),
  (schema) => (schema.default === undefined ? undefined : without(schema, 'default')),
  (schema) => ({ ...schema, 'x-kubernetes-validations': [{ rule: 'true || self == self' }] }),
  (schema) => ({ ...schema, allOf: [{ not: { enum: ['n'] } }] }),
  (schema) => ({ ...schema, $ref: '#/unknown' }),
]

const { schema: schemas } = fc.letrec<{ schema: JSONSchemaProps; leaf: JSONSchemaProps }>((tie) => ({
  leaf: fc.oneof(
    fc.record(
      {
        type: fc.constant('integer'),
        maximum: fc.integer({ min: 1, max: 9 }),
        minimum: fc.integer({ min: -9, max: 0 }),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constant('string'),
        maxLength: fc.integer({ min: 1, max: 4 }),
        nullable: fc.constant(true),
        enum: fc.constant(['a', 'b']),
        default: fc.constant('a'),
      },
      { requiredKeys: ['type'] },
    ),
    fc.constant<JSONSchemaProps>({ type: 'boolean' }),
    fc.constant<JSONSchemaProps>({ [preserve]: true }),
  ),
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('leaf'),
    tie('schema').map((items) => ({ type: 'array', items })),
    tie('schema').map((additionalProperties) => ({ type: 'object', additionalProperties })),
    fc
      .tuple(fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 }), fc.boolean(), fc.boolean())
      .map(([properties, preserves, requires]) => {
        const schema: JSONSchemaProps = { type: 'object', properties, required: Object.keys(properties).slice(0, 1) }
        return Object.assign(requires ? schema : without(schema, 'required'), preserves && { [preserve]: true })
      }),
  ),
}))

interface Edited {
  readonly before: JSONSchemaProps
  readonly after: JSONSchemaProps
}

/** One edit at one place of a schema, chosen by a number; undefined if none is possible. */
function edited(schema: JSONSchemaProps, edits: readonly Edit[], choice: number): JSONSchemaProps | undefined {
  const possible: JSONSchemaProps[] = []
  const walk = (node: JSONSchemaProps, rebuild: (changed: JSONSchemaProps) => JSONSchemaProps): void => {
    for (const edit of edits) {
      const changed = edit(node)
      if (changed && changed !== node) possible.push(rebuild(changed))
    }
    for (const [name, property] of Object.entries(node.properties ?? {})) {
      walk(property, (changed) => rebuild({ ...node, properties: { ...node.properties, [name]: changed } }))
    }
    const { items, additionalProperties } = node
    if (items) walk(items as JSONSchemaProps, (changed) => rebuild({ ...node, items: changed }))
    if (typeof additionalProperties === 'object')
      walk(additionalProperties, (changed) => rebuild({ ...node, additionalProperties: changed }))
  }
  walk(schema, (changed) => changed)
  return possible.length === 0 ? undefined : possible[choice % possible.length]
}

function editedBy(edits: readonly Edit[], most: number): fc.Arbitrary<Edited> {
  return fc.tuple(schemas, fc.array(fc.nat(), { minLength: 1, maxLength: most })).map(([before, choices]) => ({
    before,
    after: choices.reduce((schema, choice) => edited(schema, edits, choice) ?? schema, before),
  }))
}

function crd(spec: JSONSchemaProps): CustomResourceDefinition {
  const openAPIV3Schema = { type: 'object', properties: { spec } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}

/** Values that a schema of the generator mostly accepts. */
function valueFor(schema: JSONSchemaProps): fc.Arbitrary<Json> {
  if (schema.nullable && schema.type === 'string') return fc.oneof(fc.constant(null), fc.constantFrom('a', 'b', 'no'))
  switch (schema.type) {
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -20, max: schema.maximum ?? 20 })
    case 'string':
      return fc.constantFrom('a', 'b', 'abcd', '')
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(valueFor(schema.items as JSONSchemaProps), { maxLength: 3 })
    case 'object': {
      const members = Object.entries(schema.properties ?? {}).map(([name, own]) => [name, valueFor(own)] as const)
      const declared = fc.record(Object.fromEntries(members), { requiredKeys: [...(schema.required ?? [])] })
      const { additionalProperties } = schema
      const others =
        typeof additionalProperties === 'object'
          ? fc.dictionary(fc.constantFrom('a', 'added', 'x'), valueFor(additionalProperties), { maxKeys: 2 })
          : schema[preserve]
            ? fc.dictionary(fc.constantFrom('added', 'x'), fc.constantFrom<Json>(1, 'a', { deep: [1] }), { maxKeys: 2 })
            : fc.constant<JsonObject>({})
      return fc.tuple(others, declared).map(([more, own]) => Object.assign({}, more, own))
    }
    default:
      return fc.constantFrom<Json>('a', 7, { x: { y: 1 } }, [{ z: 1 }])
  }
}

function placeExists(document: JsonObject, pointer: string): boolean {
  let value: Json | undefined = document
  for (const key of parsePointer(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false
    value = (value as JsonObject)[key]
  }
  return value !== undefined
}

describe('the upgrade check of a CRD', () => {
  it('says nothing about a schema that only widens', () => {
    fc.assert(
      fc.property(editedBy(widenings, 4), ({ before, after }) => {
        expect(unsafeChanges(crd(before), crd(after))).toEqual([])
      }),
    )
  })

  it('reports every narrowing', () => {
    fc.assert(
      fc.property(schemas, fc.nat(), (before, choice) => {
        const after = edited(before, narrowings, choice)!
        expect(unsafeChanges(crd(before), crd(after))).not.toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('names places that exist, whatever changes', () => {
    fc.assert(
      fc.property(schemas, schemas, (one, other) => {
        const [before, after] = [crd(one), crd(other)]
        for (const { path, in: side } of unsafeChanges(before, after)) {
          expect([path, placeExists(asJson(side === 'before' ? before : after), path)]).toEqual([path, true])
        }
      }),
      { numRuns: 300 },
    )
  })

  it('takes null for absent, and never throws, whatever the keywords hold', () => {
    const keyword = fc.constantFrom(
      ...'type properties items additionalProperties required enum default pattern format allOf not nullable'.split(
        ' ',
      ),
      ...'maximum exclusiveMaximum x-kubernetes-validations x-kubernetes-list-type x-kubernetes-list-map-keys'.split(
        ' ',
      ),
    )
    const { wild } = fc.letrec<{ wild: Json }>((tie) => ({
      wild: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<Json>(null, true, 1, 'object', 'array', 'a'),
        fc.array(tie('wild'), { maxLength: 2 }),
        fc.dictionary(fc.oneof(keyword, fc.constant('a')), tie('wild'), { maxKeys: 4 }),
      ),
    }))
    const wildSchema = fc.dictionary(keyword, wild, { maxKeys: 5 }).map((schema) => schema as JSONSchemaProps)
    fc.assert(
      fc.property(wildSchema, wildSchema, schemas, (one, other, sound) => {
        expect(unsafeChanges(crd(one), crd(one))).toEqual([])
        expect(unsafeChanges(crd(one), crd(other))).toBeInstanceOf(Array)
        const nulls = { ...sound, additionalProperties: sound.additionalProperties ?? null, not: null } as object
        expect(unsafeChanges(crd(nulls), crd(sound))).toEqual([])
        expect(unsafeChanges(crd(sound), crd(nulls))).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  it('passes no upgrade after which an object breaks', () => {
    const cases = fc
      .oneof(editedBy([...widenings, ...narrowings], 2), editedBy(widenings, 3))
      .chain((schemaPair) => fc.tuple(fc.constant(schemaPair), valueFor(schemaPair.before)))
    let broken = 0
    fc.assert(
      fc.property(cases, ([{ before, after }, spec]) => {
        const object = asObject({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec })
        if (breakingObjects(crd(before), 'v1', [object]).length > 0) return
        if (breakingObjects(crd(after), 'v1', [object]).length === 0) return
        broken++
        expect(unsafeChanges(crd(before), crd(after))).not.toEqual([])
      }),
      { numRuns: 1000 },
    )
    expect(broken).toBeGreaterThan(20)
  })
})
