import { expect, it } from 'vitest'
import { encodeDocument } from './v2-protobuf.ts'

/** Fields by number; nested messages are decoded only where the test needs them, and text otherwise. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, readonly Uint8Array[]> {
  const fields = new Map<number, Uint8Array[]>()
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const length = (tag & 7) === 2 ? varint() : (tag & 7) === 1 ? 8 : 0
    const start = at
    if ((tag & 7) === 0) varint()
    else at += length
    const number = Math.floor(tag / 8)
    fields.set(number, [...(fields.get(number) ?? []), bytes.subarray(start, at)])
  }
  return fields
}

function dig(bytes: Uint8Array, ...numbers: readonly number[]): Uint8Array {
  return numbers.reduce((inner, number) => fieldsOf(inner).get(number)![0]!, bytes)
}

const document = {
  swagger: '2.0',
  info: { title: 'Kubernetes', version: '1.37' },
  paths: {
    '/a': { get: { operationId: 'readA', 'x-kubernetes-action': 'get', parameters: [{ $ref: '#/parameters/p' }] } },
  },
  definitions: {
    A: {
      type: 'object',
      properties: { b: { $ref: '#/definitions/B', description: 'text' } },
      minimum: 1.5,
      required: ['b'],
    },
  },
}

it('writes members with their field numbers', () => {
  const text = (...path: readonly number[]): string => Buffer.from(dig(encodeDocument(document), ...path)).toString()
  expect(text(1)).toBe('2.0')
  expect(text(2, 2)).toBe('1.37')
  expect(text(8, 2, 1)).toBe('/a')
  expect(text(8, 2, 2, 2, 5)).toBe('readA')
  expect(text(8, 2, 2, 2, 8, 2, 1)).toBe('#/parameters/p')
  expect(text(8, 2, 2, 2, 13, 1)).toBe('x-kubernetes-action')
  expect(text(8, 2, 2, 2, 13, 2, 2)).toBe('"get"\n')
  expect(text(9, 1, 1)).toBe('A')
  expect(text(9, 1, 2, 22, 1)).toBe('object')
  expect(text(9, 1, 2, 19)).toBe('b')
  expect(text(9, 1, 2, 25, 1, 2, 1)).toBe('#/definitions/B')
  expect(Buffer.from(dig(encodeDocument(document), 9, 1, 2, 9)).readDoubleLE(0)).toBe(1.5)
})

it('omits false and empty values', () => {
  const schema = { uniqueItems: false, maxLength: 0, 'x-a': null }
  const bytes = dig(encodeDocument({ definitions: { A: schema } }), 9, 1, 2)
  expect([...fieldsOf(bytes).keys()]).toEqual([31])
})
