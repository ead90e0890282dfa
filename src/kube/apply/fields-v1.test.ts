import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import { equalFieldSets, type FieldSet, fieldSet, pathsOf } from './field-set.ts'
import { decodeFields, encodeFields } from './fields-v1.ts'
import { formatPath, keyElement, type PathElement } from './path-element.ts'

const elements = (): fc.Arbitrary<string | PathElement> =>
  fc.oneof(
    fc.constantFrom('a', 'b', '__proto__', 'constructor', '1', ''),
    fc.tuple(fc.string(), fc.integer()).map(([name, value]) => keyElement([{ name, value }])),
    fc.oneof(fc.string(), fc.bigInt(), fc.double({ min: -1e9, max: 1e9, noNaN: true })).map((value): PathElement => ({
      kind: 'value',
      // A long integer and the double that is written like it are one and the same.
      value: typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value,
    })),
  )
const fieldSets = (): fc.Arbitrary<FieldSet> =>
  fc.array(fc.array(elements(), { minLength: 1, maxLength: 3 }), { maxLength: 6 }).map((paths) => fieldSet(...paths))

describe('fieldsV1', () => {
  it('round-trips, also as text', () => {
    fc.assert(
      fc.property(fieldSets(), (set) => {
        const fields = encodeFields(set)
        expect(equalFieldSets(decodeFields(fields), set)).toBe(true)
        expect(equalFieldSets(decodeFields(JSON.parse(JSON.stringify(fields))), set)).toBe(true)
        expect(JSON.stringify(encodeFields(decodeFields(fields)))).toBe(JSON.stringify(fields))
      }),
    )
  })

  it('reads and writes the output of the server, byte for byte', () => {
    const text =
      '{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:ports":{".":{},"k:{\\"port\\":9,\\"protocol\\":\\"TCP\\"}":{".":{},"f:name":{},"f:port":{}},"k:{\\"port\\":8080,\\"protocol\\":\\"TCP\\"}":{".":{},"f:port":{}}},"f:type":{}}}'
    const set = decodeFields(JSON.parse(text))
    expect(Array.from(pathsOf(set), formatPath)).toEqual([
      '.metadata.labels',
      '.metadata.labels.app',
      '.spec.ports',
      '.spec.type',
      '.spec.ports[port=9,protocol="TCP"]',
      '.spec.ports[port=8080,protocol="TCP"]',
      '.spec.ports[port=9,protocol="TCP"].name',
      '.spec.ports[port=9,protocol="TCP"].port',
      '.spec.ports[port=8080,protocol="TCP"].port',
    ])
    expect(JSON.stringify(encodeFields(set))).toBe(text)
  })

  it('marks a field that is owned and has owned children', () => {
    expect(encodeFields(fieldSet(['a'], ['a', 'b']))).toEqual({ 'f:a': { '.': {}, 'f:b': {} } })
    expect(encodeFields(fieldSet(['a', 'b']))).toEqual({ 'f:a': { 'f:b': {} } })
  })

  it('sorts unsorted input, and keys whatever the order of their fields', () => {
    const set = decodeFields({
      'f:b': {},
      'k:{"y":1,"x":2}': { 'f:p': {} },
      'k:{"x":2,"y":1}': { 'f:q': {} },
      'f:a': {},
    })
    expect(encodeFields(set)).toEqual({ 'f:a': {}, 'f:b': {}, 'k:{"x":2,"y":1}': { 'f:p': {}, 'f:q': {} } })
  })

  it('reads null as an empty set, and skips unknown elements', () => {
    expect(decodeFields(undefined)).toEqual([])
    expect(decodeFields(null)).toEqual([])
    expect(encodeFields(decodeFields({ 'f:a': { 'x:new': {}, '.': {} }, 'y:newer': {} }))).toEqual({ 'f:a': {} })
  })

  it.each<[Json, string, string]>([
    [{ 'f:spec': { 'f:list': { 'k:{': {} } } }, '.spec.list', 'k:{'],
    [{ 'f:spec': { 'f:a': 'yes' } }, '.spec.a', 'JSON object'],
    [{ spec: {} }, 'its root', 'spec'],
    [[], 'its root', 'JSON object'],
  ])('reports the location of an error: %j', (fields, place, reason) => {
    const complaint = expect.objectContaining({ name: 'InvalidFieldSet', message: expect.stringContaining(place) })
    expect(() => decodeFields(fields)).toThrow(complaint)
    expect(() => decodeFields(fields)).toThrow(reason)
  })
})
