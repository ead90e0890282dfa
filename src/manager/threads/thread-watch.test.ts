import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import type { Clock } from '../../clock/clock.ts'
import { createThreadWatch, type HeldThread, type ThreadWatch } from './thread-watch.ts'

interface Scene {
  readonly clock: VirtualClock
  readonly watch: ThreadWatch
  readonly held: HeldThread[]
  /** Time passes without a turn of the event loop. */
  readonly block: (ms: number) => void
  /** That have not fired, and were not cancelled. */
  readonly timers: Set<object>
}

function open(): Scene {
  const clock = virtualClock()
  const held: HeldThread[] = []
  let late = 0
  const timers = new Set<object>()
  const after: Clock['after'] = (ms, fire) => {
    const timer = clock.after(ms, () => {
      timers.delete(timer)
      fire()
    })
    timers.add(timer)
    return {
      cancel() {
        timers.delete(timer)
        timer.cancel()
      },
    }
  }
  const watched: Clock = { ...clock, after, now: () => clock.now() + late }
  const watch = createThreadWatch({ clock: watched, heldMs: 1000, onHeld: (each) => void held.push(each) })
  return { clock, watch, held, timers, block: (ms) => void (late += ms) }
}

const place = (operator: string): { operator: string; controller: string; key: string } => ({
  operator,
  controller: 'c',
  key: 'default/a',
})

describe('a thread', () => {
  it('that is blocked is reported, with operator, controller, object, step and duration', () => {
    const { watch, held, block } = open()
    const marks = watch.enter(place('greedy'))
    marks.at('CRChecker')
    marks.at('Mutator')
    block(3000)
    marks.outside()
    marks.leave()
    expect(held).toEqual([{ ms: 3000, by: [{ place: place('greedy'), step: 'Mutator' }] }])
  })

  it('that is blocked by code after an await is reported with all runs that were awaiting', async () => {
    const { clock, watch, held, block } = open()
    const [one, two, three] = ['one', 'two', 'three'].map((name) => watch.enter(place(name)))
    for (const marks of [one!, two!, three!]) marks.at('Step')
    one!.away()
    two!.away()
    three!.outside()
    await clock.advance(5000)
    block(1500)
    await clock.advance(250)
    expect(held).toMatchObject([{ by: [{ place: { operator: 'one' } }, { place: { operator: 'two' } }] }])
    expect(held[0]!.ms).toBeGreaterThanOrEqual(1500)
  })

  it('without runs is not blocked, however long; nor is one whose runs all wait', async () => {
    const { clock, watch, held } = open()
    const first = watch.enter(place('a'))
    first.leave()
    await clock.advance(3600_000)
    const second = watch.enter(place('a'))
    second.at('Step')
    second.away()
    await clock.advance(3600_000)
    second.back()
    second.leave()
    await clock.advance(3600_000)
    expect(held).toEqual([])
  })

  it('is never attributed to a run that did not hold it: each is reported with exactly its own time', async () => {
    const deed = fc.record({ who: fc.nat(2), ms: fc.nat(4000), wait: fc.nat(2000) })
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { maxLength: 20 }), async (deeds) => {
        const { clock, watch, held, block } = open()
        const all = ['0', '1', '2'].map((name) => watch.enter(place(name)))
        for (const { who, ms, wait } of deeds) {
          all[who]!.at('Step')
          block(ms)
          all[who]!.outside()
          await clock.advance(wait)
        }
        const expected = deeds.filter(({ ms }) => ms >= 1000).map(({ who, ms }) => [String(who), ms])
        expect(held.map(({ ms, by }) => [by[0]?.place.operator, ms])).toEqual(expected)
      }),
    )
  })

  it('has one timer while anything runs, and none otherwise', async () => {
    const { clock, watch, timers } = open()
    const all = ['one', 'two'].map((name) => watch.enter(place(name)))
    await clock.advance(1000)
    expect(timers.size).toBe(1)
    for (const marks of all) marks.leave()
    expect(timers.size).toBe(0)
  })
})
