import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldElement, keyElement, type Path } from '../../kube/apply/path-element.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import { isYielded, withoutField } from './yielded-fields.ts'

const name = fc.constantFrom('a', 'b/c', '~d', '', '*', '0')
const fieldPath = fc.array(name, { minLength: 1, maxLength: 4 })
const pathOf = (names: readonly string[]): Path => names.map((one) => fieldElement(one))
const pointerOf = (names: readonly string[]): string =>
  names.map((one) => `/${one.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
const container = keyElement([{ name: 'name', value: 'web' }])
const ports = keyElement([
  { name: 'containerPort', value: 80 },
  { name: 'protocol', value: 'TCP' },
])

describe('a field', () => {
  it('is yielded by its own pointer and by those of its parents, and by no pointer below it', () => {
    fc.assert(
      fc.property(fieldPath, fc.nat(4), name, (names, length, more) => {
        const own = names.slice(0, Math.max(1, length))
        expect(isYielded(pathOf(names), [pointerOf(own)])).toBe(true)
        expect(isYielded(pathOf(names), [pointerOf([...names, more])])).toBe(false)
      }),
    )
  })

  it('is not yielded by the pointer of another field, but for *', () => {
    fc.assert(
      fc.property(fieldPath, fieldPath, (names, others) => {
        const isCovered = others.length <= names.length && others.every((one, at) => one === '*' || one === names[at])
        expect(isYielded(pathOf(names), [pointerOf(others)])).toBe(isCovered)
      }),
    )
  })

  it('of an item is yielded by any of the keys of the item', () => {
    const path = [fieldElement('containers'), container, fieldElement('resources'), fieldElement('limits')]
    expect(isYielded(path, ['/containers/web/resources'])).toBe(true)
    expect(isYielded(path, ['/containers/*/resources'])).toBe(true)
    expect(isYielded(path, ['/containers/db/resources'])).toBe(false)
    const port = [fieldElement('ports'), ports, fieldElement('name')]
    expect(isYielded(port, ['/ports/80/name'])).toBe(true)
    expect(isYielded(port, ['/ports/TCP'])).toBe(true)
    expect(isYielded([fieldElement('args'), { kind: 'index', index: 2 }], ['/args/2'])).toBe(true)
    expect(isYielded([fieldElement('finalizers'), { kind: 'value', value: 'x/y' }], ['/finalizers/x~1y'])).toBe(true)
  })
})

describe('an object without a field', () => {
  const at = (value: Json, names: readonly string[]): Json | undefined =>
    names.reduce<Json | undefined>(
      (inner, one) =>
        typeof inner === 'object' && inner !== null && !Array.isArray(inner) && Object.hasOwn(inner, one)
          ? (inner as Readonly<Record<string, Json>>)[one]
          : undefined,
      value,
    )
  const value = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.dictionary(name, tie('value'), { maxKeys: 3 })),
  })).value

  it('has all the others as they were, and is the same object if there is none', () => {
    fc.assert(
      fc.property(value, fieldPath, fieldPath, (before, names, others) => {
        const copy = structuredClone(before)
        const after = withoutField(before, pathOf(names))
        expect(equalJson(before, copy)).toBe(true)
        expect(at(after, names)).toBeUndefined()
        expect(at(before, names) !== undefined || equalJson(after, before)).toBe(true)
        const isApart = others.some((one, index) => index < names.length && one !== names[index])
        const same = (isApart ? at(after, others) : at(before, others)) ?? null
        expect(same).toEqual(at(before, others) ?? null)
      }),
    )
  })

  it('loses an item of a list by its key, its place or its value', () => {
    const containers = [{ name: 'db' }, { name: 'web', image: 'a' }]
    expect(withoutField({ containers }, [fieldElement('containers'), container, fieldElement('image')])).toEqual({
      containers: [{ name: 'db' }, { name: 'web' }],
    })
    expect(withoutField({ containers }, [fieldElement('containers'), container])).toEqual({
      containers: [{ name: 'db' }],
    })
    // The key has the default of a field that the item leaves out.
    expect(withoutField([{ containerPort: 80 }], [ports])).toEqual([])
    expect(withoutField(['a', 'b'], [{ kind: 'value', value: 'a' }])).toEqual(['b'])
    expect(withoutField(['a', 'b'], [{ kind: 'index', index: 1 }])).toEqual(['a'])
    expect(withoutField(['a'], [{ kind: 'index', index: 4 }])).toEqual(['a'])
  })
})
