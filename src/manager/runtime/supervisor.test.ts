import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

/** What is wanted: a version that needs a new start, and a setting that does not. */
interface Wish {
  readonly version: number
  readonly setting: number
}

interface Played {
  readonly clock: VirtualClock
  readonly roster: Supervisor<Wish>
  readonly standing: Map<string, Wish>
  readonly problems: string[]
  readonly starts: string[]
  /** Whose starts fail. */
  readonly broken: Set<string>
}

function play(takesMs = 0): Played {
  const clock = virtualClock()
  const standing = new Map<string, Wish>()
  const problems: string[] = []
  const starts: string[] = []
  const broken = new Set<string>()
  const roster = createSupervisor<Wish, { name: string; wish: Wish }>({
    clock,
    async start(name, wish, signal) {
      starts.push(`${name}${wish.version}`)
      if (takesMs > 0) await clock.sleep(takesMs, signal)
      if (broken.has(name)) throw new Error(`${name} is broken`)
      expect(standing.has(name)).toBe(false)
      standing.set(name, wish)
      return { name, wish }
    },
    async end(name) {
      if (takesMs > 0) await clock.sleep(takesMs)
      standing.delete(name)
    },
    isSame: (before, after) => before.version === after.version,
    adjust(name, stands, after) {
      if (broken.has(name)) throw new Error(`${name} cannot be changed`)
      expect(stands.wish.version).toEqual(after.version)
      stands.wish = after
      standing.set(stands.name, after)
    },
    onProblem: (name, error, retryMs) => void problems.push(`${name} ${(error as Error).message} ${retryMs}`),
  })
  return { clock, roster, standing, problems, starts, broken }
}

const wish = (version: number, setting = 0): Wish => ({ version, setting })

describe('a roster', () => {
  it('starts what is new, ends what is gone, and changes what can be changed while it stands', async () => {
    const { clock, roster, standing, starts } = play()
    await roster.want(
      new Map([
        ['a', wish(1)],
        ['b', wish(1)],
      ]),
    )
    await clock.advance(0)
    expect([...standing]).toEqual([
      ['a', wish(1)],
      ['b', wish(1)],
    ])
    await roster.want(
      new Map([
        ['a', wish(1, 5)],
        ['c', wish(1)],
      ]),
    )
    await clock.advance(0)
    expect(Object.fromEntries(standing)).toEqual({ a: wish(1, 5), c: wish(1) })
    expect(starts).toEqual(['a1', 'b1', 'c1'])
  })

  it('tries again later what cannot be started, and keeps nobody waiting', async () => {
    const { clock, roster, standing, problems, broken } = play()
    broken.add('bad')
    await roster.want(
      new Map([
        ['bad', wish(1)],
        ['good', wish(1)],
      ]),
    )
    await clock.advance(3500)
    expect([...standing.keys()]).toEqual(['good'])
    expect(problems).toEqual(['bad bad is broken 1000', 'bad bad is broken 2000', 'bad bad is broken 4000'])
    expect(roster.stands.get('bad')).toBe('failed')
    broken.clear()
    await clock.advance(4000)
    expect(new Set(standing.keys())).toEqual(new Set(['good', 'bad']))
  })

  it('does not wait for its next try when something else is wanted', async () => {
    const { clock, roster, standing, broken } = play()
    broken.add('a')
    await roster.want(new Map([['a', wish(1)]]))
    await clock.advance(0)
    broken.clear()
    await roster.want(new Map([['a', wish(2)]]))
    await clock.advance(0)
    expect(standing.get('a')).toEqual(wish(2))
  })

  it('gives up a start that nobody wants any more', async () => {
    const { clock, roster, standing, problems } = play(60_000)
    await roster.want(new Map([['a', wish(1)]]))
    await clock.advance(10)
    const gone = roster.want(new Map())
    await clock.advance(10)
    await gone
    expect([...standing, ...problems]).toEqual([])
    expect([...roster.stands]).toEqual([])
  })

  it('lets a start come to its end that is still wanted, and changes it then', async () => {
    const { clock, roster, standing, starts } = play(100)
    await roster.want(new Map([['a', wish(1)]]))
    await clock.advance(60)
    await roster.want(new Map([['a', wish(1, 7)]]))
    await clock.advance(60)
    expect([starts, standing.get('a')]).toEqual([['a1'], wish(1, 7)])
  })

  it('starts what was given up once it is wanted again, the very same', async () => {
    const { clock, roster, standing } = play(100)
    const wanted = new Map([['a', wish(1)]])
    await roster.want(wanted)
    await clock.advance(10)
    void roster.want(new Map())
    void roster.want(wanted)
    await clock.advance(1000)
    expect(standing.get('a')).toEqual(wish(1))
  })

  it('goes on where a change fails', async () => {
    const { clock, roster, standing, problems, broken } = play()
    await roster.want(new Map([['a', wish(1)]]))
    await clock.advance(0)
    broken.add('a')
    await roster.want(new Map([['a', wish(1, 1)]]))
    await clock.advance(0)
    expect(problems).toEqual(['a a cannot be changed undefined'])
    broken.clear()
    await roster.want(new Map([['a', wish(1, 2)]]))
    await clock.advance(0)
    expect(standing.get('a')).toEqual(wish(1, 2))
  })

  it('starts nothing once it was stopped, not even what failed before', async () => {
    const { clock, roster, starts, broken } = play()
    broken.add('a')
    await roster.want(new Map([['a', wish(1)]]))
    await clock.advance(0)
    await roster.stop()
    await roster.want(new Map([['b', wish(1)]]))
    await clock.advance(100_000)
    expect(starts).toEqual(['a1'])
  })

  it('ends as it was last wanted, however often that changes, and never has two of a name', async () => {
    const wishes = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.record({ version: fc.nat(2), setting: fc.nat(2) }))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(wishes, fc.nat(30), fc.boolean())), fc.nat(20), async (list, takesMs) => {
        const { clock, roster, standing, broken } = play(takesMs)
        for (const [wanted, waitMs, isBroken] of list) {
          // Who stands can be changed here; that it can fail is another law.
          if (isBroken && !standing.has('b')) broken.add('b')
          else broken.delete('b')
          void roster.want(new Map(Object.entries(wanted)))
          await clock.advance(waitMs)
        }
        broken.clear()
        await clock.advance(200_000)
        expect(Object.fromEntries(standing)).toEqual({ ...list.at(-1)?.[0] })
        const stopped = roster.stop()
        await clock.advance(1000)
        await stopped
        expect(standing.size).toBe(0)
      }),
      { numRuns: 200 },
    )
  })
})
