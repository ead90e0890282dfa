import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compareElements,
  decodeElement,
  encodeElement,
  fieldElement,
  formatPath,
  keyElement,
  type PathElement,
} from './path-element.ts'

const scalars = (): fc.Arbitrary<string | number | boolean> => fc.oneof(fc.string(), fc.integer(), fc.boolean())

const elements = (): fc.Arbitrary<PathElement> =>
  fc.oneof(
    fc.string().map(fieldElement),
    fc
      .uniqueArray(fc.tuple(fc.string(), scalars()), { selector: ([name]) => name, maxLength: 3 })
      .map((fields) => keyElement(fields.map(([name, value]) => ({ name, value })))),
    scalars().map((value): PathElement => ({ kind: 'value', value })),
    fc.nat().map((index): PathElement => ({ kind: 'index', index })),
  )

describe('an element', () => {
  it('round-trips', () => {
    fc.assert(
      fc.property(elements(), (element) => {
        expect(decodeElement(encodeElement(element))).toEqual(element)
      }),
    )
  })

  it('equals another one exactly when their text is equal', () => {
    fc.assert(
      fc.property(elements(), elements(), (a, b) => {
        expect(compareElements(a, b) === 0).toBe(encodeElement(a) === encodeElement(b))
      }),
    )
  })

  it('is formatted as on the server', () => {
    const key = keyElement([
      { name: 'protocol', value: 'TCP' },
      { name: 'containerPort', value: 80 },
    ])
    expect(encodeElement(key)).toBe('k:{"containerPort":80,"protocol":"TCP"}')
    expect(encodeElement(keyElement([{ name: 'name', value: '<a>' }]))).toBe('k:{"name":"\\u003ca\\u003e"}')
    expect(encodeElement({ kind: 'value', value: 1e-7 })).toBe('v:1e-07')
    expect(encodeElement({ kind: 'value', value: 9007199254740993n })).toBe('v:9007199254740993')
  })

  it('keeps integers that are too large for a double', () => {
    expect(decodeElement('v:9007199254740993')).toEqual({ kind: 'value', value: 9007199254740993n })
    expect(decodeElement('k:{"id":-9223372036854775808}')).toEqual(
      keyElement([{ name: 'id', value: -9223372036854775808n }]),
    )
  })

  it('of an unknown type is skipped', () => {
    expect(decodeElement('x:something')).toBeUndefined()
  })

  it.each(['', 'f', 'name', 'v:', 'v:{', 'k:[]', 'k:"a"', 'k:{"a":1} ,', 'i:one', 'i:'])(
    'that is invalid is rejected: %j',
    (text) => {
      expect(() => decodeElement(text)).toThrow(expect.objectContaining({ name: 'InvalidFieldSet' }))
    },
  )

  it('is ordered by type, then by value: 9 before 8080', () => {
    const texts = ['i:2', 'v:"b"', 'k:{"port":8080}', 'k:{"port":9}', 'f:b', 'f:a', 'v:1', 'i:10', 'k:{"port":9,"z":1}']
    const sorted = texts.map((text) => decodeElement(text) as PathElement).toSorted(compareElements)
    expect(sorted.map(encodeElement)).toEqual([
      'f:a',
      'f:b',
      'k:{"port":9}',
      'k:{"port":9,"z":1}',
      'k:{"port":8080}',
      'v:1',
      'v:"b"',
      'i:2',
      'i:10',
    ])
  })
})

describe('a formatted path', () => {
  it('looks as in messages of the server', () => {
    const path = ['f:spec', 'f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:tags', 'v:"x"', 'i:3']
    expect(formatPath(path.map((text) => decodeElement(text) as PathElement))).toBe(
      '.spec.ports[port=80,protocol="TCP"].tags[="x"][3]',
    )
  })

  it('quotes text and formats numbers as Go does', () => {
    const shown = (value: string | number | boolean | null): string => formatPath([{ kind: 'value', value }])
    expect(shown('a"b\\c\n\u0007\u0001é\u00a0\u200b\u{e0001}')).toBe(
      String.raw`[="a\"b\\c\n\a\x01é\u00a0\u200b\U000e0001"]`,
    )
    expect([1e21, 0.00001, 1.5, true, null].map(shown)).toEqual([
      '[=1e+21]',
      '[=1e-05]',
      '[=1.5]',
      '[=true]',
      '[=null]',
    ])
  })
})
