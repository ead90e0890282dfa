/** Objects of custom kinds whose schemas or printer columns are designed to be slow. Each size has its own definition. */
import type { TransportRequest } from '../../src/transport/transport.ts'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import type { Shape } from './measure.ts'
import { send, times } from './shapes.ts'

interface Custom {
  /** The schema of `spec`. */
  readonly schema: JsonObject
  readonly spec: Json
  readonly columns?: readonly JsonObject[]
}

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
let definitions = 0

function definitionOf({ schema, columns }: Custom): { readonly group: string; readonly create: TransportRequest } {
  const group = `g${definitions++}.example.com`
  const openAPIV3Schema = { type: 'object', properties: { spec: schema } }
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }
  const create = send('POST', crds, {
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'gadgets', kind: 'Gadget', listKind: 'GadgetList', singular: 'gadget' },
      versions: [{ ...version, ...(columns && { additionalPrinterColumns: columns }) }],
    },
  })
  return { group, create }
}

const pathOf = (group: string): string => `/apis/${group}/v1/namespaces/default/gadgets`

const objectOf = (group: string, spec: Json): JsonObject => ({
  apiVersion: `${group}/v1`,
  kind: 'Gadget',
  metadata: { name: 'a' },
  spec,
})

const cleanUp = (group: string): TransportRequest => send('DELETE', `${crds}/gadgets.${group}`, {})

function written(name: string, size: number, status: number, make: (size: number) => Custom): Shape {
  return {
    name: `an object with ${name}`,
    size,
    status,
    scene: (held) => {
      const custom = make(held)
      const { group, create } = definitionOf(custom)
      return {
        before: [create],
        request: send('POST', `${pathOf(group)}?dryRun=All`, objectOf(group, custom.spec)),
        after: [cleanUp(group)],
      }
    },
  }
}

function shown(name: string, size: number, make: (size: number) => Custom): Shape {
  return {
    name: `a Table with ${name}`,
    size,
    status: 200,
    scene: (held) => {
      const custom = make(held)
      const { group, create } = definitionOf(custom)
      return {
        before: [create, send('POST', pathOf(group), objectOf(group, custom.spec))],
        request: {
          method: 'GET',
          path: pathOf(group),
          headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
        },
        after: [send('DELETE', `${pathOf(group)}/a`, {}), cleanUp(group)],
      }
    },
  }
}

const free: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const column = (jsonPath: string, name = 'c'): JsonObject => ({ name, type: 'string', jsonPath })
const list = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more })
const members = (size: number, value: (index: number) => Json): JsonObject =>
  Object.fromEntries(times(size, (index) => [`p${index}`, value(index)]))
/** `make` nested in itself. */
const nested = (size: number, inner: JsonObject, make: (inner: JsonObject) => JsonObject): JsonObject =>
  times(size, () => 0).reduce((found) => make(found), inner)
const text: JsonObject = { type: 'string' }

export const customShapes: readonly Shape[] = [
  written('a value of a long enum', 20_000, 201, (size) => ({
    schema: { type: 'string', enum: times(size, (index) => `v${index}`) },
    spec: `v${size - 1}`,
  })),
  written('many values of a long enum', 10_000, 201, (size) => ({
    schema: list({ type: 'string', enum: times(size, (index) => `v${index}`) }),
    spec: times(size, (index) => `v${size - 1 - index}`),
  })),
  written('many values that a long enum lacks', 600, 422, (size) => ({
    schema: list({ type: 'string', enum: times(30, (index) => `v${index}`) }),
    spec: times(size, (index) => `w${index}`),
  })),
  written('a long pattern', 4000, 422, (size) => ({
    schema: { type: 'string', pattern: `^${'(a|b)*'.repeat(size / 4)}$` },
    spec: `${'a'.repeat(100)}!`,
  })),
  ...['^(a+)+$', '^(a|a)*$', 'a*a*a*b', '^([a-z]+[.]?)*$', '(x+x+)+y', '^(?:a{0,20}){20}$'].map((pattern) =>
    written(`a long text for ${pattern}`, 20_000, 422, (size) => ({
      schema: { type: 'string', pattern },
      spec: `${'a'.repeat(size)}!`,
    })),
  ),
  ...(['allOf', 'anyOf', 'oneOf'] as const).flatMap((word) => [
    written(`conditions nested by ${word}`, 200, 201, (size) => ({
      schema: { ...text, ...nested(size, { minLength: 1 }, (inner) => ({ [word]: [inner] })) },
      spec: 'a',
    })),
    written(`unmet conditions nested by ${word}`, 200, 422, (size) => ({
      schema: { ...text, ...nested(size, { minLength: 5 }, (inner) => ({ [word]: [inner, { minLength: 7 }] })) },
      spec: 'a',
    })),
    written(`many conditions of ${word}`, 2000, word === 'oneOf' ? 422 : 201, (size) => ({
      schema: { ...text, [word]: times(size, () => ({ minLength: 1 })) },
      spec: 'aaa',
    })),
    written(`many items with conditions of ${word}`, 200, 422, (size) => ({
      schema: list({ ...text, [word]: times(10, () => ({ minLength: 5 })) }),
      spec: times(size, () => 'a'),
    })),
  ]),
  written('negations', 400, 201, (size) => ({
    schema: { ...text, ...nested(2 * Math.ceil(size / 2), { minLength: 1 }, (inner) => ({ not: inner })) },
    spec: 'a',
  })),
  written('many properties', 4000, 201, (size) => ({
    schema: { type: 'object', properties: members(size, () => text), required: times(size, (index) => `p${index}`) },
    spec: members(size, () => 'v'),
  })),
  written('many properties that are missing', 4000, 422, (size) => ({
    schema: { type: 'object', properties: members(size, () => text), required: times(size, (index) => `p${index}`) },
    spec: {},
  })),
  written('many members that the schema lacks', 8000, 201, (size) => ({
    schema: { type: 'object', properties: { a: text } },
    spec: members(size, () => 'v'),
  })),
  written('many defaults', 4000, 201, (size) => ({
    schema: { type: 'object', properties: members(size, (index) => ({ ...text, default: `d${index}` })) },
    spec: {},
  })),
  written('defaults in many items', 4000, 201, (size) => ({
    schema: list({ type: 'object', properties: members(5, (index) => ({ ...text, default: `d${index}` })) }),
    spec: times(size, () => ({})),
  })),
  written('a deep schema', 150, 201, (size) => ({
    schema: nested(size, text, (inner) => ({ type: 'object', properties: { a: inner } })),
    spec: times(size, () => 0).reduce<Json>((inner) => ({ a: inner }), 'v'),
  })),
  written('a set of many values', 8000, 201, (size) => ({
    schema: list(text, { 'x-kubernetes-list-type': 'set' }),
    spec: times(size, (index) => `v${index}`),
  })),
  written('a set of many lists', 4000, 201, (size) => ({
    schema: list(list(text, { 'x-kubernetes-list-type': 'atomic' }), { 'x-kubernetes-list-type': 'set' }),
    spec: times(size, (index) => [`v${index}`, 'w']),
  })),
  written('one value many times in a set', 4000, 422, (size) => ({
    schema: list(text, { 'x-kubernetes-list-type': 'set' }),
    spec: times(size, () => 'v'),
  })),
  written('a map of many items', 4000, 201, (size) => ({
    schema: list(
      { type: 'object', properties: { a: text, b: text }, required: ['a', 'b'] },
      { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a', 'b'] },
    ),
    spec: times(size, (index) => ({ a: `v${index}`, b: 'w' })),
  })),
  written('a rule for each of many items', 500, 201, (size) => ({
    schema: list(
      { ...text, maxLength: 9, 'x-kubernetes-validations': [{ rule: "self != 'w'" }] },
      { maxItems: Math.max(size, 1) },
    ),
    spec: times(size, (index) => `v${index}`),
  })),
  written('rules at each level', 60, 201, (size) => ({
    schema: nested(size, { ...text, maxLength: 9 }, (inner) => ({
      type: 'object',
      properties: { a: inner },
      'x-kubernetes-validations': [{ rule: 'has(self.a)' }],
    })),
    spec: times(size, () => 0).reduce<Json>((inner) => ({ a: inner }), 'v'),
  })),
  shown('many columns', 1000, (size) => ({
    schema: free,
    spec: members(size, () => 'v'),
    columns: times(size, (index) => column(`.spec.p${index}`, `c${index}`)),
  })),
  shown('a long path', 20_000, (size) => ({
    schema: free,
    spec: nested(100, { a: 'v' }, (inner) => ({ a: inner })),
    columns: [column(`.spec${'.a'.repeat(size / 2)}`)],
  })),
  shown('descendants of descendants', 90, (size) => ({
    schema: free,
    spec: nested(size, { a: 'v' }, (inner) => ({ a: inner })),
    columns: [column(`.spec${'..a'.repeat(10)}`)],
  })),
  shown('ever more descendants', 90, (size) => ({
    schema: free,
    spec: nested(40, { a: 'v' }, (inner) => ({ a: inner })),
    columns: [column(`.spec${'..*'.repeat(size)}`)],
  })),
  shown('items that a path chooses many times', 400, (size) => ({
    schema: free,
    spec: { l: times(size, () => ({ a: 1 })) },
    columns: [column(`.spec.l[${'*,'.repeat(20)}*].a`)],
  })),
  ...['[0:,0:', '[*]', '..', "['a','a']", '[?(@.a==1)]', "[?(@.l[?(@.a=='x')])]"].map((unit) =>
    shown(`many items and a path of ${unit}`, 4000, (size) => ({
      schema: free,
      spec: { l: times(size, () => ({ a: 1, l: [{ a: 2 }] })) },
      columns: [column(`.spec.l${unit.startsWith('[0') ? `[${'0:,'.repeat(size)}0:]` : unit.repeat(size / 4)}`)],
    })),
  ),
  shown('filters in filters', 3000, (size) => ({
    schema: free,
    spec: { l: [{ a: 1 }] },
    columns: [column(`.spec.l${'[?(@'.repeat(size)}.a${')]'.repeat(size)}`)],
  })),
  shown('a path of brackets', 20_000, (size) => ({
    schema: free,
    spec: { l: [{ a: 1 }] },
    columns: [column(`.spec.l${'['.repeat(size)}${']'.repeat(size)}`)],
  })),
  shown('a large value in many columns', 4000, (size) => ({
    schema: free,
    spec: { l: times(size, (index) => `v${index}`) },
    columns: times(size, (index) => column('.spec', `c${index}`)),
  })),
  shown('a filter over many items', 20_000, (size) => ({
    schema: free,
    spec: { l: times(size, (index) => ({ a: `v${index}`, b: 'w' })) },
    columns: [column('.spec.l[?(@.a=="x")].b')],
  })),
  shown('a filter in a filter', 4000, (size) => ({
    schema: free,
    spec: { l: times(size, (index) => ({ a: `v${index}` })) },
    columns: [column('.spec.l[?(@.a=="x")].a'), column('.spec.l[?($.spec.l[*].a)].a', 'd')],
  })),
]
