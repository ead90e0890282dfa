import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kubeErrors } from './errors.ts'
import { isMusterError } from './muster-error.ts'
import type { Json } from './json.ts'
import { compileJsonPath, mostVisits, selectJson, selectJsonPairs } from './json-path.ts'

const find = (path: string, value: Json): readonly Json[] => selectJson(compileJsonPath(path), value)

const routes = {
  spec: {
    routes: [
      { name: 'web', namespace: 'a', cert: { name: 'web-cert' }, weight: 1 },
      { name: 'api', namespace: 'b', cert: { name: 'api-cert' }, weight: 2 },
      { name: 'web', namespace: 'c', weight: 3 },
    ],
    'odd.key': { x: 'odd' },
  },
}

describe('a JSONPath', () => {
  it.each<[string, readonly Json[]]>([
    ['$', [routes]],
    ['$.spec.routes[*].cert.name', ['web-cert', 'api-cert']],
    ['$.spec.routes[0].name', ['web']],
    ['$.spec.routes[-1].namespace', ['c']],
    ['$.spec.routes[9].namespace', []],
    ['$.spec.routes[1:].name', ['api', 'web']],
    ['$.spec.routes[:2].name', ['web', 'api']],
    ['$.spec.routes[::-1].namespace', ['c', 'b', 'a']],
    ['$.spec.routes[0,2].namespace', ['a', 'c']],
    ["$.spec['odd.key'].x", ['odd']],
    ['$["spec"]["odd.key"]["x"]', ['odd']],
    ['$.spec.*.x', ['odd']],
    ['$..cert.name', ['web-cert', 'api-cert']],
    ['$.nope.name', []],
    ['$.spec.routes.name', []],
    ['$.spec.routes[?(@.name == "web" && @.namespace == "a")].cert.name', ['web-cert']],
    ['$.spec.routes[?(@.name == "web" && @.namespace != "a")].namespace', ['c']],
    ['$.spec.routes[?(@.name == "api" || @.namespace == "c")].namespace', ['b', 'c']],
    ['$.spec.routes[?(!(@.name == "api"))].namespace', ['a', 'c']],
    ['$.spec.routes[?(!@.cert)].namespace', ['c']],
    ['$.spec.routes[?(@.cert)].namespace', ['a', 'b']],
    ['$.spec.routes[?@.cert.name == "api-cert"].namespace', ['b']],
    ['$.spec.routes[?(@.weight >= 2)].namespace', ['b', 'c']],
    ['$.spec.routes[?(@.weight < 2.5e0)].namespace', ['a', 'b']],
    ['$.spec.routes[?(@.name > "b")].namespace', ['a', 'c']],
    // Texts and numbers have no order among each other, and what is absent equals nothing.
    ['$.spec.routes[?(@.weight > "0")].namespace', []],
    ['$.spec.routes[?(@.absent == null)].namespace', []],
    ['$.spec.routes[?(@.absent != "x")].namespace', ['a', 'b', 'c']],
    ["$.spec.routes[?(@.name == $['spec'].routes[1].name)].namespace", ['b']],
  ])('%s selects the named values', (path, expected) => {
    expect(find(path, routes)).toEqual(expected)
  })

  it('correlates members of the same item, not of the same position', () => {
    const value = {
      metadata: { namespace: 'here' },
      refs: [{ name: 'a' }, { name: 'b', namespace: 'two' }, { namespace: 'three' }, { name: 'd', namespace: 'four' }],
    }
    const pairs = (a: string, b: string): unknown => selectJsonPairs(compileJsonPath(a), compileJsonPath(b), value)
    expect(pairs('$.refs[*].namespace', "$['refs'][*].name")).toEqual([
      ['two', 'b'],
      ['four', 'd'],
    ])
    expect(pairs('$.metadata.namespace', '$.refs[0:2].name')).toEqual([
      ['here', 'a'],
      ['here', 'b'],
    ])
    expect(pairs('$.refs[?(@.name == "b")].namespace', '$.refs[?(@.name == "b")].name')).toEqual([['two', 'b']])
  })

  it.each([
    ['', 1, '"$"'],
    ['spec', 1, '"$"'],
    ['$spec', 2, 'a step'],
    ['$.', 3, 'name of a member'],
    ['$.a b', 4, 'a step'],
    ['$[', 3, 'a name in quotes'],
    ['$["a]', 3, 'the other "'],
    ['$.a[?(@.b == )]', 14, 'a value'],
    ['$.a[?(@.b', 10, '")"'],
    ['$.a[?(@.* == 1)]', 15, 'one value'],
    ['$.a[?(1)]', 8, 'a comparison'],
    ['$.a[?(@.b =~ "x")]', 11, '")"'],
    ["$['\\u12']", 6, 'hexadecimal'],
  ])('%s is rejected with the position of the error', (path, at, expected) => {
    expect(() => compileJsonPath(path)).toThrow(`character ${at}`)
    expect(() => compileJsonPath(path)).toThrow(expected)
  })

  it('selects each leaf of any value by its path', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const visit = (at: Json, path: string): void => {
          expect(find(path, value as Json)).toEqual([at])
          if (Array.isArray(at)) for (const [index, item] of at.entries()) visit(item as Json, `${path}[${index}]`)
          else if (typeof at === 'object' && at !== null) {
            for (const [key, item] of Object.entries(at)) visit(item as Json, `${path}[${JSON.stringify(key)}]`)
          }
        }
        visit(value, '$')
      }),
    )
  })

  it('sees own members only', () => {
    expect(find('$.constructor', {})).toEqual([])
    expect(find('$.__proto__', {})).toEqual([])
    expect(find('$.a.length', { a: [1, 2] })).toEqual([])
    expect(find('$["__proto__"].x', JSON.parse('{"__proto__":{"x":1}}') as Json)).toEqual([1])
    expect(find('$.a[?(@.constructor)]', { a: [{}] })).toEqual([])
  })

  it('throws only InvalidJsonPath, for any input', () => {
    const pieces = [
      '$',
      '.',
      '..',
      '*',
      '[',
      ']',
      '?',
      '(',
      ')',
      '@',
      '&&',
      '||',
      '!',
      '==',
      '"',
      "'",
      'a',
      '0',
      ':',
      ',',
      '\\',
      ' ',
    ]
    const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 25 }).map((parts) => `$${parts.join('')}`)
    fc.assert(
      fc.property(fc.oneof(texts, fc.string()), fc.jsonValue({ maxDepth: 3 }), (text, value) => {
        const attempt = (): unknown => {
          try {
            return find(text, value)
          } catch (error) {
            return isMusterError(error, kubeErrors.InvalidJsonPath) ? [] : error
          }
        }
        expect(attempt()).toBeInstanceOf(Array)
      }),
      { numRuns: 2000 },
    )
  })

  it('is bounded in length, nesting and work', () => {
    expect(() => compileJsonPath(`$${'.a'.repeat(2000)}`)).toThrow('at most 2000')
    expect(() => compileJsonPath(`$[?${'('.repeat(500)}`)).toThrow('in one another')
    expect(() => compileJsonPath(`$[?${'!'.repeat(500)}`)).toThrow('in one another')
    expect(() => compileJsonPath(`$${'[?(@'.repeat(400)}`)).toThrow('in one another')
    const wide: Json = Array.from({ length: mostVisits + 1 }, () => 0)
    expect(() => find('$[*]', wide)).toThrow('more than')
    let deep: Json = 0
    for (let level = 0; level < 20_000; level++) deep = { a: deep }
    expect(find('$..a', deep)).toHaveLength(20_000)
    expect(() => find('$..*..*..*', deep)).toThrow('more than')
    const same: Json = Array.from({ length: 300 }, () => ({ a: 1 }))
    expect(() => find('$[?($[?($[?(@.a == 1)])])]', same)).toThrow('more than')
  })
})
