import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import { deduced, shapeOf } from './shape.ts'
import { asList, asMap, isEmptyMap, kindIn, valueNames, setMember, valueKind } from './value.ts'

describe('the type of a value', () => {
  const list = shapeOf({ type: 'object', properties: { it: { type: 'array', items: {} } } }).map?.field('it') ?? deduced

  it('is its own where the shape allows it', () => {
    expect([1, 1n, 'x', true, [], {}].map((value: Json) => valueKind(deduced, value))).toEqual([
      'scalar',
      'scalar',
      'scalar',
      'scalar',
      'list',
      'map',
    ])
  })

  it('is undetermined for empty values, and then that of a map', () => {
    expect([null, undefined].map((value) => valueKind(deduced, value))).toEqual(['open', 'open'])
    expect(kindIn(deduced, null)).toBe('map')
  })

  it('is that of the shape if that allows only one', () => {
    expect([null, undefined, 'x', {}].map((value) => valueKind(list, value))).toEqual(['list', 'list', 'list', 'list'])
  })
})

describe('maps', () => {
  it('have own members only', () => {
    expect(valueNames({ a: 1, b: undefined, c: null })).toEqual(['a', 'c'])
    expect(isEmptyMap({ b: undefined })).toBe(true)
    expect(isEmptyMap(undefined)).toBe(true)
    expect(isEmptyMap({ c: null })).toBe(false)
  })

  it('and lists are distinguished, and null from both', () => {
    expect([asMap({}), asMap([]), asMap(null), asMap('x')]).toEqual([{}, undefined, undefined, undefined])
    expect([asList([]), asList({}), asList(null)]).toEqual([[], undefined, undefined])
  })

  it('can have a member of any name', () => {
    const map: Record<string, Json> = {}
    for (const name of ['__proto__', 'constructor', 'a']) setMember(map, name, 1)
    expect(JSON.stringify(map)).toBe('{"__proto__":1,"constructor":1,"a":1}')
    expect(Object.getPrototypeOf(map)).toBe(Object.prototype)
  })
})
