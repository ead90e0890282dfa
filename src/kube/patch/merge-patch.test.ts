import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, type JsonObject, equalJson, isJsonObject } from '../json.ts'
import { applyMergePatch, createMergePatch } from './merge-patch.ts'

const keys = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
const jsonOf = (scalars: readonly Json[]): fc.Arbitrary<Json> =>
  fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(...scalars),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
    ),
  })).value
const objectOf = (scalars: readonly Json[]): fc.Arbitrary<JsonObject> =>
  fc.dictionary(keys, jsonOf(scalars), { maxKeys: 4 })
/** Documents as Kubernetes stores them: null is absent. */
const objects = objectOf([true, 1, 2, 'p'])
const patches = objectOf([null, true, 1, 2, 'p'])

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

function hasNullMember(value: Json): boolean {
  if (!isJsonObject(value)) return false
  return Object.values(value).some((member) => member === null || hasNullMember(member!))
}

describe('a merge patch', () => {
  it.each<[string, Json, Json, Json]>([
    ['sets', { a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    ['removes', { a: 1, b: 2 }, { a: null }, { b: 2 }],
    ['removes a missing member', { a: 1 }, { b: null }, { a: 1 }],
    ['descends', { a: { b: 1, c: 2 } }, { a: { b: null, d: 3 } }, { a: { c: 2, d: 3 } }],
    ['replaces a whole list', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['replaces a list with an object', { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['replaces a string with an object', { a: 'x' }, { a: { b: 1, c: null } }, { a: { b: 1 } }],
    ['drops null in a new object, at any depth', {}, { a: { b: { c: null } } }, { a: { b: {} } }],
    ['keeps null in a list', { a: 1 }, { a: [null, 1] }, { a: [null, 1] }],
    ['drops null in an object in a list', {}, { a: [{ b: null, c: 1 }, [{ d: null }]] }, { a: [{ c: 1 }, [{}]] }],
    ['replaces any value with a value that is not an object', { a: 1 }, ['x'], ['x']],
    ['turns any value into an object', 'text', { a: 1, b: null }, { a: 1 }],
  ])('%s', (_law, target, patch, result) => {
    expect(applyMergePatch(frozen(target), frozen(patch))).toEqual(result)
  })

  it('is idempotent', () => {
    fc.assert(
      fc.property(objects, patches, (target, patch) => {
        const once = applyMergePatch(target, patch)
        expect(equalJson(applyMergePatch(once, patch), once)).toBe(true)
      }),
    )
  })

  it('changes neither target nor patch', () => {
    fc.assert(
      fc.property(objects, patches, (target, patch) => {
        expect(() => applyMergePatch(frozen(target), frozen(patch))).not.toThrow()
      }),
    )
  })

  it('that changes nothing returns the identical object', () => {
    fc.assert(
      fc.property(objects, (target) => {
        expect(applyMergePatch(target, {})).toBe(target)
        expect(applyMergePatch(target, target)).toBe(target)
      }),
    )
  })

  it('leaves no null member behind', () => {
    fc.assert(
      fc.property(objects, patches, (target, patch) => {
        expect(hasNullMember(applyMergePatch(target, patch))).toBe(false)
      }),
    )
  })

  it("handles JavaScript's special names", () => {
    const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}') as Json)
    expect(Object.keys(merged as object)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
  })
})

describe('the merge patch between two objects', () => {
  it('transforms one into the other', () => {
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        expect(equalJson(applyMergePatch(from, createMergePatch(frozen(from), frozen(to))), to)).toBe(true)
      }),
    )
  })

  it('is empty exactly if they are equal', () => {
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        expect(createMergePatch(from, from)).toEqual({})
        expect(Object.keys(createMergePatch(from, to)).length === 0).toBe(equalJson(from, to))
      }),
    )
  })

  it('contains only changes', () => {
    expect(
      createMergePatch({ a: 1, b: { c: 2, d: [1, 2] }, e: 3 }, { a: 1, b: { c: 4, d: [1, 2] }, f: { g: 5 } }),
    ).toEqual({ b: { c: 4 }, e: null, f: { g: 5 } })
  })

  it('treats null as absent', () => {
    expect(createMergePatch({ a: 1, b: null }, { a: null, c: null })).toEqual({ a: null })
    expect(createMergePatch({ a: { b: null } }, { a: {} })).toEqual({})
  })
})
