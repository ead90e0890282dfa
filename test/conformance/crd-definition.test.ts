/** What a CustomResourceDefinition may not say. Nothing is stored by these cases, except what an update needs. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { crds, definition, type KindOptions, object, outcome, withSpec } from './custom-kind.ts'
import { openServer } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const integer = { type: 'integer' }
const plain = withSpec({ a: string })
const status = { version: { subresources: { status: {} } } }
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }
const version = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: plain },
  ...more,
})
const names = (more: object): KindOptions => ({ spec: { names: { plural: 'things', kind: 'Thing', ...more } } })
const field = (schema: object): object => withSpec({ f: schema })
const ruled = (...rules: readonly object[]): object =>
  withSpec({ a: { ...string, maxLength: 9 }, n: integer }, { 'x-kubernetes-validations': rules })
const webhook = (more: object): KindOptions => ({
  spec: { conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], ...more } } },
})
const url = { clientConfig: { url: 'https://example.com/convert' } }

type Case = readonly [name: string, schema: object, options?: KindOptions]

const spec: readonly Case[] = [
  ['no error', plain],
  ['an invalid scope', plain, { spec: { scope: 'World' } }],
  ['no scope', plain, { spec: { scope: '' } }],
  ['no plural', plain, { spec: { names: { kind: 'Thing', plural: '' } } }],
  ['no kind', plain, { spec: { names: { kind: '', plural: 'things' } } }],
  [
    'invalid names',
    plain,
    names({ singular: 'Thing', kind: 'Th ing', listKind: '9', shortNames: ['A_b'], categories: ['a', 'B'] }),
  ],
  ['a kind that equals its list kind', plain, names({ listKind: 'Thing' })],
  ['no versions', plain, { versions: [] }],
  ['no storage version', plain, { versions: [version('v1')] }],
  ['two storage versions', plain, { versions: [version('v1', { storage: true }), version('v2', { storage: true })] }],
  ['a duplicate version', plain, { versions: [version('v1', { storage: true }), version('v1')] }],
  ['an invalid version name', plain, { version: { name: 'V_1' } }],
  ['no schema', plain, { version: { schema: undefined } }],
  ['an empty schema', plain, { version: { schema: {} } }],
  [
    'no schema in one version',
    plain,
    { versions: [version('v1', { storage: true }), version('v2', { schema: undefined })] },
  ],
  ['preserveUnknownFields', plain, { spec: { preserveUnknownFields: true } }],
  ['an invalid deprecation', plain, { version: { deprecationWarning: 'old' } }],
  ['an empty deprecation', plain, { version: { deprecated: true, deprecationWarning: '' } }],
  ['a long deprecation', plain, { version: { deprecated: true, deprecationWarning: 'x'.repeat(257) } }],
  ['a deprecation of two lines', plain, { version: { deprecated: true, deprecationWarning: 'a\nb' } }],
]

const schemas: readonly Case[] = [
  ['no type at the root', {}],
  ['another type at the root', { type: 'string' }],
  ['no type of a field', field({})],
  ['no type of items', field({ type: 'array', items: {} })],
  ['no items', field({ type: 'array' })],
  ['an invalid type', field({ type: 'text' })],
  ['type null', field({ type: 'null' })],
  ['a list of items', field({ type: 'array', items: [string] })],
  ['nullable at the root', { ...plain, nullable: true }],
  ['additionalProperties at the root', { type: 'object', additionalProperties: string }],
  [
    'properties and additionalProperties',
    field({ type: 'object', properties: { a: string }, additionalProperties: string }),
  ],
  [
    'properties and additionalProperties: false',
    field({ type: 'object', properties: { a: string }, additionalProperties: false }),
  ],
  ['uniqueItems', field({ type: 'array', items: string, uniqueItems: true })],
  ['$ref', field({ $ref: '#/definitions/x' })],
  ['definitions', field({ ...string, definitions: { a: string } })],
  ['id', field({ ...string, id: 'x' })],
  ['dependencies', field({ ...object({}), dependencies: { a: ['b'] } })],
  ['patternProperties', field({ ...object({}), patternProperties: { a: string } })],
  ['additionalItems', field({ type: 'array', items: string, additionalItems: string })],
  ['an invalid pattern', field({ ...string, pattern: '(' })],
  ['a pattern in JavaScript syntax', field({ ...string, pattern: '(?=a)' })],
  ['preserve-unknown-fields: false', field({ ...object({}), 'x-kubernetes-preserve-unknown-fields': false })],
  [
    'int-or-string and preserve',
    field({ 'x-kubernetes-int-or-string': true, 'x-kubernetes-preserve-unknown-fields': true }),
  ],
  [
    'embedded without type',
    field({ 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }),
  ],
  ['embedded of another type', field({ ...string, 'x-kubernetes-embedded-resource': true })],
  ['embedded without properties', field({ type: 'object', 'x-kubernetes-embedded-resource': true })],
  [
    'embedded with additionalProperties',
    field({ type: 'object', 'x-kubernetes-embedded-resource': true, additionalProperties: string }),
  ],
  ['restrictions of metadata', object({ metadata: object({ name: { ...string, pattern: '^a' } }) })],
  ['labels in metadata', object({ metadata: object({ labels: { type: 'object', additionalProperties: string } }) })],
  ['metadata of type string', object({ metadata: string })],
  ['kind and apiVersion of another type', object({ kind: integer, apiVersion: integer })],
  ['a default in metadata', object({ metadata: { ...object({ name: { ...string, default: 'a' } }) } })],
  ['a default of kind', object({ kind: { ...string, default: 'Thing' } })],
  ['a type in anyOf', field({ ...string, anyOf: [{ type: 'string' }] })],
  [
    'many fields in allOf',
    field({
      ...object({ a: string }),
      allOf: [{ description: 'x', title: 'y', default: {}, nullable: true, additionalProperties: string }],
    }),
  ],
  [
    'extensions in oneOf',
    field({
      type: 'array',
      items: string,
      oneOf: [
        {
          'x-kubernetes-list-type': 'set',
          'x-kubernetes-preserve-unknown-fields': true,
          'x-kubernetes-validations': [{ rule: 'true' }],
        },
      ],
    }),
  ],
  ['an unknown property in not', field({ ...object({ a: string }), not: { properties: { b: {} } } })],
  ['unknown items in anyOf', field({ ...string, anyOf: [{ items: {} }] })],
  ['metadata in allOf', { ...plain, allOf: [{ properties: { metadata: {} } }] }],
  ['int-or-string spelled out', field({ 'x-kubernetes-int-or-string': true, anyOf: [integer, string] })],
  [
    'int-or-string in allOf',
    field({ 'x-kubernetes-int-or-string': true, allOf: [{ anyOf: [integer, string] }, { pattern: 'a' }] }),
  ],
  ['int-or-string the other way round', field({ 'x-kubernetes-int-or-string': true, anyOf: [string, integer] })],
  ['fields that status forbids', { ...plain, maxProperties: 1 }, status],
  ['another type with status', { type: 'array', items: string }, status],
  ['several errors', withSpec({ a: {}, b: { type: 'array' } })],
]

const extensions: readonly Case[] = [
  ['an invalid list type', field({ type: 'array', items: string, 'x-kubernetes-list-type': 'bag' })],
  ['a list type of an object', field({ ...object({}), 'x-kubernetes-list-type': 'set' })],
  [
    'a list type without type',
    field({ 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-list-type': 'set' }),
  ],
  ['an invalid map type', field({ ...object({}), 'x-kubernetes-map-type': 'bag' })],
  ['a map type of text', field({ ...string, 'x-kubernetes-map-type': 'atomic' })],
  [
    'keys without list type',
    field({ type: 'array', items: object({ k: string }), 'x-kubernetes-list-map-keys': ['k'] }),
  ],
  [
    'keys of a set',
    field({ type: 'array', items: string, 'x-kubernetes-list-type': 'set', 'x-kubernetes-list-map-keys': ['k'] }),
  ],
  ['a map without keys', field({ type: 'array', items: object({ k: string }), 'x-kubernetes-list-type': 'map' })],
  ['a map of texts', field({ type: 'array', items: string, ...keyed })],
  ['a key that is not a property', field({ type: 'array', items: object({ a: string }), ...keyed })],
  [
    'a duplicate key',
    field({
      type: 'array',
      items: object({ k: string }, { required: ['k'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k', 'k'],
    }),
  ],
  [
    'a key that is an object',
    field({ type: 'array', items: object({ k: object({}) }, { required: ['k'] }), ...keyed }),
  ],
  ['an optional key', field({ type: 'array', items: object({ k: string }), ...keyed })],
  ['a key with a default', field({ type: 'array', items: object({ k: { ...string, default: 'a' } }), ...keyed })],
  [
    'a nullable key',
    field({ type: 'array', items: object({ k: { ...string, nullable: true } }, { required: ['k'] }), ...keyed }),
  ],
  [
    'nullable items of a set',
    field({ type: 'array', items: { ...string, nullable: true }, 'x-kubernetes-list-type': 'set' }),
  ],
  ['a set of objects', field({ type: 'array', items: object({ a: string }), 'x-kubernetes-list-type': 'set' })],
  [
    'a set of atomic objects',
    field({
      type: 'array',
      items: { ...object({ a: string }), 'x-kubernetes-map-type': 'atomic' },
      'x-kubernetes-list-type': 'set',
    }),
  ],
  [
    'a set of sets',
    field({
      type: 'array',
      items: { type: 'array', items: string, 'x-kubernetes-list-type': 'set' },
      'x-kubernetes-list-type': 'set',
    }),
  ],
  ['an unknown format', field({ ...string, format: 'nonsense' })],
]

const defaults: readonly Case[] = [
  ['a default of another type', field({ ...string, default: 5 })],
  ['an unpruned default', field({ ...object({ a: string }), default: { b: 1 } })],
  ['a default outside the enum', field({ ...string, enum: ['a'], default: 'b' })],
  ['a default that does not match', field({ ...string, pattern: '^a', default: 'b' })],
  ['a default that is too long', field({ ...string, maxLength: 1, default: 'ab' })],
  ['a default without a required field', field({ ...object({ a: string }, { required: ['a'] }), default: {} })],
  ['a default with an invalid member', field({ ...object({ a: integer }), default: { a: 'x' } })],
  ['a default that is null', field({ ...string, nullable: true, default: null })],
  [
    'a default that violates a rule',
    field({ ...integer, default: 1, 'x-kubernetes-validations': [{ rule: 'self > 5' }] }),
  ],
  [
    'a default of an embedded object',
    field({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      default: { kind: 'Pod' },
    }),
  ],
  ['a default in items', field({ type: 'array', items: { ...integer, default: 'x' } })],
  ['a default in additionalProperties', field({ type: 'object', additionalProperties: { ...integer, default: 'x' } })],
]

const rules: readonly Case[] = [
  ['a valid rule', ruled({ rule: 'self.n > 0' })],
  ['a rule with an unknown field', ruled({ rule: 'self.x > 0', message: 'a<b' })],
  ['a rule with a syntax error', ruled({ rule: 'self.n >' })],
  ['a rule of the wrong type', ruled({ rule: 'self.n' })],
  ['a rule with mixed types', ruled({ rule: "self.n == 'a'" })],
  ['an unknown function', ruled({ rule: 'nonsense(self.n)' })],
  ['an empty rule', ruled({ rule: '  ' })],
  ['no rule', ruled({ message: 'x' })],
  ['an empty message', ruled({ rule: 'true', message: ' ' })],
  ['a message of two lines', ruled({ rule: 'true', message: 'a\nb' })],
  ['a rule of two lines', ruled({ rule: 'self.n > 0 &&\nself.n < 5' })],
  ['an empty messageExpression', ruled({ rule: 'true', messageExpression: ' ' })],
  ['a messageExpression that does not compile', ruled({ rule: 'true', messageExpression: 'self.x' })],
  ['a messageExpression of the wrong type', ruled({ rule: 'true', messageExpression: 'self.n' })],
  ['an invalid reason', ruled({ rule: 'true', reason: 'Because' })],
  ['a fieldPath to a missing field', ruled({ rule: 'true', fieldPath: '.x' })],
  ['a fieldPath without a dot', ruled({ rule: 'true', fieldPath: 'a' })],
  ['an empty fieldPath', ruled({ rule: 'true', fieldPath: ' ' })],
  ['a fieldPath of two lines', ruled({ rule: 'true', fieldPath: '.a\n' })],
  ['optionalOldSelf without oldSelf', ruled({ rule: 'true', optionalOldSelf: true })],
  [
    'oldSelf in a list',
    field({
      type: 'array',
      maxItems: 5,
      items: { ...integer, 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] },
    }),
  ],
  [
    'oldSelf in a set',
    field({
      type: 'array',
      maxItems: 5,
      items: { ...integer, 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] },
      'x-kubernetes-list-type': 'set',
    }),
  ],
  [
    'a rule in additionalProperties',
    field({
      type: 'object',
      maxProperties: 5,
      additionalProperties: { ...integer, 'x-kubernetes-validations': [{ rule: 'self.x' }] },
    }),
  ],
  [
    'a rule in items',
    field({ type: 'array', maxItems: 5, items: { ...integer, 'x-kubernetes-validations': [{ rule: 'self.x' }] } }),
  ],
  ['a rule at the root', { ...plain, 'x-kubernetes-validations': [{ rule: 'self.metadata.labels.size() > 0' }] }],
  ['an invalid pattern in a rule', ruled({ rule: "self.a.matches('(')" })],
  [
    'a rule in one of two versions',
    plain,
    {
      versions: [
        version('v1', { storage: true }),
        version('v2', { schema: { openAPIV3Schema: ruled({ rule: 'self.x' }) } }),
      ],
    },
  ],
]

const column = (more: object): KindOptions => ({
  version: { additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a', ...more }] },
})
const selectable = (...paths: readonly string[]): KindOptions => ({
  version: { selectableFields: paths.map((jsonPath) => ({ jsonPath })) },
})
const scale = (more: object): KindOptions => ({
  version: { subresources: { scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', ...more } } },
})
const wide = withSpec({
  ...Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`f${index}`, string])),
  n: { type: 'number' },
  i: integer,
  b: { type: 'boolean' },
  o: object({ a: string }),
  e: { ...string, enum: ['a'] },
  m: { type: 'object', additionalProperties: string },
})

const rest: readonly Case[] = [
  ['a column', plain, column({})],
  ['a column without a name', plain, column({ name: '' })],
  ['a column without a type', plain, column({ type: '' })],
  ['a column of another type', plain, column({ type: 'object' })],
  ['a column with another format', plain, column({ format: 'nonsense' })],
  ['a column without a path', plain, column({ jsonPath: '' })],
  ['a column with an invalid path', plain, column({ jsonPath: 'spec.a' })],
  ['selectable fields', wide, selectable('.spec.f0', '.spec.i', '.spec.b', '.spec.e')],
  ['a selectable number', wide, selectable('.spec.n')],
  ['a selectable object', wide, selectable('.spec.o')],
  ['a missing selectable field', wide, selectable('.spec.x')],
  ['a selectable field without a dot', wide, selectable('spec.f0')],
  ['a selectable field in brackets', wide, selectable(".spec['f0']")],
  ['an empty selectable field', wide, selectable('')],
  ['a duplicate selectable field', wide, selectable('.spec.f0', '.spec.f0')],
  ['a selectable name', object({ metadata: object({ name: string }), spec: object({}) }), selectable('.metadata.name')],
  ['a selectable value of a map', wide, selectable('.spec.m.x')],
  ['too many selectable fields', wide, selectable(...Array.from({ length: 9 }, (_, index) => `.spec.f${index}`))],
  ['a scale', plain, scale({ labelSelectorPath: '.status.s' })],
  ['a scale without paths', plain, scale({ specReplicasPath: '', statusReplicasPath: '' })],
  [
    'a scale with paths elsewhere',
    plain,
    scale({ specReplicasPath: '.status.n', statusReplicasPath: '.spec.n', labelSelectorPath: '.metadata.x' }),
  ],
  [
    'a scale with invalid paths',
    plain,
    scale({ specReplicasPath: 'spec.n', statusReplicasPath: 'x', labelSelectorPath: 'y' }),
  ],
  ['an invalid conversion', plain, { spec: { conversion: { strategy: 'Magic' } } }],
  ['a conversion without strategy', plain, { spec: { conversion: { strategy: '' } } }],
  ['a webhook', plain, webhook(url)],
  ['a webhook without client', plain, webhook({})],
  [
    'a webhook with strategy None',
    plain,
    { spec: { conversion: { strategy: 'None', webhook: { conversionReviewVersions: ['v1'], ...url } } } },
  ],
  ['an empty webhook', plain, { spec: { conversion: { strategy: 'Webhook' } } }],
  [
    'a webhook with both',
    plain,
    webhook({ clientConfig: { url: 'https://a', service: { name: 'a', namespace: 'b' } } }),
  ],
  ['a webhook with neither', plain, webhook({ clientConfig: {} })],
  ['a webhook over http', plain, webhook({ clientConfig: { url: 'http://example.com' } })],
  ['a webhook with a strange URL', plain, webhook({ clientConfig: { url: 'https://user:pw@example.com/a?b=c#d' } })],
  ['a webhook without a host', plain, webhook({ clientConfig: { url: 'https:///a' } })],
  ['an invalid webhook URL', plain, webhook({ clientConfig: { url: 'example.com' } })],
  ['a webhook service', plain, webhook({ clientConfig: { service: { name: 'a', namespace: 'b' } } })],
  [
    'a webhook service without a name',
    plain,
    webhook({ clientConfig: { service: { name: '', namespace: '', path: 'a', port: 70_000 } } }),
  ],
  [
    'an invalid webhook path',
    plain,
    webhook({ clientConfig: { service: { name: 'a', namespace: 'b', path: '/a//b/' } } }),
  ],
  ['no review versions', plain, webhook({ ...url, conversionReviewVersions: [] })],
  ['unknown review versions', plain, webhook({ ...url, conversionReviewVersions: ['v9'] })],
  ['odd review versions', plain, webhook({ ...url, conversionReviewVersions: ['v1', 'v1', 'V 1'] })],
]

describe('a definition', () => {
  it.each([...spec, ...schemas, ...extensions, ...defaults, ...rules, ...rest])('with %s', async (...given) => {
    const [, schema, options = {}] = given as unknown as Case
    const body = definition(`${server.unique('group')}.example.com`, schema, options)
    expect(outcome(server, await server.call('POST', crds, { query: { dryRun: 'All' }, body }))).toMatchSnapshot(
      'outcome',
    )
  })

  it.each([
    ['a name other than its plural and group', { metadata: { name: 'other' } }],
    ['a group without a dot', { spec: { group: 'example' }, metadata: { name: 'things.example' } }],
    ['an invalid group', { spec: { group: 'Exa mple.com' }, metadata: { name: 'things.Exa mple.com' } }],
    ['no group', { spec: { group: '' }, metadata: { name: 'things.' } }],
    ['a protected group', { spec: { group: 'x.k8s.io' }, metadata: { name: 'things.x.k8s.io' } }],
    [
      'a protected group marked unapproved',
      {
        spec: { group: 'x.k8s.io' },
        metadata: { name: 'things.x.k8s.io', annotations: { 'api-approved.kubernetes.io': 'unapproved, just a test' } },
      },
    ],
    [
      'a protected group and an approval',
      {
        spec: { group: 'x.k8s.io' },
        metadata: {
          name: 'things.x.k8s.io',
          annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1' },
        },
      },
    ],
    [
      'a protected group with an invalid approval',
      {
        spec: { group: 'x.k8s.io' },
        metadata: { name: 'things.x.k8s.io', annotations: { 'api-approved.kubernetes.io': 'nonsense' } },
      },
    ],
  ])('with %s', async (_name, change) => {
    const body = definition(`${server.unique('group')}.example.com`, plain)
    const { spec: changed = {}, metadata } = change as { readonly spec?: object; readonly metadata: object }
    const sent = { ...body, metadata, spec: { ...(body['spec'] as JsonObject), ...changed } } as unknown as Json
    expect(outcome(server, await server.call('POST', crds, { query: { dryRun: 'All' }, body: sent }))).toMatchSnapshot(
      'outcome',
    )
  })
})
