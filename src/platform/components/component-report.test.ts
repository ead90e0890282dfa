/** The conditions of components: one type for each name. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { conditionType } from './component-report.ts'

it.each([
  ['queue', 'QueueReady'],
  ['model-serving', 'ModelServingReady'],
  ['queue1', 'Queue1Ready'],
  ['queue-1', 'Queue-1Ready'],
])('%s has the condition %s', (name, type) => expect(conditionType(name)).toBe(type))

it('no two components have conditions of one type', () => {
  const name = fc.stringMatching(/^[ab]([-ab1]{0,5}[ab1])?$/)
  fc.assert(
    fc.property(name, name, (one, other) => (conditionType(one) === conditionType(other)) === (one === other)),
    { numRuns: 1000 },
  )
})
