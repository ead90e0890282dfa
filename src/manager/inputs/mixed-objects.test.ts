import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asObject } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { coverageOf, noReferences } from '../../operator/view/coverage.ts'
import { labelled } from '../../operator/view/input.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { createProjection } from '../../operator/view/projection.ts'
import { createMixedObjects, type ObjectCopy } from './mixed-objects.ts'

/** All ConfigMaps with one field; the red ones whole. */
const inputs = [fields(ConfigMap, ['data.a']), labelled(ConfigMap, { labels: { color: 'red' } })]
const partly = createProjection(['data.a'])
const name = { name: 'x', namespace: 'default' }

interface State {
  readonly isRed: boolean
  readonly a: string
  readonly b: string
}
const state: fc.Arbitrary<State> = fc.record({
  isRed: fc.boolean(),
  a: fc.constantFrom('1', '2'),
  b: fc.constantFrom('1', '2'),
})
const history = fc.array(fc.option(state, { nil: undefined, freq: 8 }), { minLength: 1, maxLength: 8 })

/** Each version of the object; undefined: deleted. */
function statesOf(given: readonly (State | undefined)[]): readonly (KubeObject | undefined)[] {
  let uid = 0
  return given.map((each, index): KubeObject | undefined => {
    if (!each) {
      uid++
      return undefined
    }
    const labels = each.isRed ? { color: 'red' } : {}
    const metadata = { ...name, uid: String(uid), resourceVersion: String(index + 1), labels }
    return asObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: each.a, b: each.b } })
  })
}

/** A change of nothing but the version is not reported. */
const contentOf = (object: KubeObject | undefined): unknown =>
  object && { ...object, metadata: { ...object.metadata, resourceVersion: '' } }

const isRed = (object: KubeObject | undefined): boolean => object?.metadata.labels?.['color'] === 'red'

describe('an object in two subscriptions, of which either may be ahead', () => {
  it('is always shown with all of its fields, never goes back, and ends as it is', () => {
    fc.assert(
      fc.property(history, fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }), (given, order) => {
        const states = statesOf(given)
        const expected = (object: KubeObject | undefined): KubeObject | undefined =>
          object && (isRed(object) ? object : partly.project(object))
        // How many versions each subscription has delivered.
        const delivered = { all: 0, red: 0 }
        const held = (count: number): KubeObject | undefined => (count === 0 ? undefined : states[count - 1])
        const copies = (): readonly ObjectCopy[] => {
          const all = held(delivered.all)
          const red = held(delivered.red)
          return [
            ...(all ? [{ object: partly.project(all), fields: ['data.a'] }] : []),
            ...(red && isRed(red) ? [{ object: red, fields: undefined }] : []),
          ]
        }
        const mixed = createMixedObjects({
          resource: ConfigMap,
          coverage: coverageOf(inputs),
          references: () => noReferences,
          copies,
        })
        let told: KubeObject | undefined
        let latest = 0
        const rest: ('all' | 'red')[] = [...states.map(() => 'all' as const), ...states.map(() => 'red' as const)]
        const steps = [...order.map((isAll) => (isAll ? 'all' : 'red')), ...rest] as readonly ('all' | 'red')[]
        for (const which of steps) {
          if (delivered[which] === states.length) continue
          delivered[which]++
          const change = mixed.update(name)
          expect(contentOf(change ? change.before : told)).toEqual(contentOf(told))
          told = change ? change.after : told
          const shown = mixed.get(name)
          const version = Number(shown?.metadata.resourceVersion ?? 0)
          expect(shown).toEqual(expected(states[version - 1]))
          expect(shown === undefined || version >= latest).toBe(true)
          latest = version
        }
        const last = expected(states.at(-1))
        expect(mixed.get(name)).toEqual(last)
        expect(contentOf(told)).toEqual(contentOf(last))
      }),
      { numRuns: 1000 },
    )
  })
})
