import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cacheErrors } from './errors.ts'
import { isMusterError } from '../kube/muster-error.ts'
import type { KubeObject, ObjectMeta } from '../kube/object.ts'
import { type StoreChange, createStore, type Store } from './store.ts'

interface Thing extends KubeObject {
  readonly spec: { readonly node: string; readonly tags: readonly string[] }
}

function thing(metadata: ObjectMeta, node = '', tags: readonly string[] = []): Thing {
  return Object.freeze({ apiVersion: 'v1', kind: 'Thing', metadata: Object.freeze(metadata), spec: { node, tags } })
}

const namespace = fc.constantFrom('a', 'b', 'c', undefined)
const name = fc.constantFrom('one', 'two', 'three', 'four', 'five')
const word = fc.constantFrom('x', 'y', 'z')

let version = 0
const anyThing = fc
  .record({
    namespace,
    name,
    uid: fc.constantFrom('u1', 'u2'),
    owners: fc.uniqueArray(word, { maxLength: 2 }),
    node: word,
    tags: fc.array(word, { maxLength: 3 }),
  })
  .map(({ namespace: space, name: called, uid, owners, node, tags }) =>
    thing(
      {
        name: called,
        uid,
        resourceVersion: String(++version),
        ...(space === undefined ? {} : { namespace: space }),
        ownerReferences: owners.map((owner) => ({ apiVersion: 'v1', kind: 'Owner', name: owner, uid: owner })),
      },
      node,
      tags,
    ),
  )

const byNode = ({ spec }: Thing): readonly string[] => [spec.node]
const byTag = ({ spec }: Thing): readonly string[] => spec.tags

type Step =
  | { readonly do: 'put'; readonly object: Thing }
  | { readonly do: 'remove'; readonly namespace: string | undefined; readonly name: string }
  | { readonly do: 'replace'; readonly namespace: string | undefined; readonly objects: readonly Thing[] }
  | { readonly do: 'addIndex' | 'removeIndex' }
  | { readonly do: 'byOwner' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: anyThing.map((object) => ({ do: 'put' as const, object })) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), namespace, name }) },
  {
    weight: 1,
    arbitrary: fc
      .record({ namespace: fc.constantFrom('a', 'b', undefined), objects: fc.array(anyThing, { maxLength: 8 }) })
      .map(({ namespace: scope, objects }) => ({
        do: 'replace' as const,
        namespace: scope,
        objects:
          scope === undefined
            ? objects
            : objects.map((each) => thing({ ...each.metadata, namespace: scope }, each.spec.node, each.spec.tags)),
      })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('addIndex' as const, 'removeIndex' as const, 'byOwner' as const) }),
  },
)

/** The store as anyone would write it who need not care for speed. */
class Model {
  readonly objects = new Map<string, Thing>()
  readonly #key = (space: string | undefined, called: string): string => `${space ?? ''}/${called}`

  put(object: Thing): Thing | undefined {
    const key = this.#key(object.metadata.namespace, object.metadata.name!)
    const previous = this.objects.get(key)
    this.objects.set(key, object)
    return previous
  }

  remove(space: string | undefined, called: string): Thing | undefined {
    const key = this.#key(space, called)
    const previous = this.objects.get(key)
    this.objects.delete(key)
    return previous
  }

  addIndex(_index: unknown, _keysOf: unknown): void {}

  removeIndex(_index: unknown): void {}

  replace(space: string | undefined, objects: Iterable<Thing>): readonly StoreChange<Thing>[] {
    const before = new Map(this.objects)
    for (const [key, object] of before)
      if (space === undefined || object.metadata.namespace === space) this.objects.delete(key)
    for (const object of objects) this.put(object)
    const changes: StoreChange<Thing>[] = []
    for (const key of new Set([...before.keys(), ...this.objects.keys()])) {
      const [previous, object] = [before.get(key), this.objects.get(key)]
      if (previous !== object) changes.push({ previous, object })
    }
    return changes
  }
}

function expectSame(store: Store<Thing>, model: Model): void {
  const all = [...model.objects.values()]
  expect(new Set(store.list())).toEqual(new Set(all))
  expect(store.size).toBe(all.length)
  for (const space of ['a', 'b', 'c', '']) {
    expect(new Set(store.list(space))).toEqual(
      new Set(all.filter(({ metadata }) => (metadata.namespace ?? '') === space)),
    )
  }
  for (const object of all) expect(store.get(object.metadata.namespace, object.metadata.name!)).toBe(object)
}

/** Each object once, and no other; or nothing at all. */
function expectExactly(found: readonly Thing[] | undefined, wanted: readonly Thing[] | undefined): void {
  expect(found?.length).toBe(wanted?.length)
  expect(new Set(found)).toEqual(new Set(wanted))
}

/** Undefined if there is no such index. */
function find(store: Store<Thing>, index: unknown, key: string): readonly Thing[] | undefined {
  try {
    return store.byIndex(index, key)
  } catch (error) {
    if (isMusterError(error, cacheErrors.IndexNotFound)) return undefined
    throw error
  }
}

/** Takes a step and says what came of it. */
function apply(subject: Store<Thing> | Model, next: Step): unknown {
  switch (next.do) {
    case 'put':
      return subject.put(next.object)
    case 'remove':
      return subject.remove(next.namespace, next.name)
    case 'replace':
      return new Set(subject.replace(next.namespace, next.objects))
    case 'addIndex':
      return subject.addIndex(byNode, byNode)
    case 'removeIndex':
      return subject.removeIndex(byNode)
    case 'byOwner':
      return undefined
    default:
      return next
  }
}

describe('a store', () => {
  it('holds the last put object, and its indexes equal a scan, after any sequence of changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = createStore<Thing>()
        const model = new Model()
        store.addIndex(byTag, byTag)
        let declared = 0
        for (const next of steps) {
          expect(apply(store, next)).toEqual(apply(model, next))
          if (next.do === 'addIndex') declared++
          if (next.do === 'removeIndex') declared = Math.max(0, declared - 1)
          const all = [...model.objects.values()]
          for (const key of ['x', 'y', 'z', 'none']) {
            expectExactly(
              store.byIndex(byTag, key),
              all.filter(({ spec }) => spec.tags.includes(key)),
            )
            expectExactly(
              find(store, byNode, key),
              declared > 0 ? all.filter(({ spec }) => spec.node === key) : undefined,
            )
            const owned = all.filter(({ metadata }) => metadata.ownerReferences!.some(({ uid }) => uid === key))
            // Asked only now and then: the index is built by the first question.
            expectExactly(next.do === 'byOwner' ? store.byOwner(key) : owned, owned)
          }
        }
        expectSame(store, model)
        for (const object of store.list()) store.remove(object.metadata.namespace, object.metadata.name!)
        expect(store).toMatchObject({ size: 0, bytes: 0 })
        expect(store.byIndex(byTag, 'x')).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('returns of a relist exactly the added, changed and removed objects', () => {
    const store = createStore<Thing>()
    const same = thing({ name: 'same', uid: '1', resourceVersion: '1' })
    const changed = thing({ name: 'changed', uid: '2', resourceVersion: '1' })
    const reborn = thing({ name: 'reborn', uid: '3', resourceVersion: '1' })
    const gone = thing({ name: 'gone', uid: '4', resourceVersion: '1' })
    for (const object of [same, changed, reborn, gone]) store.put(object)
    const again = thing({ name: 'same', uid: '1', resourceVersion: '1' })
    const later = thing({ name: 'changed', uid: '2', resourceVersion: '2' })
    const second = thing({ name: 'reborn', uid: '5', resourceVersion: '1' })
    const added = thing({ name: 'added', uid: '6', resourceVersion: '2' })
    const changes = store.replace(undefined, [again, later, second, added])
    expect(new Set(changes)).toEqual(
      new Set([
        { previous: gone, object: undefined },
        { previous: changed, object: later },
        { previous: reborn, object: second },
        { previous: undefined, object: added },
      ]),
    )
    // The same version, fetched anew, is no change; but what was fetched is what is held.
    expect(store.get(undefined, 'same')).toBe(again)
  })

  it('replaces one namespace and leaves the others', () => {
    const store = createStore<Thing>()
    const other = thing({ namespace: 'b', name: 'x' })
    store.put(thing({ namespace: 'a', name: 'x' }))
    store.put(other)
    expect(store.replace('a', [])).toHaveLength(1)
    expect(store.list()).toEqual([other])
  })

  it('is unchanged if a list is invalid', () => {
    const store = createStore<Thing>()
    const held = thing({ namespace: 'a', name: 'x' })
    store.put(held)
    const broken = function* (): Generator<Thing> {
      yield thing({ namespace: 'a', name: 'y' })
      throw new Error('the stream broke')
    }
    expect(() => store.replace('a', broken())).toThrow('the stream broke')
    expect(() =>
      store.replace('a', [thing({ namespace: 'a', name: 'y' }), thing({ namespace: 'b', name: 'z' })]),
    ).toThrow('another namespace')
    expect(store.list()).toEqual([held])
  })

  it('keeps an index while a consumer declares it', () => {
    const store = createStore<Thing>()
    store.addIndex('node', byNode)
    store.addIndex('node', byNode)
    store.put(thing({ name: 'x' }, 'n1'))
    store.removeIndex('node')
    expect(store.byIndex('node', 'n1')).toHaveLength(1)
    store.removeIndex('node')
    expect(() => store.byIndex('node', 'n1')).toThrow(expect.objectContaining({ name: 'IndexNotFound' }))
  })

  it('charges an object that shares everything less than one that shares nothing', () => {
    const one = createStore<Thing>()
    const spec = { node: 'n', tags: Array.from({ length: 100 }, (_, index) => `a tag of some length ${index}`) }
    const sharing = (called: string): Thing => ({ ...thing({ name: called }), spec })
    one.put(sharing('a'))
    const first = one.bytes
    one.put(sharing('b'))
    expect(one.bytes - first).toBeLessThan(first / 10)
    expect(one.audit()).toMatchObject({ objects: 2 })
    expect(Math.abs(one.audit().bytes - one.bytes)).toBeLessThan(one.bytes / 10)
  })

  it('measures a sample of very many objects, and releases what it charged', () => {
    const store = createStore<Thing>()
    const specs = Array.from({ length: 50 }, (_, group) => ({ node: 'n', tags: [`tag of ${group}`, 'a tag for all'] }))
    const names = Array.from({ length: 10_000 }, (_, index) => `thing-${String(index).padStart(5, '0')}`)
    for (const [index, called] of names.entries())
      store.put({ ...thing({ name: called }), spec: specs[Math.floor(index / 200)]! })
    expect(Math.abs(store.audit().bytes - store.bytes)).toBeLessThan(store.bytes / 10)
    for (const called of names) store.remove(undefined, called)
    expect(store).toMatchObject({ size: 0, bytes: 0 })
  })

  it('releases memory when an object shrinks or is removed', () => {
    const store = createStore<Thing>()
    const small = thing({ name: 'x', resourceVersion: '1' })
    const large = thing(
      { name: 'x', resourceVersion: '2' },
      'n',
      Array.from({ length: 100 }, (_, index) => `tag ${index}`),
    )
    store.put(small)
    const before = store.bytes
    store.put(large)
    expect(store.bytes).toBeGreaterThan(before + 1000)
    store.put(small)
    expect(store.bytes).toBe(before)
    store.remove(undefined, 'x')
    expect(store.bytes).toBe(0)
  })
})
