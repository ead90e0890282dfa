/** Custom kinds, between them with most of what a schema can say, and what the generator writes to them. */
import type { JsonObject } from '../../../src/kube/json.ts'
import { gone, type Kind } from './step.ts'

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
const text = { type: 'string' }
const integer = { type: 'integer' }

const widgetSchema = object(
  {
    spec: object(
      {
        replicas: { type: 'integer', default: 1, minimum: 0, maximum: 10 },
        size: { type: 'string', enum: ['small', 'large'], default: 'small' },
        name: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[a-z]+$' },
        port: { 'x-kubernetes-int-or-string': true },
        ratio: { type: 'number' },
        when: { type: 'string', format: 'date-time' },
        maybe: { type: 'string', nullable: true },
        tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
        ports: {
          type: 'array',
          items: object(
            { name: text, port: integer, protocol: { type: 'string', default: 'TCP' } },
            { required: ['name'] },
          ),
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        plain: { type: 'array', items: integer, maxItems: 3 },
        labels: { type: 'object', additionalProperties: text },
        atom: object({ a: text, b: text }, { 'x-kubernetes-map-type': 'atomic' }),
        nested: object({ on: { type: 'boolean', default: false }, level: integer }, { default: {} }),
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
      { required: ['size'] },
    ),
    status: object({
      replicas: integer,
      selector: text,
      phase: text,
      conditions: {
        type: 'array',
        items: object({ type: text, status: text }, { required: ['type', 'status'] }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      },
    }),
  },
  { required: ['spec'] },
)

const ruleSchema = object({
  spec: object(
    {
      min: integer,
      max: integer,
      fixed: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'fixed is fixed' }] },
      items: {
        type: 'array',
        maxItems: 5,
        items: { type: 'string', maxLength: 10 },
        'x-kubernetes-validations': [{ rule: 'self.all(x, x.startsWith("i"))' }],
      },
    },
    {
      'x-kubernetes-validations': [
        {
          rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
          messageExpression: 'self.min > 5 ? "min is far above max" : "min is above max"',
          reason: 'FieldValueForbidden',
          fieldPath: '.min',
        },
      ],
    },
  ),
})

const openSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

function crd(group: string, kind: string, plural: string, scope: string, versions: readonly object[]): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` }, versions },
  } as unknown as JsonObject
}

const version = (name: string, schema: object, more: object = {}): object => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  ...more,
})

const subresources = {
  status: {},
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
}

export function definitions(group: string): readonly JsonObject[] {
  return [
    crd(group, 'Widget', 'widgets', 'Namespaced', [
      version('v1', widgetSchema, {
        subresources,
        selectableFields: [{ jsonPath: '.spec.size' }],
        additionalPrinterColumns: [
          { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
          { name: 'Size', type: 'string', jsonPath: '.spec.size', priority: 1 },
        ],
      }),
      version(
        'v1beta1',
        { ...widgetSchema, description: 'An older form of the same.' },
        { storage: false, subresources, deprecated: true },
      ),
    ]),
    crd(group, 'Rule', 'rules', 'Namespaced', [version('v1', ruleSchema)]),
    crd(group, 'Open', 'opens', 'Cluster', [version('v1', openSchema, { subresources: { status: {} } })]),
  ]
}

const widget: Omit<Kind, 'apiVersion'> = {
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  hasScale: true,
  template: { spec: { size: 'large', ports: [{ name: 'http', port: 80 }], tags: ['a'], labels: { x: 'y' } } },
  edits: [
    ['spec/replicas', 2, 0, 11, -1, 1.5, '3', null, gone],
    ['spec/size', 'small', 'huge', gone, null, 5],
    ['spec/name', 'abc', 'a', 'toolong', 'A1'],
    ['spec/port', 80, 'http', true, 1.5, null],
    ['spec/ratio', 0.5, 1, '1', 1e21],
    ['spec/when', '2026-01-01T00:00:00Z', 'today'],
    ['spec/maybe', 'x', null, 5],
    ['spec/tags', ['a', 'b'], ['b', 'a'], ['a', 'a'], [], [1], null],
    ['spec/ports/0/port', 81, '80', null],
    ['spec/ports/1', { name: 'two' }, { name: 'http' }, { port: 5 }, { name: 'three', port: 3, protocol: 'UDP' }],
    ['spec/ports', [], null, gone],
    ['spec/plain', [1, 2], [2, 1, 1], [1, 2, 3, 4], ['x'], []],
    ['spec/labels/x', 'z', 5, null, gone],
    ['spec/labels/new', 'n'],
    ['spec/atom', { a: '1' }, { b: '2' }, { a: '1', b: '2' }, {}],
    ['spec/atom/a', '3'],
    ['spec/nested', { on: true }, {}, { level: 3 }, null, gone],
    ['spec/nested/on', true, 'yes'],
    ['spec/free', { any: [1, { thing: true }] }, {}, { any: null }],
    ['spec/free/deep/er', 1, 'x'],
    ['spec/unknown', 1],
    ['spec', gone, {}, 'x'],
    ['status', { phase: 'Sneaky' }],
  ],
  status: [
    ['status/replicas', 1, -1, 'x'],
    ['status/phase', 'Ready', 'Failed', 5, gone],
    ['status/selector', 'app=a'],
    [
      'status/conditions',
      [{ type: 'A', status: 'True' }],
      [
        { type: 'A', status: 'False' },
        { type: 'B', status: 'True' },
      ],
      [
        { type: 'A', status: 'x' },
        { type: 'A', status: 'y' },
      ],
      [],
      [{ type: 'A' }],
    ],
    ['status', gone, {}],
  ],
}

export function customKinds(group: string): readonly Kind[] {
  return [
    { ...widget, apiVersion: `${group}/v1` },
    { ...widget, apiVersion: `${group}/v1beta1` },
    {
      apiVersion: `${group}/v1`,
      kind: 'Rule',
      plural: 'rules',
      namespaced: true,
      template: { spec: { min: 1, max: 5, fixed: 'f' } },
      edits: [
        ['spec/min', 2, 6, gone, 'x'],
        ['spec/max', 4, 0, gone],
        ['spec/fixed', 'g', gone],
        ['spec/items', ['i1', 'i2'], ['x'], [], ['i1', 'i2', 'i3', 'i4', 'i5', 'i6']],
        ['spec', gone, {}],
      ],
    },
    {
      apiVersion: `${group}/v1`,
      kind: 'Open',
      plural: 'opens',
      namespaced: false,
      template: { spec: { anything: { goes: [1, 'two', null] } }, other: 'x' },
      edits: [
        ['spec/anything', 1, 'x', null, {}, { list: [{ a: 1 }, { a: 2 }] }, gone],
        ['other', 'y', { now: 'object' }, gone, null],
        ['more/deep/er', 1, 2],
      ],
      status: [
        ['status/any', 1, { x: 'y' }, null],
        ['status', gone],
      ],
    },
  ]
}
