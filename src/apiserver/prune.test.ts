import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../kube/builtin.ts'
import type { Schema } from '../kube/schema.ts'
import { prune, withDefaults } from './prune.ts'

const custom: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        list: { type: 'array', items: { type: 'object', properties: { a: { type: 'integer', default: 1 } } } },
        map: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { a: { type: 'integer', default: 2 } } },
        },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        embedded: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
  },
}

describe('pruning', () => {
  it('keeps what the schema of a built-in kind knows, and names the rest', () => {
    const schema = builtinSchema({ group: 'apps', version: 'v1', kind: 'Deployment' })
    const spec = { replicas: 1, replicsa: 2, template: { spec: { containers: [{ name: 'a', imag: 'x' }] } } }
    const { object, unknown } = prune(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'a', labels: { l: '1' }, creationTimestamp: null },
        spec,
      },
      { schema, definitions: builtinDefinitions(), custom: false },
    )
    expect(unknown).toEqual(['spec.replicsa', 'spec.template.spec.containers[0].imag'])
    expect(object).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a', labels: { l: '1' } },
      spec: { replicas: 1, template: { spec: { containers: [{ name: 'a' }] } } },
    })
  })

  it('follows a structural schema, through lists, maps, open places and embedded objects', () => {
    const { object, unknown } = prune(
      {
        apiVersion: 'example.com/v1',
        kind: 'Thing',
        metadata: { name: 'a', nonsense: 1 },
        spec: {
          name: 'x',
          list: [{ a: 1, b: 2 }],
          map: { k: { b: 2 } },
          open: { any: { thing: 1 } },
          embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', nonsense: 1 }, spec: { x: 1 } },
          more: 1,
        },
        other: 1,
      },
      { schema: custom, definitions: {}, custom: true },
    )
    expect(unknown.toSorted()).toEqual([
      'metadata.nonsense',
      'other',
      'spec.embedded.metadata.nonsense',
      'spec.list[0].b',
      'spec.map.k.b',
      'spec.more',
    ])
    expect(object['spec']).toEqual({
      name: 'x',
      list: [{ a: 1 }],
      map: { k: {} },
      open: { any: { thing: 1 } },
      embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { x: 1 } },
    })
  })

  it('defaults what is missing, and only that', () => {
    expect(withDefaults({ spec: { list: [{}, { a: 5 }], map: { k: {} } } }, custom)).toEqual({
      spec: { list: [{ a: 1 }, { a: 5 }], map: { k: { a: 2 } } },
    })
  })
})
