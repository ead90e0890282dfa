import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { labelSelector } from '../../kube/selector/selector.ts'
import { ConfigMap, Namespace, Secret } from '../../kube/kinds.ts'
import { type InputChange, readConcerns, type ViewRead } from '../../operator/view/view.ts'
import { createDispatchTable } from './dispatch-table.ts'

const resources = [ConfigMap, Secret, Namespace]
const name = fc.constantFrom('x', 'y', '__proto__', 'constructor')
const namespace = fc.constantFrom('one', 'two')
const uid = fc.constantFrom('u1', 'u2', 'u3')

const objects: fc.Arbitrary<KubeObject> = fc
  .record({
    name,
    namespace: fc.option(namespace, { nil: undefined }),
    owners: fc.uniqueArray(uid, { maxLength: 2 }),
    color: fc.option(fc.constantFrom('red', 'blue'), { nil: undefined }),
  })
  .map(({ owners, color, namespace: at, ...rest }) => ({
    apiVersion: 'v1',
    kind: 'Any',
    metadata: {
      ...rest,
      ...(at !== undefined && { namespace: at }),
      ...(color !== undefined && { labels: { color } }),
      ...(owners.length > 0 && {
        ownerReferences: owners.map((one) => ({ apiVersion: 'v1', kind: 'Any', name: one, uid: one })),
      }),
    },
  }))

const reads: fc.Arbitrary<ViewRead> = fc.oneof(
  fc.record({
    what: fc.constant('object' as const),
    resource: fc.constantFrom(...resources),
    name: fc.record({ name, namespace: fc.option(namespace, { nil: undefined }) }),
  }),
  fc.record({
    what: fc.constant('list' as const),
    resource: fc.constantFrom(...resources),
    namespace: fc.option(namespace, { nil: undefined }),
    labels: fc
      .constantFrom('', 'color=red', 'color=blue,!size', 'color in (red,blue)', 'color!=red', '!color')
      .map(labelSelector),
  }),
  fc.record({ what: fc.constant('owned' as const), resource: fc.constantFrom(...resources), uid }),
  fc.record({ what: fc.constant('kind' as const), resource: fc.constantFrom(...resources) }),
)

const changes: fc.Arbitrary<InputChange> = fc.record({
  resource: fc.constantFrom(...resources),
  before: fc.option(objects, { nil: undefined }),
  after: fc.option(objects, { nil: undefined }),
})

const keys = ['k1', 'k2', 'k3', '__proto__']
const recordings = fc.array(
  fc.record({ key: fc.constantFrom(...keys), reads: fc.option(fc.array(reads, { maxLength: 5 }), { nil: undefined }) }),
  { maxLength: 12 },
)

describe('a dispatch table', () => {
  it('returns exactly the keys whose last reads are affected by the change', () => {
    fc.assert(
      fc.property(recordings, fc.array(changes, { minLength: 1, maxLength: 6 }), (script, all) => {
        const table = createDispatchTable()
        const last = new Map<string, readonly ViewRead[]>()
        for (const { key, reads: given } of script) {
          if (given) {
            table.record(key, given)
            last.set(key, given)
          } else {
            table.forget(key)
            last.delete(key)
          }
        }
        for (const change of all) {
          const expected = [...last]
            .filter(([, given]) => given.some((read) => readConcerns(read, change)))
            .map(([key]) => key)
          expect([...table.concerned(change)].toSorted()).toEqual(expected.toSorted())
        }
        for (const resource of resources) {
          const asked = [...last].filter(([, given]) =>
            given.some((read) => read.what === 'kind' && read.resource === resource),
          )
          expect([...table.askedFor(resource)].toSorted()).toEqual(asked.map(([key]) => key).toSorted())
        }
      }),
      { numRuns: 300 },
    )
  })
})
