import { describe, expect, it } from 'vitest'
import type { CustomResourceDefinition, JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { describeUnsafeChange } from './unsafe-change.ts'
import { unsafeChanges } from './unsafe-changes.ts'

type Spec = CustomResourceDefinition['spec']
type Version = Spec['versions'][number]

function crd(spec: Partial<Spec> = {}, storedVersions: readonly string[] = ['v1']): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets', shortNames: ['wd'] },
      versions: [version('v1', {})],
      ...spec,
    },
    status: { storedVersions },
  }
}

function version(name: string, spec: JSONSchemaProps, more: Partial<Version> = {}): Version {
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', ...spec } } }
  return { name, served: true, storage: name === 'v1', schema: { openAPIV3Schema }, ...more }
}

/** Changes of one field of the spec, as lines without the reason. */
function changes(before: JSONSchemaProps, after: JSONSchemaProps): readonly string[] {
  const of = (field: JSONSchemaProps): CustomResourceDefinition =>
    crd({ versions: [version('v1', { properties: { f: field } })] })
  return unsafeChanges(of(before), of(after)).map(
    ({ field, change, verdict }) => `${verdict === 'unjudged' ? '? ' : ''}${field.replace(/^spec\./, '')}: ${change}`,
  )
}

const preserve = 'x-kubernetes-preserve-unknown-fields'
const listType = 'x-kubernetes-list-type'
const text: JSONSchemaProps = { type: 'string' }
const number: JSONSchemaProps = { type: 'integer' }
const listOf = (items: JSONSchemaProps, more: JSONSchemaProps = {}): JSONSchemaProps => ({
  type: 'array',
  items,
  ...more,
})
const mapOf = (member: JSONSchemaProps): JSONSchemaProps => ({ type: 'object', additionalProperties: member })
const objectOf = (properties: Record<string, JSONSchemaProps>, more: JSONSchemaProps = {}): JSONSchemaProps => ({
  type: 'object',
  properties,
  ...more,
})

describe('a schema', () => {
  it.each<[string, JSONSchemaProps, JSONSchemaProps, readonly string[]]>([
    ['nothing', text, text, []],
    ['a description', text, { ...text, description: 'a' }, []],
    ['a type', text, number, ['f: type changes from string to integer']],
    [
      'integer or text',
      number,
      { 'x-kubernetes-int-or-string': true },
      ['f: type changes from integer to int-or-string'],
    ],
    ['a type for anything', { [preserve]: true }, text, ['f: type string is added']],
    ['no type any more', text, { [preserve]: true }, []],
    ['a wider enum', { ...text, enum: ['a'] }, { ...text, enum: ['b', 'a'] }, []],
    [
      'a narrower enum',
      { ...text, enum: ['a', 'b', 'c'] },
      { ...text, enum: ['a'] },
      ['f: enum no longer has "b", "c"'],
    ],
    ['a new enum', text, { ...text, enum: ['a'] }, ['f: enum "a" is added']],
    ['no enum any more', { ...text, enum: ['a'] }, text, []],
    ['a lower maximum', { ...number, maximum: 9 }, { ...number, maximum: 8 }, ['f: maximum is lowered from 9 to 8']],
    ['a higher maximum', { ...number, maximum: 9 }, { ...number, maximum: 10 }, []],
    ['a new minimum', number, { ...number, minimum: 0 }, ['f: minimum 0 is added']],
    [
      'a higher minLength',
      { ...text, minLength: 1 },
      { ...text, minLength: 2 },
      ['f: minLength is raised from 1 to 2'],
    ],
    ['a minLength of zero', text, { ...text, minLength: 0 }, []],
    [
      'an exclusive limit',
      { ...number, maximum: 9 },
      { ...number, maximum: 9, exclusiveMaximum: true },
      ['f: exclusiveMaximum is set'],
    ],
    ['an exclusive, higher limit', { ...number, maximum: 9 }, { ...number, maximum: 10, exclusiveMaximum: true }, []],
    ['a divisor', { ...number, multipleOf: 6 }, { ...number, multipleOf: 3 }, []],
    [
      'another divisor',
      { ...number, multipleOf: 6 },
      { ...number, multipleOf: 4 },
      ['f: multipleOf changes from 6 to 4'],
    ],
    ['a new pattern', text, { ...text, pattern: '^a' }, ['f: pattern ^a is added']],
    ['another pattern', { ...text, pattern: '^a' }, { ...text, pattern: 'a' }, ['? f: pattern changes from ^a to a']],
    ['a format', text, { ...text, format: 'date-time' }, ['f: format date-time is added']],
    ['a format without effect', text, { ...text, format: 'colour' }, []],
    ['a wider format', { ...number, format: 'int32' }, { ...number, format: 'int64' }, []],
    [
      'a narrower format',
      { ...number, format: 'int64' },
      { ...number, format: 'int32' },
      ['f: format changes from int64 to int32'],
    ],
    ['no default any more', { ...text, default: 'a' }, text, ['f: default "a" is removed']],
    ['another default', { ...text, default: 'a' }, { ...text, default: 'b' }, ['f: default changes from "a" to "b"']],
    ['a new default', text, { ...text, default: 'a' }, ['f: default "a" is added']],
    ['not nullable', { ...text, nullable: true }, text, ['f: nullable is removed']],
    ['nullable', text, { ...text, nullable: true }, []],
    ['a dropped field', objectOf({ a: text, b: text }), objectOf({ a: text }), ['f.b: the field is dropped']],
    ['a dropped field, preserved', objectOf({ a: text }), { type: 'object', [preserve]: true }, []],
    ['fields that become a map', objectOf({ a: text }), mapOf(text), []],
    [
      'fields that become a map of numbers',
      objectOf({ a: text }),
      mapOf(number),
      ['f.a: type changes from string to integer'],
    ],
    ['a new field', objectOf({}), objectOf({ a: { ...text, default: 'x', pattern: 'y' } }), []],
    [
      'a new field where any was preserved',
      { type: 'object', [preserve]: true },
      objectOf({ a: text }, { [preserve]: true }),
      ['f.a: type string is added'],
    ],
    [
      'a new field in a map',
      mapOf(text),
      { ...mapOf(text), properties: { a: number } },
      ['f.a: type changes from string to integer'],
    ],
    [
      'a required field',
      objectOf({ a: text }),
      objectOf({ a: text }, { required: ['a'] }),
      ['f.a: the field becomes required, without a default'],
    ],
    [
      'a new required field with a default',
      objectOf({}),
      objectOf({ a: { ...text, default: '' } }, { required: ['a'] }),
      [],
    ],
    [
      'unknown fields',
      { type: 'object', [preserve]: true },
      { type: 'object' },
      ['f: unknown fields are no longer preserved'],
    ],
    ['no map any more', mapOf(text), { type: 'object' }, ['f[*]: other members are no longer allowed']],
    ['members of a map', mapOf(text), mapOf({ ...text, maxLength: 3 }), ['f[*]: maxLength 3 is added']],
    ['a map of anything', { type: 'object', additionalProperties: true }, mapOf(text), ['f[*]: type string is added']],
    ['a map for unknown fields', { type: 'object', [preserve]: true }, mapOf(text), ['f[*]: type string is added']],
    ['items', listOf(text), listOf({ ...text, maxLength: 3 }), ['f[]: maxLength 3 is added']],
    ['fields of items', listOf(objectOf({ a: text })), listOf(objectOf({})), ['f[].a: the field is dropped']],
    ['a set', listOf(text), listOf(text, { [listType]: 'set' }), ['f: list type changes from atomic to set']],
    ['an atomic list', listOf(text), listOf(text, { [listType]: 'atomic' }), []],
    [
      'keys of a list',
      listOf(objectOf({ a: text, b: text }), { [listType]: 'map', 'x-kubernetes-list-map-keys': ['a'] }),
      listOf(objectOf({ a: text, b: text }), { [listType]: 'map', 'x-kubernetes-list-map-keys': ['b'] }),
      ['f: keys of the list change from a to b'],
    ],
    [
      'an atomic map',
      mapOf(text),
      { ...mapOf(text), 'x-kubernetes-map-type': 'atomic' },
      ['f: map type changes from granular to atomic'],
    ],
    [
      'a rule',
      number,
      { ...number, 'x-kubernetes-validations': [{ rule: 'self > 1' }] },
      ['f: rule self > 1 is added or changed'],
    ],
    [
      'the message of a rule',
      { ...number, 'x-kubernetes-validations': [{ rule: 'self > 1' }, { rule: 'self > 2' }] },
      { ...number, 'x-kubernetes-validations': [{ rule: 'self > 2', message: 'too small' }] },
      [],
    ],
    [
      'an embedded object',
      { type: 'object', [preserve]: true },
      { type: 'object', [preserve]: true, 'x-kubernetes-embedded-resource': true },
      ['f: the field becomes an embedded object'],
    ],
    ['allOf', text, { ...text, allOf: [{ minLength: 1 }] }, ['f: allOf is added']],
    [
      'an alternative more',
      { ...text, anyOf: [{ minLength: 9 }] },
      { ...text, anyOf: [{ maxLength: 1 }, { minLength: 9 }] },
      [],
    ],
    [
      'an alternative less',
      { ...text, anyOf: [{ maxLength: 1 }, { minLength: 9 }] },
      { ...text, anyOf: [{ minLength: 9 }] },
      ['? f: anyOf changes'],
    ],
    [
      'oneOf',
      { ...text, oneOf: [{ minLength: 9 }] },
      { ...text, oneOf: [{ maxLength: 1 }, { minLength: 9 }] },
      ['? f: oneOf changes'],
    ],
    ['not', { ...text, not: { enum: ['a'] } }, text, []],
    [
      'a keyword that is not known',
      text,
      { ...text, patternProperties: { a: text } },
      ['? f: patternProperties differs'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(changes(before, after)).toEqual(expected)
  })

  it('may restrict names in metadata, and never prunes it', () => {
    const of = (metadata?: JSONSchemaProps): CustomResourceDefinition => {
      const openAPIV3Schema = { type: 'object', properties: { ...(metadata && { metadata }) } }
      return crd({ versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }] })
    }
    const restricted = of(objectOf({ name: { ...text, maxLength: 20 } }))
    expect(unsafeChanges(of(), of({ type: 'object' }))).toEqual([])
    expect(unsafeChanges(of({ type: 'object' }), of())).toEqual([])
    expect(unsafeChanges(restricted, of({ type: 'object' }))).toEqual([])
    expect(unsafeChanges(of(), restricted).map(({ field, change }) => [field, change])).toEqual([
      ['metadata.name', 'maxLength 20 is added'],
    ])
  })

  it('of any depth is compared within bounds', () => {
    const nested = (leaf: JSONSchemaProps): JSONSchemaProps => {
      let schema = leaf
      for (let level = 0; level < 1000; level++) schema = objectOf({ a: schema })
      return schema
    }
    expect(changes(nested(text), nested(number)).join('\n')).toMatch(/^\? .*properties differs$/)
    expect(changes(nested(text), nested(text))).toEqual([])
  })
})

describe('a CRD', () => {
  const lines = (before: CustomResourceDefinition, after: CustomResourceDefinition): readonly string[] =>
    unsafeChanges(before, after).map(describeUnsafeChange)

  it('keeps names and scope', () => {
    const after = crd({ scope: 'Cluster', names: { kind: 'Gadget', plural: 'widgets' } })
    expect(unsafeChanges(crd(), after).map(({ field }) => field)).toEqual([
      'spec.scope',
      'spec.names.kind',
      'spec.names.singular',
      'spec.names.listKind',
      'spec.names.shortNames',
    ])
  })

  it('keeps versions that are served, or in which objects are stored', () => {
    const v1 = version('v1', {})
    const v2 = version('v2', {})
    expect(lines(crd({ versions: [v1, v2] }), crd({ versions: [v1] }))).toEqual([
      'v2: the version is dropped: programs that use it fail',
    ])
    expect(lines(crd({ versions: [v1, v2] }), crd({ versions: [v1, { ...v2, served: false }] }))).toEqual([
      'v2: the version is no longer served: programs that use it fail',
    ])
    const unserved = { ...v2, served: false }
    expect(lines(crd({ versions: [v1, unserved] }), crd())).toEqual([])
    expect(lines(crd({ versions: [v1, unserved] }, ['v1', 'v2']), crd())).toEqual([
      'v2: the version is dropped: objects are still stored in it: migrate them, then remove it from status.storedVersions',
    ])
  })

  it('compares schemas when another version stores objects, unless a webhook converts them', () => {
    const [v1, v2] = [version('v1', { properties: { a: text } }), version('v2', {}, { storage: true })]
    const before = crd({ versions: [v1] })
    const versions = [v2, { ...v1, storage: false }]
    expect(lines(before, crd({ versions }))).toEqual([
      'v2 spec.a: the field is dropped: it is pruned from stored objects',
    ])
    expect(
      unsafeChanges(before, crd({ versions, conversion: { strategy: 'Webhook' } })).map(({ field }) => field),
    ).toEqual(['spec.conversion.strategy'])
  })

  it('keeps subresources and field selectors', () => {
    const scale = { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a' }
    const full = crd({
      versions: [
        version('v1', {}, { subresources: { status: {}, scale }, selectableFields: [{ jsonPath: '.spec.a' }] }),
      ],
    })
    expect(unsafeChanges(full, full)).toEqual([])
    expect(unsafeChanges(full, crd()).map(({ change }) => change)).toEqual([
      'the status subresource is dropped',
      'the scale subresource is dropped',
      'field selector .spec.a is dropped',
    ])
    expect(lines(crd(), full)).toEqual([
      'v1: the status subresource is added: the status that programs write with the object is ignored',
    ])
  })

  it('keeps preserving unknown fields', () => {
    expect(lines(crd({ preserveUnknownFields: true }), crd())).toEqual([
      'spec.preserveUnknownFields: unknown fields are no longer preserved: they are pruned from stored objects',
    ])
  })
})
