import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Fault, type FaultKind, faultTable, formatPlan, parsePlan } from './fault.ts'

const faults: fc.Arbitrary<Fault> = fc
  .record({
    kind: fc.constantFrom(...(Object.keys(faultTable) as FaultKind[])),
    at: fc.oneof(fc.integer({ min: 1, max: 999 }), fc.constant('rest' as const)),
    value: fc.option(fc.stringMatching(/^[a-z0-9./-]{1,12}( [a-z/]{1,9})?$/), { nil: undefined }),
  })
  .map(({ kind, at, value }) => (value === undefined ? { kind, at } : { kind, at, value }))

describe('a plan', () => {
  it('round-trips as text', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('create', 'delete and create again'),
        fc.array(faults, { maxLength: 4 }),
        (scenario, list) => {
          const plan = { scenario, faults: list }
          expect(parsePlan(formatPlan(plan))).toEqual(plan)
        },
      ),
    )
  })

  it('explains what is invalid', () => {
    expect(() => parsePlan('create: crsh@1')).toThrow('Did you mean "crash"?')
    expect(() => parsePlan('create: crash')).toThrow('"crash" is no fault')
    expect(() => parsePlan('  ')).toThrow('names no scenario')
  })
})
