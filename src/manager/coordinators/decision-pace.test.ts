import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DecidedAt, type DecisionPace, noPace, paceAfter } from './decision-pace.ts'

const start = Date.UTC(2026, 0, 1)

/** Follows a coordinator whose inputs do not change, for a while. */
function follow(lastMs: number, decide: (now: number) => Pick<DecidedAt, 'again' | 'hasChanged'>) {
  const times: number[] = []
  const problems: string[] = []
  let pace: DecisionPace = noPace
  for (let now: number | undefined = start; now !== undefined && now <= start + lastMs;) {
    times.push(now)
    const next = paceAfter(pace, { now, ...decide(now), byInput: false })
    pace = next.pace
    if (next.problem !== undefined) problems.push(next.problem)
    now = next.at
  }
  return { times, problems }
}

describe('the pace of a coordinator', () => {
  it('is its own, as long as it asks for times to come', () => {
    const { times, problems } = follow(3_600_000, (now) => ({ again: now + 60_000, hasChanged: true }))
    expect(times).toHaveLength(61)
    expect(problems).toEqual([])
  })

  it('is slowed down if it asks for times that have passed, and reported once', () => {
    const { times, problems } = follow(3_600_000, (now) => ({ again: now - 1, hasChanged: false }))
    expect(times.slice(0, 4).map((at) => at - start)).toEqual([0, 1000, 3000, 7000])
    expect(times.length).toBeLessThan(70)
    expect(problems).toEqual(['asks to be asked again at 2025-12-31T23:59:59.999Z, which has passed'])
  })

  it('is slowed down if decisions flip although no input changes, until one does', () => {
    const flip = (now: number) => ({ again: now + 1, hasChanged: true })
    const { times, problems } = follow(600_000, flip)
    expect(times.length).toBeLessThan(60)
    expect(problems).toEqual(['changed its decisions 40 times in 10 s although no input changed'])
    const slowed = { flips: [], late: 0, isSlowed: true }
    const now = start + 600_000
    expect(paceAfter(slowed, { now, ...flip(now), byInput: false }).at).toBe(now + 60_000)
    expect(paceAfter(slowed, { now, ...flip(now), byInput: true })).toMatchObject({
      pace: { isSlowed: false },
      at: now + 100,
    })
  })

  it('is bounded whatever it asks for', () => {
    const answer = fc.record({
      again: fc.option(fc.integer({ min: -100_000, max: 100_000 }), { nil: undefined }),
      hasChanged: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.infiniteStream(answer), (answers) => {
        const { times } = follow(60_000, (now) => {
          const { again, hasChanged } = answers.next().value as { again: number | undefined; hasChanged: boolean }
          return { again: again === undefined ? undefined : now + again, hasChanged }
        })
        expect(times.length).toBeLessThanOrEqual(601)
        // Never earlier than the least interval.
        const gaps = times.slice(1).map((at, index) => at - times[index]!)
        expect(gaps.filter((gap) => gap < 100)).toEqual([])
      }),
    )
  })
})
