/** Server-side apply on a custom resource with every kind of list and map. */
import type { Schema } from '../../../src/kube/schema.ts'
import type { ApplyCase } from './apply.ts'
import { apply, create, force, merge, sequence, spec } from './apply-steps.ts'

const named: Schema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    value: { type: 'integer' },
    note: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
  },
}

/** It has a status subresource. */
export const thingSchema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        number: { type: 'integer' },
        text: { type: 'string' },
        flag: { type: 'boolean' },
        port: { 'x-kubernetes-int-or-string': true },
        defaulted: { type: 'string', default: 'standard' },
        optional: { type: 'string', nullable: true },
        struct: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        maps: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } },
        },
        atomicMap: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' },
        atomicStruct: {
          type: 'object',
          properties: { a: { type: 'integer' }, b: { type: 'integer' } },
          'x-kubernetes-map-type': 'atomic',
        },
        list: { type: 'array', items: { type: 'string' } },
        atomicList: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
        set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        numbers: { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' },
        named: { type: 'array', items: named, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
        ports: {
          type: 'array',
          items: {
            type: 'object',
            required: ['port'],
            properties: {
              port: { type: 'integer' },
              protocol: { type: 'string', default: 'TCP' },
              target: { type: 'string' },
            },
          },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
        },
        nested: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string' },
              children: {
                type: 'array',
                items: named,
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['name'],
              },
            },
          },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string' },
        count: { type: 'integer' },
        conditions: {
          type: 'array',
          items: {
            type: 'object',
            required: ['type'],
            properties: { type: { type: 'string' }, status: { type: 'string' }, message: { type: 'string' } },
          },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
        },
      },
    },
  },
}

const thing = sequence('thing')

export const thingSequences: readonly ApplyCase[] = [
  // Maps.
  thing(
    'scalars',
    apply('a', spec({ number: 1, text: 't', flag: false })),
    apply('b', spec({ number: 2 })),
    apply('b', spec({ flag: false, port: 80 })),
    apply('a', spec({ number: 1, port: 'http' })),
  ),
  thing(
    'struct-of-two',
    apply('a', spec({ struct: { a: 1 } })),
    apply('b', spec({ struct: { b: 2 } })),
    apply('a', spec({})),
    apply('b', spec({ struct: {} })),
  ),
  thing(
    'empty-struct',
    apply('a', spec({ struct: {} })),
    merge('editor', spec({ struct: { a: 1 } })),
    apply('a', spec({})),
  ),
  thing(
    'map-of-maps',
    apply('a', spec({ maps: { x: { a: 1 }, y: { a: 1 } } })),
    apply('b', spec({ maps: { x: { b: 2 } } })),
    apply('a', spec({ maps: { y: { a: 1 } } })),
    apply('b', spec({ maps: {} })),
  ),
  thing(
    'atomic-map',
    apply('a', spec({ atomicMap: { x: '1' } })),
    apply('b', spec({ atomicMap: { y: '2' } })),
    force('b', spec({ atomicMap: { y: '2' } })),
    merge('editor', spec({ atomicMap: { z: '3' } })),
  ),
  thing(
    'atomic-struct',
    apply('a', spec({ atomicStruct: { a: 1, b: 1 } })),
    apply('a', spec({ atomicStruct: { b: 2 } })),
    apply('b', spec({ atomicStruct: { b: 2 } })),
    apply('b', spec({ atomicStruct: { b: 2, a: 1 } })),
  ),
  thing(
    'open-map',
    apply('a', spec({ open: { x: { deep: [1, { k: 'v' }] }, y: 1 } })),
    apply('b', spec({ open: { x: { other: 1 } } })),
    apply('b', spec({ open: { x: { deep: [2] } } })),
    apply('a', spec({ open: { y: 1 } })),
  ),
  thing(
    'null-and-nullable',
    apply('a', spec({ optional: null, text: null })),
    apply('b', spec({ optional: 'x' })),
    apply('a', spec({ optional: 'x' })),
  ),
  thing(
    'default-is-nobodys',
    apply('a', spec({ text: 't' })),
    apply('b', spec({ defaulted: 'standard' })),
    apply('a', spec({ defaulted: 'other' })),
    apply('b', spec({})),
  ),
  thing(
    'apply-with-a-default-of-an-update',
    create('editor', spec({ text: 't' })),
    apply('a', spec({ defaulted: 'mine' })),
  ),
  thing('pruned-field', apply('a', spec({ text: 't', unknown: 1 }))),
  thing(
    'wrong-types',
    apply('a', spec({ number: 'x' })),
    apply('a', spec({ struct: [] })),
    apply('a', spec({ set: {} })),
    apply('a', spec({ named: ['x'] })),
    apply('a', { spec: 1 }),
  ),

  // Lists.
  thing(
    'atomic-list',
    apply('a', spec({ list: ['x'], atomicList: ['x', 'x'] })),
    apply('b', spec({ list: ['x'] })),
    apply('b', spec({ list: ['y'] })),
    apply('a', spec({ list: ['x', 'y'], atomicList: [] })),
  ),
  thing(
    'set-of-two',
    apply('a', spec({ set: ['x', 'y'] })),
    apply('b', spec({ set: ['y', 'z'] })),
    apply('a', spec({ set: ['x'] })),
    apply('a', spec({ set: [] })),
    apply('b', spec({})),
  ),
  thing(
    'set-order',
    apply('a', spec({ set: ['c', 'a', 'b'] })),
    apply('a', spec({ set: ['a', 'b', 'c'] })),
    apply('b', spec({ set: ['d', 'b'] })),
    apply('a', spec({ set: ['b', 'e', 'a'] })),
  ),
  thing('set-with-duplicates', apply('a', spec({ set: ['x', 'x'] })), apply('a', spec({ numbers: [1, 2, 1] }))),
  thing(
    'set-of-numbers',
    apply('a', spec({ numbers: [2, 1] })),
    apply('b', spec({ numbers: [3, 10] })),
    merge('editor', spec({ numbers: [10, 4, 2] })),
    apply('a', spec({ numbers: [2] })),
  ),
  thing(
    'named-of-two',
    apply(
      'a',
      spec({
        named: [
          { name: 'x', value: 1 },
          { name: 'y', value: 1 },
        ],
      }),
    ),
    apply(
      'b',
      spec({
        named: [
          { name: 'x', note: 'n' },
          { name: 'z', value: 3 },
        ],
      }),
    ),
    apply('a', spec({ named: [{ name: 'y', value: 1 }] })),
    apply('b', spec({ named: [] })),
  ),
  thing(
    'named-conflict',
    apply('a', spec({ named: [{ name: 'x', value: 1 }] })),
    apply('b', spec({ named: [{ name: 'x', value: 2 }] })),
    force('b', spec({ named: [{ name: 'x', value: 2 }] })),
    apply('a', spec({ named: [{ name: 'x' }] })),
    apply('b', spec({})),
  ),
  thing(
    'named-order',
    apply('a', spec({ named: [{ name: 'c' }, { name: 'a' }, { name: 'b' }] })),
    apply('b', spec({ named: [{ name: 'd' }, { name: 'a' }] })),
    apply('a', spec({ named: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })),
    apply('a', spec({ named: [{ name: 'e' }, { name: 'c' }] })),
  ),
  thing('named-without-key', apply('a', spec({ named: [{ value: 1 }] }))),
  thing(
    'named-twice',
    apply(
      'a',
      spec({
        named: [
          { name: 'x', value: 1 },
          { name: 'x', value: 2 },
        ],
      }),
    ),
  ),
  thing(
    'named-with-sets-inside',
    apply('a', spec({ named: [{ name: 'x', tags: ['p', 'q'] }] })),
    apply('b', spec({ named: [{ name: 'x', tags: ['q', 'r'] }] })),
    apply('a', spec({ named: [{ name: 'x' }] })),
  ),
  thing(
    'named-edited',
    apply(
      'a',
      spec({
        named: [
          { name: 'x', value: 1 },
          { name: 'y', value: 1 },
        ],
      }),
    ),
    merge(
      'editor',
      spec({
        named: [
          { name: 'y', value: 2 },
          { name: 'z', value: 3 },
        ],
      }),
    ),
    apply(
      'a',
      spec({
        named: [
          { name: 'x', value: 1 },
          { name: 'y', value: 1 },
        ],
      }),
    ),
    force('a', spec({ named: [{ name: 'y', value: 1 }] })),
  ),
  thing(
    'keys-with-defaults',
    apply('a', spec({ ports: [{ port: 80, target: 'x' }] })),
    apply('b', spec({ ports: [{ port: 80, protocol: 'UDP' }] })),
    apply('b', spec({ ports: [{ port: 80, protocol: 'TCP', target: 'x' }] })),
    apply('a', spec({ ports: [] })),
  ),
  thing('keys-with-defaults-twice', apply('a', spec({ ports: [{ port: 80 }, { port: 80, protocol: 'TCP' }] }))),
  thing(
    'nested-lists',
    apply('a', spec({ nested: [{ name: 'x', children: [{ name: 'p', value: 1 }] }] })),
    apply('b', spec({ nested: [{ name: 'x', children: [{ name: 'q', value: 2 }] }] })),
    apply('a', spec({ nested: [{ name: 'x' }] })),
    apply('a', spec({ nested: [] })),
    apply('b', spec({ nested: [{ name: 'x', children: [] }] })),
  ),
  thing(
    'list-becomes-empty',
    apply('a', spec({ named: [{ name: 'x' }], set: ['p'] })),
    apply('a', spec({ named: [], set: [] })),
    apply('a', spec({})),
  ),
  thing(
    'several-conflicts',
    apply(
      'a',
      spec({
        number: 1,
        text: 'a',
        set: ['x'],
        named: [{ name: 'n', value: 1 }],
        ports: [{ port: 1, protocol: 'TCP', target: 'a' }],
      }),
    ),
    apply(
      'b',
      spec({
        number: 2,
        text: 'b',
        set: ['x'],
        named: [{ name: 'n', value: 2 }],
        ports: [{ port: 1, protocol: 'TCP', target: 'b' }],
      }),
    ),
  ),

  // Status.
  thing(
    'status-has-managers-of-its-own',
    apply('a', spec({ number: 1 })),
    merge('controller', { status: { phase: 'Up', count: 1 } }, 'status'),
    apply('controller', { status: { phase: 'Up', conditions: [{ type: 'Ready', status: 'True' }] } }, 'status'),
    apply('a', spec({ number: 2 })),
    apply('other', { status: { phase: 'Down' } }, 'status'),
  ),
  thing(
    'status-in-the-main-object-is-ignored',
    apply('a', { spec: { number: 1 }, status: { phase: 'Up' } }),
    merge('editor', { spec: { number: 2 }, status: { phase: 'Down' } }),
  ),
  thing(
    'spec-in-the-status-is-ignored',
    apply('a', spec({ number: 1 })),
    apply('controller', { spec: { number: 2 }, status: { count: 1 } }, 'status'),
    merge('editor', { spec: { number: 3 }, status: { count: 2 } }, 'status'),
  ),
  thing(
    'labels-through-the-status',
    apply('a', { metadata: { labels: { l: '1' } } }),
    apply('controller', { metadata: { labels: { m: '2' } }, status: { count: 1 } }, 'status'),
  ),
]
