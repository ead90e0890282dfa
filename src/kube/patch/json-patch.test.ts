import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonPatchOperation, applyJsonPatch, createJsonPatch, parseJsonPatch } from './json-patch.ts'
import { type Json, equalJson, stringifyJson } from '../json.ts'

const keys = fc.constantFrom('a', 'b', 'c', 'x/y', 'm~n', '0', '1', '__proto__', 'constructor')
const values: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(null, true, 0, 1, 9007199254740993n, 'p', 'q'),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
  ),
})).value
const documents = fc.oneof(fc.dictionary(keys, values, { maxKeys: 5 }), fc.array(values, { maxLength: 6 }))

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

const invalid: unknown = expect.objectContaining({ name: 'InvalidPatch' })
const testFailed: unknown = expect.objectContaining({ name: 'PatchTestFailed' })

describe('a JSON patch', () => {
  const pod: Json = frozen({ metadata: { name: 'a', labels: { app: 'web' } }, args: ['x', 'y', 'z'], node: null })

  it.each<[string, JsonPatchOperation, Json]>([
    ['adds a member', { op: 'add', path: '/ok', value: true }, { ...pod, ok: true }],
    ['replaces a member by add', { op: 'add', path: '/args', value: 1 }, { ...pod, args: 1 }],
    ['inserts into an array', { op: 'add', path: '/args/1', value: 'n' }, { ...pod, args: ['x', 'n', 'y', 'z'] }],
    [
      'appends with the index after the last',
      { op: 'add', path: '/args/3', value: 'n' },
      { ...pod, args: ['x', 'y', 'z', 'n'] },
    ],
    ['appends with a dash', { op: 'add', path: '/args/-', value: 'n' }, { ...pod, args: ['x', 'y', 'z', 'n'] }],
    ['appends with -1', { op: 'add', path: '/args/-1', value: 'n' }, { ...pod, args: ['x', 'y', 'z', 'n'] }],
    ['counts from the end', { op: 'add', path: '/args/-4', value: 'n' }, { ...pod, args: ['n', 'x', 'y', 'z'] }],
    ['removes from an array', { op: 'remove', path: '/args/-1' }, { ...pod, args: ['x', 'y'] }],
    ['replaces in an array', { op: 'replace', path: '/args/0', value: 1 }, { ...pod, args: [1, 'y', 'z'] }],
    ['replaces a missing member', { op: 'replace', path: '/ok', value: 1 }, { ...pod, ok: 1 }],
    ['replaces the document', { op: 'replace', path: '', value: [1] }, [1]],
    ['copies', { op: 'copy', from: '/args/0', path: '/args/-' }, { ...pod, args: ['x', 'y', 'z', 'x'] }],
    ['copies null for a missing member', { op: 'copy', from: '/gone', path: '/ok' }, { ...pod, ok: null }],
    ['moves within an array', { op: 'move', from: '/args/0', path: '/args/1' }, { ...pod, args: ['y', 'x', 'z'] }],
    ['moves a value onto itself', { op: 'move', from: '/args', path: '/args' }, pod],
    ['tests a value', { op: 'test', path: '/metadata/labels', value: { app: 'web' } }, pod],
    ['tests the document', { op: 'test', path: '', value: pod }, pod],
    ['tests null', { op: 'test', path: '/node', value: null }, pod],
    ['treats a missing member as null in a test', { op: 'test', path: '/gone', value: null }, pod],
  ])('%s', (_law, operation, result) => {
    expect(applyJsonPatch(pod, [operation])).toEqual(result)
  })

  it.each<[string, JsonPatchOperation]>([
    ['removes a missing member', { op: 'remove', path: '/gone' }],
    ['removes beyond the end', { op: 'remove', path: '/args/3' }],
    ['removes the dash', { op: 'remove', path: '/args/-' }],
    ['removes the document', { op: 'remove', path: '' }],
    ['adds below a missing member', { op: 'add', path: '/gone/deep', value: 1 }],
    ['adds below null', { op: 'add', path: '/node/deep', value: 1 }],
    ['adds below a string', { op: 'add', path: '/metadata/name/deep', value: 1 }],
    ['adds beyond the end', { op: 'add', path: '/args/4', value: 1 }],
    ['adds before the start', { op: 'add', path: '/args/-5', value: 1 }],
    ['adds at an invalid index', { op: 'add', path: '/args/first', value: 1 }],
    ['adds the document', { op: 'add', path: '', value: {} }],
    ['replaces beyond the end', { op: 'replace', path: '/args/3', value: 1 }],
    ['replaces the document with a string', { op: 'replace', path: '', value: 'text' }],
    ['moves a missing member', { op: 'move', from: '/gone', path: '/ok' }],
    ['moves into itself', { op: 'move', from: '/metadata', path: '/metadata/inner' }],
    ['copies from beyond the end', { op: 'copy', from: '/args/3', path: '/ok' }],
    ['has an invalid path', { op: 'add', path: 'args/0', value: 1 }],
  ])('that %s is rejected', (_mistake, operation) => {
    expect(() => applyJsonPatch(pod, [operation])).toThrow(invalid)
  })

  it.each<[string, string, Json]>([
    ['another value', '/args', ['x', 'y']],
    ['a value instead of null', '/node', 1],
    ['null instead of a value', '/args', null],
    ['a missing value', '/gone', 1],
    ['a value below a missing member', '/gone/deep', null],
    ['a value beyond the end', '/args/3', null],
  ])('whose test expects %s fails', (_what, path, value) => {
    expect(() => applyJsonPatch(pod, [{ op: 'test', path, value }])).toThrow(testFailed)
  })

  it('reports which operation failed, where, and never the value', () => {
    const secret = frozen({ data: { password: 'aHVudGVyMg==' } })
    const error = (operations: readonly JsonPatchOperation[]): string => {
      try {
        applyJsonPatch(secret, operations)
      } catch (thrown) {
        return (thrown as Error).message
      }
      return ''
    }
    const message = error([
      { op: 'test', path: '/data/password', value: 'aHVudGVyMg==' },
      { op: 'test', path: '/data/password', value: 'b3RoZXI=' },
    ])
    expect(message).toContain('operation 1')
    expect(message).toContain('test "/data/password"')
    expect(message).not.toContain('aHVudGVyMg==')
    expect(message).not.toContain('b3RoZXI=')
    expect(error([{ op: 'remove', path: '/data/user' }])).toContain('operation 0')
  })

  it('may copy at most three mebibytes', () => {
    const mebibyte = { text: 'x'.repeat(1024 * 1024 - 2) }
    const copy: JsonPatchOperation = { op: 'copy', from: '/text', path: '/copy' }
    expect(applyJsonPatch(mebibyte, [copy, copy, copy])).toHaveProperty('copy')
    expect(() => applyJsonPatch(mebibyte, [copy, copy, copy, copy])).toThrow(invalid)
  })

  it("treats JavaScript's special names as plain keys", () => {
    const patched = applyJsonPatch({}, [
      { op: 'add', path: '/__proto__', value: { polluted: true } },
      { op: 'add', path: '/constructor', value: 1 },
    ])
    expect(Object.entries(patched as object)).toEqual([
      ['__proto__', { polluted: true }],
      ['constructor', 1],
    ])
    expect(Object.getPrototypeOf(patched)).toBe(Object.prototype)
    expect(() => applyJsonPatch({}, [{ op: 'remove', path: '/toString' }])).toThrow(invalid)
  })

  it('shares unchanged parts', () => {
    const patched = applyJsonPatch(pod, [{ op: 'add', path: '/args/-', value: 'n' }])
    expect((patched as typeof pod & object & { metadata: unknown }).metadata).toBe(
      (pod as { metadata: unknown }).metadata,
    )
  })
})

describe('a JSON patch in a request', () => {
  it('is a list of operations', () => {
    expect(parseJsonPatch([{ op: 'remove', path: '/a', extra: 1 }])).toEqual([{ op: 'remove', path: '/a' }])
    expect(() => parseJsonPatch({ op: 'remove', path: '/a' })).toThrow(invalid)
  })

  it('has null for a missing value', () => {
    expect(parseJsonPatch([{ op: 'add', path: '/a' }])).toEqual([{ op: 'add', path: '/a', value: null }])
  })

  it.each<[string, Json]>([
    ['a missing operation', 1],
    ['an operation without a path', { op: 'add', value: 1 }],
    ['an operation with an invalid path', { op: 'add', path: 1 }],
    ['an unknown operation', { op: 'merge', path: '/a' }],
    ['a move without from', { op: 'move', path: '/a' }],
  ])('with %s is rejected with its index', (_mistake, operation) => {
    expect(() => parseJsonPatch([{ op: 'remove', path: '/a' }, operation])).toThrow(/operation 1/)
  })
})

describe('a long JSON patch', () => {
  it('copies a container once, and changes neither its input nor the source of a copy', () => {
    const document = frozen({ a: { list: [1, 2], deep: { x: 1 } } }) as Json
    const value = frozen({ y: [] }) as Json
    const result = applyJsonPatch(document, [
      { op: 'add', path: '/a/v', value },
      { op: 'add', path: '/a/v/y/-', value: 1 },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/b/v/y/-', value: 2 },
      { op: 'add', path: '/a/list/0', value: 0 },
      { op: 'move', from: '/b/deep', path: '/a/list/-' },
      { op: 'replace', path: '/a/list/3/x', value: 9 },
      { op: 'add', path: '/a/__proto__', value: { polluted: true } },
    ])
    expect(stringifyJson(result)).toBe(
      '{"a":{"list":[0,1,2,{"x":9}],"deep":{"x":1},"v":{"y":[1]},"__proto__":{"polluted":true}},"b":{"list":[1,2],"v":{"y":[1,2]}}}',
    )
  })

  it('that nests without an end is rejected', () => {
    const chain = (depth: number): string => `/a${'/a'.repeat(depth)}`
    const operations = Array.from({ length: 25 }, (_, index) => ({
      op: 'copy' as const,
      from: '/a',
      path: chain(2 ** (index + 1) - 1),
    }))
    expect(() => applyJsonPatch({ a: { a: {} } }, operations)).toThrow(/operation \d+/)
  })
})

describe('the JSON patch between two documents', () => {
  it('transforms one into the other', () => {
    fc.assert(
      fc.property(documents, documents, (from, to) => {
        expect(equalJson(applyJsonPatch(frozen(from), createJsonPatch(from, frozen(to))), to)).toBe(true)
      }),
    )
  })

  it('is empty exactly if they are equal', () => {
    fc.assert(
      fc.property(documents, documents, (from, to) => {
        expect(createJsonPatch(from, from)).toEqual([])
        expect(createJsonPatch(from, to).length === 0).toBe(equalJson(from, to))
      }),
    )
  })

  it('has the wire format', () => {
    fc.assert(
      fc.property(documents, documents, (from, to) => {
        const patch = createJsonPatch(from, to)
        expect(parseJsonPatch(patch)).toEqual(patch)
      }),
    )
  })

  it('is minimal: it names the one changed location', () => {
    expect(createJsonPatch({ a: { b: [1, 2, { c: 3 }] }, d: 4 }, { a: { b: [1, 2, { c: 5 }] }, d: 4 })).toEqual([
      { op: 'replace', path: '/a/b/2/c', value: 5 },
    ])
    expect(createJsonPatch(['a', 'b', 'c', 'd'], ['a', 'c', 'd'])).toEqual([{ op: 'remove', path: '/1' }])
    expect(createJsonPatch(['a', 'd'], ['a', 'b', 'c', 'd'])).toEqual([
      { op: 'add', path: '/1', value: 'b' },
      { op: 'add', path: '/2', value: 'c' },
    ])
  })
})
