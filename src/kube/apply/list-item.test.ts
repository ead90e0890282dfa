import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import { identifyItem, itemElement } from './list-item.ts'
import { encodeElement } from './path-element.ts'
import type { ListShape } from './shape.ts'

const list = (...keys: readonly string[]): ListShape => ({
  atomic: false,
  keys,
  item: () => ({ scalar: 'any' }),
  keyDefault: (name) => (name === 'protocol' ? 'TCP' : undefined),
})
const identify = (item: Json, ...keys: readonly string[]): string => encodeElement(itemElement(list(...keys), item))

describe('an item', () => {
  it('of a set is its own key', () => {
    expect(identify('x')).toBe('v:"x"')
    expect(identify(8)).toBe('v:8')
  })

  it('of a map list is identified by its key fields, in any order', () => {
    expect(identify({ b: 1, a: 2, c: 3 }, 'b', 'a')).toBe('k:{"a":2,"b":1}')
  })

  it('that omits a key field has its default', () => {
    expect(identify({ port: 1 }, 'port', 'protocol')).toBe(identify({ port: 1, protocol: 'TCP' }, 'port', 'protocol'))
  })

  it('that omits a key field without a default is a different item', () => {
    expect(identify({ a: 1 }, 'a', 'b')).toBe('k:{"a":1}')
    expect(identify({ a: 1, b: null }, 'a', 'b')).toBe('k:{"a":1,"b":null}')
  })

  it('without any key has no identity', () => {
    expect(identifyItem(list('a'), { b: 1 })).toBe(
      'associative list with keys has an element that omits all key fields ["a"] (and doesn\'t have default values for any key fields)',
    )
    expect(() => identify(JSON.parse('{"x":1}') as Json, 'constructor')).toThrow(
      'associative list with keys has an element that omits all key fields ["constructor"] (and doesn\'t have default values for any key fields)',
    )
  })
})
