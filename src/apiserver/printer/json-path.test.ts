import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../kube/json.ts'
import { parseJsonPath } from './json-path.ts'

const object: Json = {
  spec: {
    name: 'n',
    list: [{ name: 'a', size: 4 }, { name: 'b', size: 9 }, { name: 'c' }],
    'a.b/c': 'dotted',
    deep: { size: 1 },
  },
}

describe('a JSONPath', () => {
  it.each<[string, readonly Json[]]>([
    ['.spec.name', ['n']],
    ['$.spec.name', ['n']],
    ['.spec.list[0].name', ['a']],
    ['.spec.list[-1].name', ['c']],
    ['.spec.list[1:].name', ['b', 'c']],
    ['.spec.list[0:3:2].name', ['a', 'c']],
    ['.spec.list[0,2].name', ['a', 'c']],
    ['.spec.list[*].name', ['a', 'b', 'c']],
    ['.spec.list[?(@.name=="b")].size', [9]],
    ['.spec.list[?(@.name!="b")].name', ['a', 'c']],
    ['.spec.list[?(@.size>=4)].name', ['a', 'b']],
    ['.spec.list[?(@.size<5)].name', ['a']],
    ['.spec.list[?(@.size)].name', ['a', 'b']],
    ['.spec.list[?("b"==@.name)].name', ['b']],
    ['.spec.a\\.b/c', ['dotted']],
    [".spec['a\\.b/c']", ['dotted']],
    [".spec['name','deep'].size", [1]],
    ['.spec.deep.*', [1]],
    ['.spec..size', [4, 9, 1]],
    ['.spec.none.name', []],
    ['.spec.list[7]', []],
    ['.spec.name.length', []],
    ['.constructor', []],
    ['.__proto__', []],
    ['', [object]],
  ])('%s selects the named values', (text, found) => {
    expect(parseJsonPath(text)?.find(object)).toEqual(found)
  })

  it.each(['.spec[', '.spec[?(@.a==)]', '.spec[x]', '.spec]', '.spec[?(a)]'])('%s is invalid', (text) => {
    expect(parseJsonPath(text)).toBeUndefined()
  })

  it('selects the items of slices', () => {
    const items = [0, 1, 2, 3, 4]
    const bound = fc.option(fc.integer({ min: -8, max: 8 }), { nil: undefined })
    fc.assert(
      fc.property(bound, bound, fc.integer({ min: 1, max: 4 }), (start, end, stride) => {
        const found = parseJsonPath(`[${start ?? ''}:${end ?? ''}:${stride}]`)?.find(items)
        expect(found).toStrictEqual(items.slice(start ?? 0, end).filter((_, index) => index % stride === 0))
      }),
    )
  })

  it('selects nothing beyond a limit of visits, which all paths of a row share', () => {
    const large = { l: Array.from({ length: 1000 }, () => ({ a: 'v' })) }
    const eachForEach = parseJsonPath('.l[?($.l[*].b)].a')
    expect(eachForEach?.find(large)).toStrictEqual([])
    const budget = { left: 2500 }
    const all = parseJsonPath('.l[*]')
    expect(all?.find(large, budget)).toHaveLength(1000)
    expect(all?.find(large, budget)).toHaveLength(1000)
    expect(all?.find(large, budget)).toStrictEqual([])
  })

  it('has a maximum length and depth', () => {
    expect(parseJsonPath('.a'.repeat(6000))).toBeUndefined()
    expect(parseJsonPath(`.a${'[?(@'.repeat(100)}.b${')]'.repeat(100)}`)).toBeUndefined()
    expect(parseJsonPath(`.a${'[?(@'.repeat(20)}.b${')]'.repeat(20)}`)).toBeDefined()
  })

  it('is parsed or rejected, for any text, and never throws', () => {
    const letters = fc.constantFrom(
      '.',
      '[',
      ']',
      '*',
      '?',
      '(',
      ')',
      '@',
      "'",
      '"',
      ',',
      ':',
      '-',
      '1',
      'spec',
      'list',
      '==',
      '\\',
    )
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 12 }), (parts) => {
        expect(Array.isArray(parseJsonPath(parts.join(''))?.find(object) ?? [])).toBe(true)
      }),
      { seed: 7, numRuns: 2000 },
    )
  })
})
