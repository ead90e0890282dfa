import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import { checkConforms } from './conformance.ts'
import { deduced, shapeOf } from './shape.ts'

const text = { type: 'string' } as const
const shape = shapeOf({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        name: text,
        count: { type: 'integer' },
        on: { type: 'boolean' },
        port: { 'x-kubernetes-int-or-string': true },
        labels: { type: 'object', additionalProperties: text },
        args: { type: 'array', items: text },
        tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
          },
        },
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: text, v: text } },
        },
      },
    },
  },
})

const complaint = (spec: Json): string => {
  try {
    checkConforms({ spec }, shape)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('a value that conforms to its shape', () => {
  it.each<Json>([
    { name: 'x', count: 1, on: false, port: 'http', labels: { a: 'b' }, args: ['x', 'x'], tags: ['a', 'b'] },
    {
      port: 80,
      count: -1.5,
      ports: [{ port: 1 }, { port: 1, protocol: 'UDP' }],
      items: [{ name: 'a' }, { name: 'b' }],
    },
    { name: null, labels: null, args: null, ports: null },
    {},
  ])('%j', (spec) => {
    expect(complaint(spec)).toBe('')
  })

  it.each<[Json, string]>([
    [{ name: 1 }, '.spec.name: expected string, got number'],
    [{ on: 'yes' }, '.spec.on: expected boolean, got string'],
    [{ count: '1' }, '.spec.count: expected numeric (int or float), got string'],
    [{ labels: ['a'] }, '.spec.labels: expected map, got list'],
    [{ labels: { a: true } }, '.spec.labels.a: expected string, got boolean'],
    [{ args: {} }, '.spec.args: expected list, got map'],
    [{ args: ['a', 1] }, '.spec.args[1]: expected string, got number'],
    [{ bogus: 1 }, '.spec.bogus: field not declared in schema'],
    [{ constructor: 1 }, '.spec.constructor: field not declared in schema'],
    [{ items: [{ name: 'a', v: 1 }] }, '.spec.items[name="a"].v: expected string, got number'],
    [{ tags: ['a', 'a'] }, '.spec.tags: duplicate entries for key [="a"]'],
    [{ tags: [{}] }, ".spec.tags: element 0: associative list without keys has an element that's a map type"],
    [{ tags: [null] }, ".spec.tags: element 0: associative list without keys has an element that's an explicit null"],
    [
      { ports: [{ port: 1 }, { port: 1, protocol: 'TCP' }] },
      '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
    ],
    [
      { items: [{ v: 'x' }] },
      '.spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
    ],
    [{ items: ['x'] }, '.spec.items: element 0: associative list with keys may not have non-map elements'],
    [{ items: [null] }, '.spec.items: element 0: associative list with keys may not have a null element'],
  ])('but not %j', (spec, message) => {
    expect(complaint(spec)).toBe(message)
  })

  it('large integers are numbers', () => {
    expect(complaint({ count: 2n ** 60n, port: 2n ** 60n })).toBe('')
  })

  it('all errors are reported at once', () => {
    expect(complaint({ name: 1, tags: ['a', 'a'], bogus: {} })).toBe(
      'errors:\n  .spec.name: expected string, got number\n  .spec.tags: duplicate entries for key [="a"]\n  .spec.bogus: field not declared in schema',
    )
  })

  it('invalid values are never shown: they may be secrets', () => {
    expect(complaint({ count: 'hunter2', on: ['hunter2'] })).not.toContain('hunter2')
  })

  it('duplicates pass where they are allowed', () => {
    const value = { spec: { tags: ['a', 'a'], items: [{ name: 'a' }, { name: 'a' }] } }
    expect(() => checkConforms(value, shape, { allowDuplicates: true })).not.toThrow()
  })

  it('without a schema every value conforms', () => {
    expect(() => checkConforms({ a: [{ a: 1 }, 'x', null], b: { c: 1 } }, deduced)).not.toThrow()
  })
})
