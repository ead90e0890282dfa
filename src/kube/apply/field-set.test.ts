import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  difference,
  equalFieldSets,
  type FieldSet,
  fieldSet,
  fieldSetOfNodes,
  hasPath,
  intersection,
  leaves,
  nodeAt,
  noFields,
  pathsOf,
  recursiveDifference,
  union,
} from './field-set.ts'
import { fieldElement, formatPath, type Path, type PathElement } from './path-element.ts'

const elements = (): fc.Arbitrary<PathElement> =>
  fc.oneof(
    fc.constantFrom('a', 'b', 'c').map(fieldElement),
    fc.constantFrom(1, 'x').map((value): PathElement => ({ kind: 'value', value })),
  )
const paths = (): fc.Arbitrary<Path> => fc.array(elements(), { minLength: 1, maxLength: 3 })
const fieldSets = (): fc.Arbitrary<FieldSet> => fc.array(paths(), { maxLength: 8 }).map((some) => fieldSet(...some))

const texts = (set: FieldSet): readonly string[] => Array.from(pathsOf(set), formatPath).toSorted()

describe('a field set', () => {
  it('contains the inserted paths, and neither their parents nor their children', () => {
    const set = fieldSet(['spec', 'replicas'], ['metadata', 'labels'])
    expect(texts(set)).toEqual(['.metadata.labels', '.spec.replicas'])
    expect(hasPath(set, [fieldElement('spec')])).toBe(false)
    expect(hasPath(set, [fieldElement('spec'), fieldElement('replicas')])).toBe(true)
    expect(hasPath(set, [fieldElement('metadata'), fieldElement('labels'), fieldElement('a')])).toBe(false)
    expect(hasPath(set, [])).toBe(false)
  })

  it('contains every path that it lists', () => {
    fc.assert(
      fc.property(fieldSets(), paths(), (set, path) => {
        for (const listed of pathsOf(set)) expect(hasPath(set, listed)).toBe(true)
        expect(hasPath(set, path)).toBe(texts(set).includes(formatPath(path)))
      }),
    )
  })

  it('lists the fields of a level before those below them', () => {
    const set = fieldSet(['a', 'x'], ['b'], ['a'], ['c', 'y'])
    expect(Array.from(pathsOf(set), formatPath)).toEqual(['.a', '.b', '.a.x', '.c.y'])
  })

  it('is independent of the insertion order', () => {
    fc.assert(
      fc.property(fc.array(paths()), (some) => {
        expect(equalFieldSets(fieldSet(...some), fieldSet(...some.toReversed()))).toBe(true)
      }),
    )
  })

  it('joins nodes that repeat an element', () => {
    const [a, b] = [fieldSet(['a', 'x'], ['z']), fieldSet(['a'], ['a', 'y'])]
    expect(texts(fieldSetOfNodes([...b, ...a]))).toEqual(['.a', '.a.x', '.a.y', '.z'])
  })

  it('is looked up by element', () => {
    const set = fieldSet(['a'], ['b', 'c'], ['d'])
    expect(nodeAt(set, fieldElement('b'))).toMatchObject({ owned: false, below: [{ owned: true }] })
    expect(nodeAt(set, fieldElement('bb'))).toBeUndefined()
  })
})

describe('set algebra', () => {
  it('equals that of plain sets of paths', () => {
    fc.assert(
      fc.property(fieldSets(), fieldSets(), (a, b) => {
        const [left, right] = [new Set(texts(a)), new Set(texts(b))]
        expect(texts(union(a, b))).toEqual([...left.union(right)].toSorted())
        expect(texts(intersection(a, b))).toEqual([...left.intersection(right)].toSorted())
        expect(texts(difference(a, b))).toEqual([...left.difference(right)].toSorted())
      }),
    )
  })

  it('the recursive difference removes children, too', () => {
    fc.assert(
      fc.property(fieldSets(), fieldSets(), (a, b) => {
        const isGone = (path: string): boolean =>
          texts(b).some((gone) => path === gone || path.startsWith(`${gone}.`) || path.startsWith(`${gone}[`))
        expect(texts(recursiveDifference(a, b))).toEqual(texts(a).filter((path) => !isGone(path)))
      }),
    )
  })

  it('keeps every node sorted, unique and non-empty', () => {
    const check = (set: FieldSet): void => {
      expect(fieldSetOfNodes(set)).toBe(set)
      for (const node of set) {
        expect(node.owned || node.below.length > 0).toBe(true)
        check(node.below)
      }
    }
    fc.assert(
      fc.property(fieldSets(), fieldSets(), (a, b) => {
        for (const operation of [union, intersection, difference, recursiveDifference]) check(operation(a, b))
        check(leaves(a))
      }),
    )
  })

  it('returns the left operand when nothing changes', () => {
    fc.assert(
      fc.property(fieldSets(), fieldSets(), (a, b) => {
        expect(union(a, intersection(a, b))).toBe(a)
        expect(difference(a, noFields)).toBe(a)
        const apart = difference(a, b)
        expect(difference(apart, b)).toBe(apart)
      }),
    )
  })

  it('leaves are the fields without children', () => {
    expect(texts(leaves(fieldSet(['a'], ['a', 'b'], ['c'], ['d', 'e', 'f'])))).toEqual(['.a.b', '.c', '.d.e.f'])
  })
})
