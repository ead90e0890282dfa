import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { noReferences, selects } from '../../operator/view/coverage.ts'
import { exactly, generated, type Input, labelled, referenced, whole } from '../../operator/view/input.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { fieldsServe, joinFields } from '../../operator/view/projection.ts'
import { Node, Secret } from '../../kube/kinds.ts'
import type { ObjectName } from '../../operator/view/view.ts'
import { type WatchRequest, watchRequestsFor, watchRequestCovers, watchRequestKey } from './watch-requests.ts'

const name = fc.constantFrom('a', 'ab', 'b')
const namespace = fc.constantFrom('one', 'two', 'three')
const label = fc.constantFrom('red', 'blue')

const input: fc.Arbitrary<Input> = fc.oneof(
  fc.constant(whole(Secret)),
  fc.record({ name, namespace }).map((at) => exactly(Secret, at)),
  fc.record({ name, namespace }).map((at) => exactly(Secret, at)),
  fc.record({ prefix: name, namespace }).map((at) => generated(Secret, at)),
  fc.record({ color: label, namespace }).map(({ color, ...at }) => labelled(Secret, { labels: { color }, ...at })),
  label.map((color) => labelled(Secret, { labels: { color } })),
)

const holds = ({ namespaces, name: only, prefix = '', labels }: WatchRequest, { metadata }: KubeObject): boolean =>
  (!namespaces || namespaces.includes(metadata.namespace!)) &&
  (only === undefined || only === metadata.name) &&
  metadata.name!.startsWith(prefix) &&
  Object.entries(labels ?? {}).every(([key, value]) => metadata.labels?.[key] === value)

const withFields = (each: Input, kept: readonly string[] | undefined): Input => ({ ...each, fields: kept })
const paths = fc.constantFrom<readonly string[] | undefined>(undefined, [], ['data'], ['data.a'], ['type'])

describe('watch requests', () => {
  it('have for every object one with all fields that the inputs that select it read', () => {
    const projected = fc.record({ each: input, kept: paths }).map(({ each, kept }): Input => withFields(each, kept))
    const object = fc.record({ name, namespace, color: label })
    fc.assert(
      fc.property(fc.array(projected, { minLength: 1, maxLength: 5 }), object, (inputs, { color, ...metadata }) => {
        const thing = { metadata: { ...metadata, labels: { color } } } as unknown as KubeObject
        const selecting = inputs.filter((each) => selects(each, thing, noReferences))
        const needed = joinFields(selecting.map((each) => each.fields))
        const held = watchRequestsFor({ resource: Secret, inputs, named: [] }).filter((request) =>
          holds(request, thing),
        )
        expect(held.length > 0).toBe(selecting.length > 0)
        const isServed = held.some((request) => fieldsServe(request.fields, needed))
        expect(isServed).toBe(selecting.length > 0)
        // Whole objects are kept only where an input reads them.
        expect(needed === undefined || held.every((request) => request.fields)).toBe(true)
      }),
    )
  })

  it('keep of a name that is referred to the same fields, referred to or not', () => {
    const inputs: readonly Input[] = [
      fields(exactly(Secret, { name: 'a', namespace: 'one' }), ['type']),
      referenced(Secret, { from: Secret, namePath: '$.data.next', namespacePath: '$.metadata.namespace' }),
    ]
    const before = watchRequestsFor({ resource: Secret, inputs, named: [] })
    expect(watchRequestsFor({ resource: Secret, inputs, named: [{ name: 'a', namespace: 'one' }] })).toEqual(before)
  })

  it('cover declared and referenced objects, nothing else, without duplicates', () => {
    const inputs = fc.array(input, { maxLength: 5 })
    const names = fc.array(fc.record({ name, namespace }), { maxLength: 5 })
    const objects = fc.array(fc.record({ name, namespace, color: label }), { minLength: 1, maxLength: 10 })
    fc.assert(
      fc.property(inputs, names, objects, (declared, named, things) => {
        const requests = watchRequestsFor({ resource: Secret, inputs: declared, named })
        expect(new Set(requests.map(watchRequestKey)).size).toBe(requests.length)
        for (const { color, ...metadata } of things) {
          const object = { metadata: { ...metadata, labels: { color } } } as unknown as KubeObject
          const isNamed = named.some(
            (at: ObjectName) => at.name === metadata.name && at.namespace === metadata.namespace,
          )
          const isWanted = isNamed || declared.some((each) => selects(each, object, noReferences))
          const isHeld = requests.some((request) => holds(request, object))
          expect(isHeld).toBe(isWanted)
          // And what is named can be told to be loaded.
          expect(!isNamed || requests.some((request) => watchRequestCovers(request, metadata))).toBe(true)
        }
      }),
    )
  })

  it.each<[string, readonly Input[], readonly ObjectName[], readonly WatchRequest[]]>([
    ['one name', [exactly(Secret, { name: 'a', namespace: 'x' })], [], [{ namespaces: ['x'], name: 'a' }]],
    [
      'two names in a namespace',
      [exactly(Secret, { name: 'a', namespace: 'x' })],
      [{ name: 'b', namespace: 'x' }],
      [
        { namespaces: ['x'], name: 'a' },
        { namespaces: ['x'], name: 'b' },
      ],
    ],
    ['generated names', [generated(Secret, { prefix: 'g-' })], [], [{ prefix: 'g-' }]],
    ['nothing', [referenced(Secret, { from: Node, namePath: '$.x', namespace: 'x' })], [], []],
    ['all', [whole(Secret), labelled(Secret, { labels: { a: 'b' } })], [{ name: 'b', namespace: 'x' }], [{}]],
    [
      'the same twice',
      [labelled(Secret, { labels: { a: 'b', c: 'd' } }), labelled(Secret, { labels: { c: 'd', a: 'b' } })],
      [],
      [{ labels: { a: 'b', c: 'd' } }],
    ],
  ])('are minimal in number and scope: %s', (_, inputs, named, requests) => {
    expect(watchRequestsFor({ resource: Secret, inputs, named })).toEqual(requests)
  })

  it('of a cluster-scoped kind have no namespace', () => {
    const inputs = [exactly(Node, { name: 'a' })]
    expect(watchRequestsFor({ resource: Node, inputs, named: [], namespaces: ['x'] })).toEqual([{ name: 'a' }])
    expect(watchRequestsFor({ resource: Node, inputs, named: [{ name: 'b' }], namespaces: ['x'] })).toEqual([
      { name: 'a' },
      { name: 'b' },
    ])
    expect(
      watchRequestsFor({ resource: Node, inputs: [...inputs, whole(Node)], named: [], namespaces: ['x'] }),
    ).toEqual([{}])
  })

  it("stay within the operator's namespaces, except for names of its author", () => {
    const inputs = [whole(Secret), exactly(Secret, { name: 'a', namespace: 'shared' })]
    expect(
      watchRequestsFor({
        resource: Secret,
        inputs,
        named: [{ name: 'b', namespace: 'one' }],
        namespaces: ['one', 'two'],
      }),
    ).toEqual([{ namespaces: ['one', 'two'] }, { namespaces: ['shared'], name: 'a' }])
  })
})
