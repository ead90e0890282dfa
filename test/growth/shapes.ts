/** Requests of variable size: those that have blocked servers before, and one for each way to make a request long. */
import type { Method, TransportRequest } from '../../src/transport/transport.ts'
import { type Json, type JsonObject, stringifyJson } from '../../src/kube/json.ts'
import type { BuiltinResource } from '../../src/kube/builtin.ts'
import { type Field, objectWith, sampleOf } from './fields.ts'
import type { Shape } from './measure.ts'

/** The building blocks of texts: each is difficult for some expression. */
export const units: readonly string[] = [
  '/',
  '9',
  '0',
  '.',
  ' ',
  'a',
  '-',
  '%',
  '[',
  '(',
  ')',
  '\\',
  '"',
  "'",
  ':',
  '\n',
  '\t',
  'é',
  '😀',
  '=',
  'a.',
  '/.',
  'a/',
  '1.',
  '1s',
  '1 ',
  '=a,',
  '{"a":',
  '[?(@.a==',
  '%zz',
  '\\"',
  '"""\n\\',
  '-----BEGIN A-----\n',
  'a@',
  '../',
  '*',
  '..',
]

/** An end that prevents a match. */
const text = (unit: string, size: number): string => `${unit.repeat(Math.ceil(size / unit.length))}!`

export const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))

export function send(method: Method, path: string, body: Json, type = 'json'): TransportRequest {
  return { method, path, headers: { 'content-type': `application/${type}` }, body: stringifyJson(body) }
}

function pathOf({ group, version, plural, namespaced }: BuiltinResource): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${namespaced ? '/namespaces/default' : ''}/${plural}?dryRun=All`
}

/** A field of a kind that holds a long string, or many items. */
export function fieldShape(field: Field, unit: string): Shape {
  const { resource, type, inner, name } = field
  const held = (size: number): Json => {
    if (type === 'text') return text(unit, size)
    if (type === 'list') return times(size, (index) => sampleOf(inner, index))
    return Object.fromEntries(times(size, (index) => [`a${index}`, sampleOf(inner, index)]))
  }
  return {
    name: type === 'text' ? `${name} of ${stringifyJson(unit)}` : `${name} of many`,
    size: type === 'text' ? 60_000 : 4000,
    scene: (size) => ({ request: send('POST', pathOf(resource), objectWith(field, held(size))) }),
  }
}

const core = '/api/v1/namespaces/default'
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All'
const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All'

const object = (apiVersion: string, kind: string, rest: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name: 'a', ...metadata },
  ...rest,
})

const configMap = (rest: JsonObject, metadata: JsonObject = {}): JsonObject => object('v1', 'ConfigMap', rest, metadata)

const pod = (spec: JsonObject, container: JsonObject = {}): JsonObject =>
  object('v1', 'Pod', { spec: { containers: [{ name: 'a', image: 'a', ...container }], ...spec } })

export function definition(schema: JsonObject, version: JsonObject = {}): JsonObject {
  const openAPIV3Schema = { type: 'object', properties: { spec: schema } }
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, ...version }]
  const names = { plural: 'gadgets', kind: 'Gadget', listKind: 'GadgetList', singular: 'gadget' }
  const spec = { group: 'example.com', scope: 'Namespaced', names, versions }
  return object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', { spec }, { name: 'gadgets.example.com' })
}

function policy(spec: JsonObject): JsonObject {
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }
  const whole = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }], ...spec }
  return object('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', { spec: whole })
}

const shape = (name: string, size: number, request: (size: number) => TransportRequest, status?: number): Shape => ({
  name,
  size,
  scene: (held) => ({ request: request(held) }),
  ...(status !== undefined && { status }),
})

/** Requests that blocked the server before. */
export const knownShapes: readonly Shape[] = [
  shape('a hostPath of slashes', 60_000, (size) => {
    const spec = {
      capacity: { storage: '1' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Recycle',
    }
    const volume = object('v1', 'PersistentVolume', { spec: { ...spec, hostPath: { path: text('/', size) } } })
    return send('POST', '/api/v1/persistentvolumes?dryRun=All', volume)
  }),
  ...['9', '9.', ' ', '1e', '0'].map((unit) =>
    shape(`a quantity of ${stringifyJson(unit)}`, 200_000, (size) =>
      send('POST', `${core}/pods?dryRun=All`, pod({}, { resources: { limits: { cpu: text(unit, size) } } })),
    ),
  ),
  shape('quantities with large exponents', 4000, (size) =>
    send(
      'POST',
      `${core}/pods?dryRun=All`,
      pod(
        {},
        {
          resources: {
            requests: Object.fromEntries(times(size, (index) => [`example.com/a${index}`, '1e99999'])),
            limits: Object.fromEntries(times(size, (index) => [`example.com/a${index}`, '12e99998'])),
          },
        },
      ),
    ),
  ),
  shape('a Service of many ports', 30_000, (size) => {
    const ports = times(size, (index) => ({ name: `p${index}`, port: index + 1 }))
    return send('POST', `${core}/services?dryRun=All`, object('v1', 'Service', { spec: { ports } }))
  }),
  shape('a policy of many variables', 4000, (size) => {
    const variables = times(size, (index) => ({
      name: `v${index}`,
      expression: index === 0 ? '1' : `variables.v${index - 1} + 1`,
    }))
    return send('POST', policies, policy({ variables, validations: [{ expression: `variables.v${size - 1} > 0` }] }))
  }),
]

const variables = (size: number): readonly { readonly name: string; readonly value: string }[] =>
  times(size, (index) => ({ name: `E${index}`, value: 'v' }))

const strategicShape = (name: string, patch: (size: number) => JsonObject): Shape =>
  shape(
    `a strategic patch of ${name}`,
    3000,
    (size) =>
      send(
        'PATCH',
        '/apis/apps/v1/namespaces/default/deployments/live?dryRun=All',
        patch(size),
        'strategic-merge-patch+json',
      ),
    200,
  )

const selectorText = (size: number): string =>
  encodeURIComponent(`a in (${times(size, (index) => `b${index}`).join(',')})`)

/** Each way to make a request long. */
export const otherShapes: readonly Shape[] = [
  shape('labels', 8000, (size) =>
    send(
      'POST',
      `${core}/configmaps?dryRun=All`,
      configMap({}, { labels: Object.fromEntries(times(size, (index) => [`a${index}`, 'b'])) }),
    ),
  ),
  shape('owner references', 8000, (size) =>
    send(
      'POST',
      `${core}/configmaps?dryRun=All`,
      configMap(
        {},
        {
          ownerReferences: times(size, (index) => ({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: `a${index}`,
            uid: `u${index}`,
          })),
        },
      ),
    ),
  ),
  shape('finalizers', 8000, (size) =>
    send(
      'POST',
      `${core}/configmaps?dryRun=All`,
      configMap({}, { finalizers: times(size, (index) => `example.com/a${index}`) }),
    ),
  ),
  shape('managers of fields', 2000, (size) =>
    send(
      'POST',
      `${core}/configmaps?dryRun=All`,
      configMap(
        { data: { a: 'b' } },
        {
          managedFields: times(size, (index) => ({
            manager: `m${index}`,
            operation: 'Apply',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { [`f:k${index}`]: {} } },
          })),
        },
      ),
    ),
  ),
  shape('an applied object of many members', 8000, (size) =>
    send(
      'PATCH',
      `${core}/configmaps/applied?fieldManager=m&force=true`,
      configMap({ data: Object.fromEntries(times(size, (index) => [`k${index}`, 'v'])) }, { name: 'applied' }),
      'apply-patch+yaml',
    ),
  ),
  shape('an applied list of many items', 3000, (size) =>
    send(
      'PATCH',
      `${core}/pods/applied?fieldManager=m&force=true&dryRun=All`,
      {
        ...pod({}, { env: times(size, (index) => ({ name: `E${index}`, value: 'v' })) }),
        metadata: { name: 'applied' },
      },
      'apply-patch+yaml',
    ),
  ),
  ...(['add', 'replace', 'test'] as const).map((op) =>
    shape(
      `a JSON patch of many operations: ${op}`,
      9000,
      (size) =>
        send(
          'PATCH',
          `${core}/configmaps/live?dryRun=All`,
          times(size, () => ({
            op,
            path: op === 'add' ? '/metadata/finalizers/0' : '/data/k',
            value: 'example.com/a',
          })),
          'json-patch+json',
        ),
      200,
    ),
  ),
  shape(
    'a JSON patch that adds and removes',
    4500,
    (size) =>
      send(
        'PATCH',
        `${core}/configmaps/live?dryRun=All`,
        times(size, (index) => ({ op: 'add', path: `/data/k${index}`, value: 'v' })).concat(
          times(size, (index) => ({ op: 'remove', path: `/data/k${index}`, value: '' })),
        ),
        'json-patch+json',
      ),
    200,
  ),
  shape('a JSON patch of copies', 9000, (size) =>
    send(
      'PATCH',
      `${core}/configmaps/live?dryRun=All`,
      times(size, () => ({ op: 'copy', from: '/data', path: '/data/deep' })),
      'json-patch+json',
    ),
  ),
  shape('a JSON patch with long pointers', 100_000, (size) =>
    send(
      'PATCH',
      `${core}/configmaps/live?dryRun=All`,
      [
        { op: 'add', path: '/a'.repeat(size / 2), value: 1 },
        { op: 'add', path: `/${'~1'.repeat(size / 2)}`, value: 1 },
      ],
      'json-patch+json',
    ),
  ),
  strategicShape('many elements', (size) => ({
    metadata: { finalizers: times(size, (index) => `example.com/a${index}`) },
    spec: { template: { spec: { containers: [{ name: 'a', env: variables(size) }] } } },
  })),
  strategicShape('an order', (size) => ({
    spec: {
      template: {
        spec: {
          containers: [
            {
              name: 'a',
              // The patch and the order agree; the live object has another order.
              env: variables(size).toReversed(),
              '$setElementOrder/env': variables(size)
                .map(({ name }) => ({ name }))
                .toReversed(),
            },
          ],
        },
      },
    },
  })),
  strategicShape('many deletions', (size) => ({
    metadata: { '$deleteFromPrimitiveList/finalizers': times(size, (index) => `example.com/a${index}`) },
    spec: {
      template: {
        spec: { containers: [{ name: 'a', env: variables(size).map(({ name }) => ({ name, $patch: 'delete' })) }] },
      },
    },
  })),
  shape('a nested document', 20_000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/json' },
    body: `${'{"a":['.repeat(size)}${']}'.repeat(size)}`,
  })),
  shape('nested YAML', 6000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/yaml' },
    body: `a: ${'['.repeat(size)}`,
  })),
  shape('YAML that begins as JSON', 100_000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/yaml' },
    body: `{"${'\\"'.repeat(size / 2)}`,
  })),
  shape('YAML whose brackets stand too far left', 3000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/yaml' },
    body: `a:\n  b: [\n${'  c,\nd,\n'.repeat(size)}]\n`,
  })),
  shape('YAML of many aliases', 20_000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/yaml' },
    body: `a: &a {b: c}\nd:\n${'- *a\n'.repeat(size)}`,
  })),
  shape('YAML of many merges', 4000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/yaml' },
    body: `a: &a {${times(50, (index) => `k${index}: 1`).join(', ')}}\nd:\n${'- {<<: *a}\n'.repeat(size)}`,
  })),
  shape('YAML with many keys', 10_000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps?dryRun=All`,
    headers: { 'content-type': 'application/yaml', accept: 'application/yaml' },
    body: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n${times(size, (index) => `  k${index}: v\n`).join('')}`,
  })),
  shape('YAML of a long number', 200_000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/yaml' },
    body: `a: ${'9'.repeat(size)}\n`,
  })),
  shape('YAML of a long number as key', 200_000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps?dryRun=All`,
    headers: { 'content-type': 'application/json', accept: 'application/yaml' },
    body: stringifyJson(
      configMap({}, { annotations: { [`a${'9'.repeat(size)}`]: 'b', [`a${'9'.repeat(size - 1)}8`]: 'b' } }),
    ),
  })),
  shape('JSON of a long number', 200_000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps`,
    headers: { 'content-type': 'application/json' },
    body: `{"a":${'9'.repeat(size)}}`,
  })),
  shape('members that a kind does not know', 8000, (size) =>
    send(
      'POST',
      `${core}/configmaps?dryRun=All&fieldValidation=Warn`,
      configMap(Object.fromEntries(times(size, (index) => [`k${index}`, 1]))),
    ),
  ),
  shape('repeated members', 8000, (size) => ({
    method: 'POST',
    path: `${core}/configmaps?dryRun=All&fieldValidation=Warn`,
    headers: { 'content-type': 'application/json' },
    body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{${times(size, (index) => `"a${index}":"b","a${index}":"b"`).join(',')}}}`,
  })),
  shape('a label selector', 4000, (size) => ({
    method: 'GET',
    path: `${core}/configmaps?labelSelector=${selectorText(size)}`,
    headers: {},
  })),
  ...['(', '!', 'a,', 'a=b,', ' ', '=', 'a in (', 'a notin (b),'].map((unit) =>
    shape(`a label selector of ${stringifyJson(unit)}`, 40_000, (size) => ({
      method: 'GET',
      path: `${core}/configmaps?labelSelector=${encodeURIComponent(unit.repeat(size / unit.length))}`,
      headers: {},
    })),
  ),
  ...['\\', '=', 'metadata.name!=a,', '\\,', 'a'].map((unit) =>
    shape(`a field selector of ${stringifyJson(unit)}`, 40_000, (size) => ({
      method: 'GET',
      path: `${core}/configmaps?fieldSelector=${encodeURIComponent(unit.repeat(size / unit.length))}`,
      headers: {},
    })),
  ),
  ...['a/b,', ';', ',', ' ', 'application/json;as=Table,', 'a/b;q=0.'].map((unit) =>
    shape(`an Accept header of ${stringifyJson(unit)}`, 40_000, (size) => ({
      method: 'GET',
      path: `${core}/configmaps`,
      headers: { accept: unit.repeat(size / unit.length) },
    })),
  ),
  ...['/', '%2F', 'a/', '..', '%'].map((unit) =>
    shape(`a path of ${stringifyJson(unit)}`, 40_000, (size) => ({
      method: 'GET',
      path: `/api/v1/${unit.repeat(size / unit.length)}`,
      headers: {},
    })),
  ),
  shape('a token', 100_000, (size) => ({
    method: 'GET',
    path: `${core}/configmaps`,
    headers: { authorization: `Bearer ${'a.'.repeat(size / 2)}` },
  })),
  shape('a schema of many values', 8000, (size) =>
    send('POST', crds, definition({ type: 'string', enum: times(size, (index) => `v${index}`) })),
  ),
  shape('a schema of many properties', 3000, (size) =>
    send(
      'POST',
      crds,
      definition({
        type: 'object',
        properties: Object.fromEntries(times(size, (index) => [`p${index}`, { type: 'string' }])),
        required: times(size, (index) => `p${index}`),
      }),
    ),
  ),
  shape('a schema of many alternatives', 2000, (size) =>
    send(
      'POST',
      crds,
      definition({
        type: 'object',
        properties: { a: { type: 'string' } },
        anyOf: times(size, (index) => ({ properties: { a: { pattern: `^v${index}` } } })),
        allOf: times(size, () => ({ required: ['a'] })),
      }),
    ),
  ),
  shape('a schema of many keys', 2000, (size) =>
    send(
      'POST',
      crds,
      definition({
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': times(size, (index) => `k${index}`),
        items: {
          type: 'object',
          properties: Object.fromEntries(times(size, (index) => [`k${index}`, { type: 'string' }])),
        },
      }),
    ),
  ),
  shape('a schema of many rules', 1000, (size) =>
    send(
      'POST',
      crds,
      definition({
        type: 'object',
        properties: { a: { type: 'string', maxLength: 5 } },
        'x-kubernetes-validations': times(size, (index) => ({ rule: `self.a != 'v${index}'` })),
      }),
    ),
  ),
  shape('a schema nested deep', 400, (size) =>
    send(
      'POST',
      crds,
      definition(
        times(size, () => 0).reduce<JsonObject>((inner) => ({ type: 'object', properties: { a: inner } }), {
          type: 'string',
        }),
      ),
    ),
  ),
  shape('a long pattern', 20_000, (size) =>
    send('POST', crds, definition({ type: 'string', pattern: '(a|b)*'.repeat(size / 6) })),
  ),
  shape('a pattern of brackets', 20_000, (size) =>
    send('POST', crds, definition({ type: 'string', pattern: '['.repeat(size) })),
  ),
  shape('many columns', 2000, (size) =>
    send(
      'POST',
      crds,
      definition(
        { type: 'object' },
        {
          additionalPrinterColumns: times(size, (index) => ({
            name: `c${index}`,
            type: 'string',
            jsonPath: `.spec.a${index}`,
          })),
        },
      ),
    ),
  ),
  ...['..', '[?(@.a==', "['a',", '.a', '[', "'", ' ', '\\.'].map((unit) =>
    shape(`a column with a path of ${stringifyJson(unit)}`, 40_000, (size) =>
      send(
        'POST',
        crds,
        definition(
          { type: 'object' },
          {
            additionalPrinterColumns: [
              { name: 'c', type: 'string', jsonPath: `.spec${unit.repeat(size / unit.length)}` },
            ],
          },
        ),
      ),
    ),
  ),
  ...['..', '[?(@.a==', "['a']", '.a', "'"].map((unit) =>
    shape(`a field path of ${stringifyJson(unit)}`, 20_000, (size) =>
      send(
        'POST',
        crds,
        definition({
          type: 'object',
          'x-kubernetes-validations': [{ rule: 'true', fieldPath: `.a${unit.repeat(size / unit.length)}` }],
        }),
      ),
    ),
  ),
  ...[
    '1+',
    '(',
    '[',
    '!',
    '-',
    'a.',
    '"""\n\\',
    "'\\",
    'true && ',
    'true ? true : ',
    '{"a":',
    '[1].map(x,',
    'has(',
    '9',
    '0x',
    '//',
    'a?.b',
    '`',
  ].map((unit) =>
    shape(`an expression of ${stringifyJson(unit)}`, 40_000, (size) =>
      send('POST', policies, policy({ validations: [{ expression: text(unit, size) }] })),
    ),
  ),
  shape('an expression of a long list', 40_000, (size) =>
    send('POST', policies, policy({ validations: [{ expression: `1 in [${'1,'.repeat(size / 2)}]` }] })),
  ),
  shape('many validations', 2000, (size) =>
    send('POST', policies, policy({ validations: times(size, () => ({ expression: 'object.metadata.name != "b"' })) })),
  ),
  shape('rules of a role', 3000, (size) =>
    send(
      'POST',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All',
      object('rbac.authorization.k8s.io/v1', 'ClusterRole', {
        rules: times(size, (index) => ({ verbs: ['get'], apiGroups: [''], resources: [`a${index}`] })),
      }),
    ),
  ),
  shape('watch with many first events', 3000, (size) => ({
    method: 'GET',
    path: `/api/v1/namespaces/many/configmaps?watch=true&timeoutSeconds=1&labelSelector=${encodeURIComponent(`n<${size}`)}`,
    headers: {},
  })),
  shape('a Table of many rows', 3000, (size) => ({
    method: 'GET',
    path: `/api/v1/namespaces/many/configmaps?labelSelector=${encodeURIComponent(`n<${size}`)}`,
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  })),
]
