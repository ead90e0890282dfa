import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { operatorErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { exactly, generated, type Input, labelled, referenced, whole } from './input.ts'
import { ConfigMap, Namespace, Secret } from '../../kube/kinds.ts'
import { createReferenceTable } from './references.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { readConcerns, openView, type RecordedView, type ViewSource } from './view.ts'

const kinds: readonly TypedResource[] = [ConfigMap, Secret, Namespace]
const namespace = fc.constantFrom('one', 'two')
const name = fc.constantFrom('a', 'ab', 'b', 'constructor')
const kind = fc.constantFrom(...kinds)
const inNamespace = (resource: Resource, at: string): { readonly namespace?: string } =>
  resource.namespaced ? { namespace: at } : {}

/** Objects name others: by `next`, in the namespace `where`. */
const object: fc.Arbitrary<{ readonly resource: TypedResource; readonly object: KubeObject }> = fc
  .record({
    resource: kind,
    name,
    namespace,
    color: fc.option(fc.constantFrom('red', 'blue'), { nil: undefined }),
    next: fc.option(fc.oneof(name, fc.constantFrom('', '../x', 7)), { nil: undefined }),
    where: fc.option(fc.oneof(namespace, fc.constantFrom('BAD_', null)), { nil: undefined }),
    owner: fc.constantFrom('u1', 'u2'),
  })
  .map(({ resource, color, next, where, owner, ...at }) => ({
    resource,
    object: {
      apiVersion: 'v1',
      kind: resource.kind,
      metadata: {
        name: at.name,
        ...inNamespace(resource, at.namespace),
        ...(color !== undefined && { labels: { color } }),
        ownerReferences: [{ apiVersion: 'v1', kind: 'Any', name: owner, uid: owner }],
      },
      data: { ...(next !== undefined && { next }), ...(where !== undefined && { where }) },
    } as KubeObject,
  }))

const plainInput: fc.Arbitrary<Input> = fc
  .record({ resource: kind, name, namespace, isEverywhere: fc.boolean(), color: fc.constantFrom('red', 'blue') })
  .chain(({ resource, name: called, namespace: at, isEverywhere, color }) => {
    const where = isEverywhere ? {} : inNamespace(resource, at)
    return fc.constantFrom<Input>(
      whole(resource),
      exactly(resource, { name: called, ...inNamespace(resource, at) }),
      generated(resource, { prefix: 'a', ...where }),
      labelled(resource, { labels: { color }, ...where }),
    )
  })

const refer = (from: Input, resource: TypedResource, isFixed: boolean): Input =>
  referenced(resource, {
    from,
    namePath: '$.data.next',
    ...(resource.namespaced && (isFixed ? { namespace: 'one' } : { namespacePath: '$.data.where' })),
  })

const input: fc.Arbitrary<Input> = fc.oneof(
  plainInput,
  fc.tuple(plainInput, kind, fc.boolean()).map((given) => refer(...given)),
  fc
    .tuple(plainInput, kind, fc.boolean(), kind, fc.boolean())
    .map(([from, ...rest]) => refer(refer(from, rest[0], rest[1]), rest[2], rest[3])),
)

const inputs = fc.array(input, { minLength: 1, maxLength: 4 })
const world = fc.array(object, { maxLength: 12 })

type World = ReadonlyMap<string, { readonly resource: TypedResource; readonly object: KubeObject }>

const keyOf = (resource: Resource, { metadata }: KubeObject): string =>
  `${formatResource(resource)} ${metadata.namespace ?? ''}/${metadata.name}`

function worldOf(things: readonly { readonly resource: TypedResource; readonly object: KubeObject }[]): World {
  return new Map(things.map((thing) => [keyOf(thing.resource, thing.object), thing]))
}

function sourceOf(things: World): ViewSource {
  const all = (resource: Resource): readonly KubeObject[] =>
    [...things.values()]
      .filter((thing) => formatResource(thing.resource) === formatResource(resource))
      .map((thing) => thing.object)
  return {
    get: (resource, at) => things.get(`${formatResource(resource)} ${at.namespace ?? ''}/${at.name}`)?.object,
    list: (resource, at) => all(resource).filter(({ metadata }) => at === undefined || metadata.namespace === at),
    byOwner: (resource, uid) =>
      all(resource).filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid)),
    serves: () => true,
  }
}

/** What is covered, said once more in the plainest words there are. */
function isMeant(given: Input, resource: Resource, { metadata }: KubeObject, things: World): boolean {
  if (formatResource(given.resource) !== formatResource(resource)) return false
  if (given.select === 'kind') return true
  if (given.select === 'reference') {
    return [...things.values()].some((thing) => {
      if (!isMeant(given.from, thing.resource, thing.object, things)) return false
      const { next, where } = (thing.object as unknown as { data: { next?: unknown; where?: unknown } }).data
      const expected = resource.namespaced ? (given.namespace ?? where) : undefined
      return next === metadata.name && expected === metadata.namespace
    })
  }
  if (given.namespace !== undefined && given.namespace !== metadata.namespace) return false
  if (given.select === 'name') return metadata.name === given.name
  if (given.select === 'prefix') return metadata.name!.startsWith(given.prefix)
  return metadata.labels?.['color'] === given.labels['color']
}

const isRefused = (read: () => unknown): boolean => {
  try {
    read()
    return false
  } catch (error) {
    return isMusterError(error, operatorErrors.UndeclaredInput)
  }
}

function viewOf(given: readonly Input[], things: World, isFollowed: boolean): RecordedView {
  const source = sourceOf(things)
  const references = createReferenceTable({ inputs: given, get: (resource, at) => source.get(resource, at) })
  for (const { resource, object: each } of things.values()) {
    references.note(resource, { name: '', ...each.metadata }, each)
  }
  return openView({ source, reader: 'test', inputs: given, ...(isFollowed && { references }) })
}

describe('a view', () => {
  it('shows exactly the declared objects, whether tracked or looked up', () => {
    fc.assert(
      fc.property(inputs, world, fc.boolean(), (given, listed, isFollowed) => {
        const things = worldOf(listed)
        const expected = [...things]
          .filter(([, thing]) => given.some((each) => isMeant(each, thing.resource, thing.object, things)))
          .map(([key]) => key)
        const shown = new Set<string>()
        const owned = new Set<string>()
        const got = new Set<string>()
        for (const resource of kinds) {
          const isDeclared = given.some((each) => formatResource(each.resource) === formatResource(resource))
          const absentOwner = { metadata: { uid: '' } } as KubeObject
          expect(isRefused(() => viewOf(given, things, isFollowed).list(resource))).toBe(!isDeclared)
          expect(isRefused(() => viewOf(given, things, isFollowed).ownedBy(resource, absentOwner))).toBe(!isDeclared)
          if (!isDeclared) continue
          for (const each of viewOf(given, things, isFollowed).list(resource)) shown.add(keyOf(resource, each))
          for (const uid of ['u1', 'u2']) {
            const owner = { metadata: { uid } } as KubeObject
            for (const each of viewOf(given, things, isFollowed).ownedBy(resource, owner))
              owned.add(keyOf(resource, each))
          }
        }
        for (const { resource, object: each } of things.values()) {
          const at = { name: '', ...each.metadata }
          try {
            const found = viewOf(given, things, isFollowed).get(resource, at)
            if (found) got.add(keyOf(resource, found))
          } catch {
            // Refused.
          }
        }
        for (const seen of [shown, owned, got]) expect([...seen].toSorted()).toEqual(expected.toSorted())
      }),
      { numRuns: 200 },
    )
  })

  it('rejects other reads, and lists the declared ones', () => {
    const refused: string[] = []
    const view = openView({
      source: sourceOf(new Map()),
      reader: 'op, controller c',
      inputs: [
        exactly(Secret, { name: 'x', namespace: 'ns' }),
        labelled(ConfigMap, { namespace: 'ns', labels: { a: '1' } }),
      ],
      onRefused: (message) => refused.push(message),
    })
    expect(() => view.get(Secret, { name: 'y', namespace: 'ns' })).toThrow(
      'op, controller c reads secrets/v1 ns/y, but declares secrets/v1 ns/x only.',
    )
    expect(() => view.list(ConfigMap, { namespace: 'other' })).toThrow(
      'op, controller c reads configmaps/v1 other/[], but declares configmaps/v1 ns/[a=1] only.',
    )
    expect(() => view.list(ConfigMap, { labels: 'a=2' })).toThrow('*/[a=2], but declares')
    expect(() => view.get(Namespace, { name: 'x' })).toThrow(
      'reads namespaces/v1, but declares configmaps/v1 ns/[a=1], secrets/v1 ns/x only.',
    )
    expect(refused).toHaveLength(4)
    expect(view.get(Secret, { name: 'x', namespace: 'ns' })).toBeUndefined()
    expect(view.list(ConfigMap, { labels: 'b=2' })).toEqual([])
    expect(view.list(ConfigMap, { labels: 'a in (1,2)' })).toEqual([])
  })

  it('shows the objects that another one referred to when it was read, even if it changed since', () => {
    const from = (next: string): KubeObject =>
      ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'ns' }, data: { next } }) as KubeObject
    const old = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'old', namespace: 'ns' } } as KubeObject
    let config = from('old')
    const source: ViewSource = {
      ...sourceOf(new Map()),
      get: (resource, at) => (resource.kind === 'ConfigMap' ? config : at.name === 'old' ? old : undefined),
    }
    const root = exactly(ConfigMap, { name: 'c', namespace: 'ns' })
    const reference = referenced(Secret, { from: root, namePath: '$.data.next', namespace: 'ns' })
    const open = (): RecordedView => openView({ source, reader: 'test', inputs: [root, reference] })
    const view = open()
    view.get(ConfigMap, { name: 'c', namespace: 'ns' })
    config = from('new')
    expect(view.get(Secret, { name: 'old', namespace: 'ns' })).toBe(old)
    expect(isRefused(() => open().get(Secret, { name: 'old', namespace: 'ns' }))).toBe(true)
  })
})

describe('references', () => {
  it('are the same whether tracked incrementally or looked up from scratch', () => {
    const steps = fc.array(fc.tuple(object, fc.boolean()), { maxLength: 25 })
    fc.assert(
      fc.property(inputs, steps, (given, changes) => {
        const things = new Map<string, { readonly resource: TypedResource; readonly object: KubeObject }>()
        const named = new Map<string, number>()
        const source = sourceOf(things)
        const note = (by: number) => (reference: Input, at: object) => {
          const key = JSON.stringify([given.findIndex((each) => each === reference), reference, at])
          named.set(key, (named.get(key) ?? 0) + by)
        }
        const table = createReferenceTable({
          inputs: given,
          get: (resource, at) => source.get(resource, at),
          onCame: note(1),
          onWent: note(-1),
        })
        for (const [{ resource, object: each }, isThere] of changes) {
          const key = keyOf(resource, each)
          if (isThere) things.set(key, { resource, object: each })
          else things.delete(key)
          table.note(resource, { name: '', ...each.metadata }, isThere ? each : undefined)
        }
        const fresh = createReferenceTable({ inputs: given, get: (resource, at) => source.get(resource, at) })
        for (const { resource, object: each } of things.values())
          fresh.note(resource, { name: '', ...each.metadata }, each)
        const sorted = (names: readonly object[]): readonly string[] => names.map((at) => JSON.stringify(at)).toSorted()
        for (const resource of kinds) expect(sorted(table.named(resource))).toEqual(sorted(fresh.named(resource)))
        // What came and did not go is what is there.
        expect([...named.values()].every((count) => count === 0 || count === 1)).toBe(true)
      }),
      { numRuns: 120 },
    )
  })
})

describe('a read', () => {
  it('depends on every change that alters its result', () => {
    fc.assert(
      fc.property(inputs, world, object, fc.boolean(), (given, listed, { resource, object: changed }, isGone) => {
        const before = worldOf(listed)
        const after = new Map(before)
        const key = keyOf(resource, changed)
        if (isGone) after.delete(key)
        else after.set(key, { resource, object: changed })
        const change = { resource, before: before.get(key)?.object, after: after.get(key)?.object }
        // References aside, of which their table tells.
        const plain = given.filter(({ select }) => select !== 'reference')
        for (const asked of kinds) {
          const look = (things: World): readonly [RecordedView, readonly string[]] => {
            const view = openView({ source: sourceOf(things), reader: 'test', inputs: plain })
            return [
              view,
              isRefused(() => view.list(asked))
                ? []
                : view
                    .list(asked)
                    .map((each) => JSON.stringify(each))
                    .toSorted(),
            ]
          }
          const [view, was] = look(before)
          const [, is] = look(after)
          const isAltered = JSON.stringify(was) !== JSON.stringify(is)
          expect(!isAltered || view.reads.some((read) => readConcerns(read, change))).toBe(true)
        }
      }),
      { numRuns: 120 },
    )
  })
})
