import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { selects } from '../../operator/coverage.ts'
import { exactly, generated, type Input, labelled, referenced, whole } from '../../operator/input.ts'
import { Node, Secret } from '../../operator/kinds.ts'
import type { References } from '../../operator/references.ts'
import type { ObjectName } from '../../operator/view.ts'
import { type WatchRequest, watchRequestsFor, watchRequestCovers, watchRequestKey } from './watch-requests.ts'

const nobody: References = { has: () => false, of: () => [] }
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

describe('watch requests', () => {
  it('hold what is declared and what is named, nothing else, and no two of them the same', () => {
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
          const isWanted = isNamed || declared.some((each) => selects(each, object, nobody))
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
  ])('are as few and as narrow as can be: %s', (_, inputs, named, requests) => {
    expect(watchRequestsFor({ resource: Secret, inputs, named })).toEqual(requests)
  })

  it('of a kind without namespaces know none', () => {
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

  it('stay within the namespaces where the operator works, except what its author named', () => {
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
