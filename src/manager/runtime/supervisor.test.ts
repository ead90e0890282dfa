import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

/** What is wanted: a version that needs a new start, and a setting that does not. */
interface Desired {
  readonly version: number
  readonly setting: number
}

interface Played {
  readonly clock: VirtualClock
  readonly supervisor: Supervisor<Desired>
  readonly active: Map<string, Desired>
  readonly problems: string[]
  readonly starts: string[]
  /** Whose starts fail. */
  readonly broken: Set<string>
}

function play(takesMs = 0): Played {
  const clock = virtualClock()
  const active = new Map<string, Desired>()
  const problems: string[] = []
  const starts: string[] = []
  const broken = new Set<string>()
  const supervisor = createSupervisor<Desired, { name: string; desired: Desired }>({
    clock,
    async start(name, desired, signal) {
      starts.push(`${name}${desired.version}`)
      if (takesMs > 0) await clock.sleep(takesMs, signal)
      if (broken.has(name)) throw new Error(`${name} is broken`)
      expect(active.has(name)).toBe(false)
      active.set(name, desired)
      return { name, desired }
    },
    async end(name) {
      if (takesMs > 0) await clock.sleep(takesMs)
      active.delete(name)
    },
    isSame: (before, after) => before.version === after.version,
    adjust(name, running, after) {
      if (broken.has(name)) throw new Error(`${name} cannot be changed`)
      expect(running.desired.version).toEqual(after.version)
      running.desired = after
      active.set(running.name, after)
    },
    onProblem: (name, error, retryMs) => void problems.push(`${name} ${(error as Error).message} ${retryMs}`),
  })
  return { clock, supervisor, active, problems, starts, broken }
}

const desired = (version: number, setting = 0): Desired => ({ version, setting })

describe('a supervisor', () => {
  it('starts new names, ends removed ones, and adjusts what can change without a restart', async () => {
    const { clock, supervisor, active, starts } = play()
    await supervisor.setDesired(
      new Map([
        ['a', desired(1)],
        ['b', desired(1)],
      ]),
    )
    await clock.advance(0)
    expect([...active]).toEqual([
      ['a', desired(1)],
      ['b', desired(1)],
    ])
    await supervisor.setDesired(
      new Map([
        ['a', desired(1, 5)],
        ['c', desired(1)],
      ]),
    )
    await clock.advance(0)
    expect(Object.fromEntries(active)).toEqual({ a: desired(1, 5), c: desired(1) })
    expect(starts).toEqual(['a1', 'b1', 'c1'])
  })

  it('retries failed starts later, without delaying other names', async () => {
    const { clock, supervisor, active, problems, broken } = play()
    broken.add('bad')
    await supervisor.setDesired(
      new Map([
        ['bad', desired(1)],
        ['good', desired(1)],
      ]),
    )
    await clock.advance(3500)
    expect([...active.keys()]).toEqual(['good'])
    expect(problems).toEqual(['bad bad is broken 1000', 'bad bad is broken 2000', 'bad bad is broken 4000'])
    expect(supervisor.states.get('bad')).toBe('failed')
    broken.clear()
    await clock.advance(4000)
    expect(new Set(active.keys())).toEqual(new Set(['good', 'bad']))
  })

  it('does not wait for the next retry when the desired state changes', async () => {
    const { clock, supervisor, active, broken } = play()
    broken.add('a')
    await supervisor.setDesired(new Map([['a', desired(1)]]))
    await clock.advance(0)
    broken.clear()
    await supervisor.setDesired(new Map([['a', desired(2)]]))
    await clock.advance(0)
    expect(active.get('a')).toEqual(desired(2))
  })

  it('cancels a start that is no longer desired', async () => {
    const { clock, supervisor, active, problems } = play(60_000)
    await supervisor.setDesired(new Map([['a', desired(1)]]))
    await clock.advance(10)
    const gone = supervisor.setDesired(new Map())
    await clock.advance(10)
    await gone
    expect([...active, ...problems]).toEqual([])
    expect([...supervisor.states]).toEqual([])
  })

  it('finishes a start that is still desired, and adjusts it afterwards', async () => {
    const { clock, supervisor, active, starts } = play(100)
    await supervisor.setDesired(new Map([['a', desired(1)]]))
    await clock.advance(60)
    await supervisor.setDesired(new Map([['a', desired(1, 7)]]))
    await clock.advance(60)
    expect([starts, active.get('a')]).toEqual([['a1'], desired(1, 7)])
  })

  it('starts a cancelled name again when the same state is desired again', async () => {
    const { clock, supervisor, active } = play(100)
    const wanted = new Map([['a', desired(1)]])
    await supervisor.setDesired(wanted)
    await clock.advance(10)
    void supervisor.setDesired(new Map())
    void supervisor.setDesired(wanted)
    await clock.advance(1000)
    expect(active.get('a')).toEqual(desired(1))
  })

  it('continues after a failed adjustment', async () => {
    const { clock, supervisor, active, problems, broken } = play()
    await supervisor.setDesired(new Map([['a', desired(1)]]))
    await clock.advance(0)
    broken.add('a')
    await supervisor.setDesired(new Map([['a', desired(1, 1)]]))
    await clock.advance(0)
    expect(problems).toEqual(['a a cannot be changed undefined'])
    broken.clear()
    await supervisor.setDesired(new Map([['a', desired(1, 2)]]))
    await clock.advance(0)
    expect(active.get('a')).toEqual(desired(1, 2))
  })

  it('starts nothing after it was stopped, not even failed names', async () => {
    const { clock, supervisor, starts, broken } = play()
    broken.add('a')
    await supervisor.setDesired(new Map([['a', desired(1)]]))
    await clock.advance(0)
    await supervisor.stop()
    await supervisor.setDesired(new Map([['b', desired(1)]]))
    await clock.advance(100_000)
    expect(starts).toEqual(['a1'])
  })

  it('converges to the last desired state, and never runs a name twice', async () => {
    const wishes = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.record({ version: fc.nat(2), setting: fc.nat(2) }))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(wishes, fc.nat(30), fc.boolean())), fc.nat(20), async (list, takesMs) => {
        const { clock, supervisor, active, broken } = play(takesMs)
        for (const [wanted, waitMs, isBroken] of list) {
          // Who stands can be changed here; that it can fail is another law.
          if (isBroken && !active.has('b')) broken.add('b')
          else broken.delete('b')
          void supervisor.setDesired(new Map(Object.entries(wanted)))
          await clock.advance(waitMs)
        }
        broken.clear()
        await clock.advance(200_000)
        expect(Object.fromEntries(active)).toEqual({ ...list.at(-1)?.[0] })
        const stopped = supervisor.stop()
        await clock.advance(1000)
        await stopped
        expect(active.size).toBe(0)
      }),
      { numRuns: 200 },
    )
  })
})
