import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecisionReaders } from './decision-readers.ts'

const reader = fc.constantFrom('a', 'b', 'c')
const decision = fc.tuple(fc.constantFrom('queue', 'scaler'), fc.constantFrom('1', '2', '3'))

describe('the readers of decisions', () => {
  it('are those whose last reconcile read it, as a plain list would have them, and nothing is left of others', () => {
    const act = fc.oneof(
      fc.record({ what: fc.constant('run' as const), reader, reads: fc.array(decision, { maxLength: 4 }) }),
      fc.record({ what: fc.constant('forget' as const), reader, reads: fc.constant([]) }),
    )
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
        const index = new DecisionReaders()
        const model = new Map<string, readonly (readonly [string, string])[]>()
        for (const { what, reader: who, reads } of acts) {
          for (const [coordinator, key] of reads) index.add(who, coordinator, key)
          // Reads of the last reconcile count until this one has ended.
          for (const [coordinator, key] of [...reads, ...(what === 'run' ? (model.get(who) ?? []) : [])]) {
            expect(index.of(coordinator, [key])).toContain(who)
          }
          index.keepOnly(who, reads)
          model.set(who, reads)
          for (const coordinator of ['queue', 'scaler']) {
            for (const key of ['1', '2', '3']) {
              const expected = [...model].filter(([, all]) => all.some(([c, k]) => c === coordinator && k === key))
              expect([...index.of(coordinator, [key])].toSorted()).toEqual(expected.map(([one]) => one).toSorted())
            }
          }
        }
        for (const who of model.keys()) index.keepOnly(who, [])
        expect(index.size).toBe(0)
      }),
    )
  })
})
