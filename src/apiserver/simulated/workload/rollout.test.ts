import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { proportions, type SetSize, shiftOf } from './rollout.ts'

const setSize = (): fc.Arbitrary<SetSize> =>
  fc
    .integer({ min: 0, max: 20 })
    .chain((spec) => fc.integer({ min: 0, max: spec }).map((available) => ({ spec, available })))

describe('a step of a rolling update', () => {
  const situation = fc.record({
    desired: fc.integer({ min: 0, max: 20 }),
    surge: fc.integer({ min: 0, max: 5 }),
    unavailable: fc.integer({ min: 0, max: 5 }),
    present: setSize(),
    old: fc.array(setSize(), { maxLength: 4 }),
  })
  const total = (sets: readonly number[]): number => sets.reduce((sum, one) => sum + one, 0)

  it('never exceeds desired plus surge', () => {
    fc.assert(
      fc.property(situation, ({ present, old, ...sizes }) => {
        const shift = shiftOf(sizes, present, old)
        const before = present.spec + total(old.map(({ spec }) => spec))
        const most = shift.present > present.spec ? sizes.desired + sizes.surge : Infinity
        expect(before - present.spec + shift.present).toBeLessThanOrEqual(most)
      }),
    )
  })

  it('never makes fewer available than desired minus unavailable', () => {
    fc.assert(
      fc.property(situation, ({ present, old, ...sizes }) => {
        const { old: next } = shiftOf(sizes, present, old)
        const before = present.available + total(old.map(({ available }) => available))
        // The least useful go first: what is left of a set is available as far as it was.
        const after = present.available + total(old.map(({ available }, index) => Math.min(available, next[index]!)))
        expect(after).toBeGreaterThanOrEqual(Math.min(before, sizes.desired - sizes.unavailable))
      }),
    )
  })

  it('never removes old pods, even unavailable ones, that new ones do not replace', () => {
    fc.assert(
      fc.property(situation, ({ present, old, ...sizes }) => {
        const { old: next } = shiftOf(sizes, present, old)
        const before = present.available + total(old.map(({ spec }) => spec))
        const after = present.available + total(next)
        expect(after).toBeGreaterThanOrEqual(Math.min(before, sizes.desired - sizes.unavailable))
      }),
    )
  })

  it('completes when every pod becomes available', () => {
    fc.assert(
      fc.property(situation, ({ present, old, ...sizes }) => {
        fc.pre(sizes.surge + sizes.unavailable > 0)
        let [now, rest] = [present, old]
        for (let step = 0; step < 200; step++) {
          const shift = shiftOf(sizes, now, rest)
          now = { spec: shift.present, available: shift.present }
          rest = shift.old.map((spec) => ({ spec, available: spec }))
        }
        expect([now.spec, ...rest.map(({ spec }) => spec)]).toEqual([sizes.desired, ...rest.map(() => 0)])
      }),
    )
  })
})

describe('scaling during a rollout', () => {
  it('distributes exactly the allowed replicas, and none negative', () => {
    const replicas = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(replicas, fc.nat(20), fc.integer({ min: 0, max: 150 }), (all, spare, allowed) => {
        const maximum = all.reduce((sum, one) => sum + one, 0) + spare
        const named = all.map((one, index) => ({
          replicas: one,
          maximum,
          name: `set-${index}`,
          created: `2026-01-0${index + 1}`,
        }))
        const sizes = [...proportions(named, allowed).values()]
        expect(Math.min(...sizes)).toBeGreaterThanOrEqual(0)
        expect(sizes.reduce((sum, one) => sum + one, 0)).toBe(allowed)
      }),
    )
  })
})
