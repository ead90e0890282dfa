import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import { createHeap } from './priority-queue.ts'
import { defaultGates, type GateOptions } from '../gates/gate-options.ts'
import type { SchedulerLane } from './lane.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'

/** An operator whose runs take as long as the test says. */
interface Played {
  readonly lane: SchedulerLane
  readonly runs: { readonly key: string; readonly at: number }[]
}

function play(
  scheduler: Scheduler,
  clock: VirtualClock,
  name: string,
  gates: Partial<GateOptions> = {},
  takesMs = 0,
  changes = 0,
): Played {
  const runs: { key: string; at: number }[] = []
  const lane: SchedulerLane = scheduler.openLane(name, { ...defaultGates, ...gates })
  lane.serve(async (key) => {
    runs.push({ key, at: clock.now() - start })
    if (changes > 0) lane.spend(changes)
    if (takesMs > 0) await clock.sleep(takesMs)
  })
  const start = clock.now()
  return { lane, runs }
}

const keys = (runs: Played['runs']): readonly string[] => runs.map(({ key }) => key)

describe('a scheduler', () => {
  it('debounces changes, with a maximum delay', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 4 })
    const { lane, runs } = play(scheduler, clock, 'a', { debounce: { quietMs: 50, maxMs: 200 } })
    for (let at = 0; at < 10; at++) {
      lane.add('k')
      await clock.advance(40)
    }
    await clock.advance(1000)
    expect(runs.map(({ at }) => at)).toEqual([200, 400])
  })

  it('keeps the keys of a lane that is not served yet', async () => {
    const clock = virtualClock()
    const lane = createScheduler({ clock, concurrency: 4 }).openLane('a', defaultGates)
    lane.add('k')
    await clock.advance(1000)
    expect(lane.state()).toMatchObject({ waiting: 1, running: 0 })
    const runs: string[] = []
    lane.serve((key) => Promise.resolve(void runs.push(key)))
    await lane.idle()
    expect(runs).toEqual(['k'])
  })

  it('does not delay keys when the clock was set back', async () => {
    const clock = virtualClock()
    let skewMs = 0
    const wrong = { ...clock, now: () => clock.now() + skewMs }
    const scheduler = createScheduler({ clock: wrong, concurrency: 4 })
    const gates = { debounce: { quietMs: 50, maxMs: 200 }, coolDown: { leastMs: 100 } }
    const { lane, runs } = play(scheduler, clock, 'a', gates, 300)
    lane.add('waits')
    lane.add('runs')
    await clock.advance(60)
    // Asked for while it runs, and while another one waits to be quiet.
    lane.add('runs')
    lane.add('late')
    skewMs = -3_600_000
    await clock.advance(1000)
    expect(runs.map(({ key, at }) => `${key} ${at}`)).toEqual(['waits 50', 'runs 50', 'late 160', 'runs 450'])
  })

  it('notifies its observer of queued keys, waiting time and duration, and reports running and held keys', async () => {
    const clock = virtualClock(0)
    const heard: (readonly unknown[])[] = []
    const scheduler = createScheduler({
      clock,
      concurrency: 4,
      observer: {
        added: (...told) => void heard.push(['added', ...told]),
        started: (...told) => void heard.push(['started', ...told]),
        ended: (...told) => void heard.push(['ended', ...told]),
      },
    })
    const { lane } = play(scheduler, clock, 'a', { debounce: { quietMs: 50, maxMs: 200 } }, 30)
    lane.add('k')
    lane.add('k', 'retry')
    await clock.advance(60)
    expect(lane.state()).toMatchObject({ running: 1, concurrency: 8, runs: [{ key: 'k', since: 50 }] })
    await clock.advance(100)
    expect(heard).toEqual([
      ['added', 'a', 'change', true],
      ['added', 'a', 'retry', false],
      ['started', 'a', 50],
      ['ended', 'a', 30],
    ])
    lane.hold('k', 60_000)
    lane.add('k')
    await clock.advance(1000)
    expect(lane.state()).toMatchObject({ waiting: 1, runs: [], heldBy: 'throttle' })
  })

  it('delays a key by its cool-down, while others run', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 4 })
    const { lane, runs } = play(scheduler, clock, 'a', { coolDown: { leastMs: 1000 } }, 10)
    lane.add('k')
    await clock.advance(5)
    lane.add('k')
    await clock.advance(50)
    lane.add('other')
    await clock.advance(5000)
    expect(runs).toEqual([
      { key: 'k', at: 0 },
      { key: 'other', at: 55 },
      { key: 'k', at: 1010 },
    ])
  })

  it('limits an operator to its allowance, including debts', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 1 })
    const { lane, runs } = play(scheduler, clock, 'a', { allowance: { perMinute: 60, burst: 2 } }, 0, 3)
    for (const key of ['a', 'b', 'c']) lane.add(key)
    await clock.advance(10_000)
    // Three changes each, one a second: the first spends two that were saved and borrows one.
    expect(runs.map(({ at }) => at)).toEqual([0, 2000, 5000])
    expect(lane.state().heldBy).toBe('nothing')
  })

  it('gives a slot to the operator with the fewest: ten thousand waiting keys delay another operator by one run', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 1 })
    const flood = play(scheduler, clock, 'flood', {}, 10)
    const calm = play(scheduler, clock, 'calm', {}, 10)
    for (let index = 0; index < 10_000; index++) flood.lane.add(`k${index}`)
    expect(flood.lane.state().waiting).toBe(9999)
    await clock.advance(15)
    calm.lane.add('one')
    await clock.advance(20)
    expect(calm.runs).toEqual([{ key: 'one', at: 20 }])
  })

  it('reserves slots for operators that have none: two that hang delay no other', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 16 })
    const hanging = ['a', 'b'].map((name) => play(scheduler, clock, name, {}, 3_600_000))
    const others = Array.from({ length: 8 }, (_, index) => play(scheduler, clock, `c${index}`, {}, 10))
    for (const { lane } of hanging) for (let key = 0; key < 100; key++) lane.add(`k${key}`)
    await clock.advance(1000)
    expect(hanging.map(({ runs }) => runs.length)).toEqual([8, 4])
    for (const { lane } of others) lane.add('k')
    await clock.advance(20)
    expect(others.map(({ runs }) => runs.map(({ at }) => at))).toEqual(
      [0, 0, 0, 0, 10, 10, 10, 10].map((at) => [1000 + at]),
    )
  })

  it('gives the slot of a long run to others, and no more than its limit to its own operator', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 2, patienceMs: 5000 })
    const hanging = play(scheduler, clock, 'a', { concurrency: 3 }, 3_600_000)
    const other = play(scheduler, clock, 'b', {}, 10)
    for (let key = 0; key < 10; key++) hanging.lane.add(`k${key}`)
    other.lane.add('early')
    await clock.advance(4990)
    expect(other.lane.state().heldBy).toBe('share')
    await clock.advance(20)
    expect(other.runs).toEqual([{ key: 'early', at: 5000 }])
    await clock.advance(20_000)
    expect(hanging.runs.map(({ at }) => at)).toEqual([0, 0, 5000])
    expect(scheduler.running).toBe(3)
    other.lane.add('late')
    await clock.advance(10)
    expect(other.runs.at(-1)).toEqual({ key: 'late', at: 25_010 })
  })

  it('reserves no slot for an operator with long runs, until one of them ends in time', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 4 })
    let takesMs = 30_000
    const begun: number[] = []
    const slow = scheduler.openLane('slow', defaultGates)
    slow.serve(async () => {
      begun.push(clock.now())
      await clock.sleep(takesMs)
    })
    const busy = play(scheduler, clock, 'busy', {}, 4000)
    const start = clock.now()
    slow.add('k')
    await clock.advance(30_000)
    for (let key = 0; key < 6; key++) busy.lane.add(`k${key}`)
    await clock.advance(0)
    takesMs = 10
    slow.add('k')
    await clock.advance(3999)
    // Three runs are in progress, and the fourth is kept, but not for it.
    expect(begun.map((at) => at - start)).toEqual([0])
    await clock.advance(8001)
    expect(begun.map((at) => at - start)).toEqual([0, 34_000])
    for (let key = 0; key < 6; key++) busy.lane.add(`k${key}`)
    await clock.advance(0)
    slow.add('k')
    await clock.advance(0)
    expect(begun.at(-1)! - start).toBe(42_000)
  })

  it('runs changes before retries and resyncs, until those have waited long enough', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 1 })
    const { lane, runs } = play(scheduler, clock, 'a', { priority: { ageMs: 1000 } }, 300)
    lane.add('busy')
    await clock.advance(1)
    lane.add('resync', 'resync')
    for (let index = 0; index < 20; index++) {
      lane.add(`change${index}`)
      await clock.advance(300)
    }
    await clock.advance(10_000)
    const place = keys(runs).indexOf('resync')
    // Two classes of a second each: changes that came within two seconds went first, no others.
    expect(place).toBeGreaterThan(5)
    expect(place).toBeLessThan(9)
  })

  it('lets no resync of one operator delay a change of another by more than the active run', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 1 })
    const resyncing = play(scheduler, clock, 'b', {}, 100)
    const changing = play(scheduler, clock, 'a', {}, 100)
    for (let key = 0; key < 100; key++) resyncing.lane.add(`resync${key}`, 'resync')
    await clock.advance(50)
    // One comes while a resync is under way, and the next while that is: no resync comes between them.
    changing.lane.add('one')
    await clock.advance(100)
    expect(changing.runs).toEqual([{ key: 'one', at: 100 }])
    changing.lane.add('two')
    await clock.advance(100)
    expect(changing.runs.at(-1)).toEqual({ key: 'two', at: 200 })
    await clock.advance(100)
    expect(resyncing.runs.map(({ at }) => at)).toEqual([0, 300])
  })

  it('gives no resync the second slot either, however many runs the operator with the change has', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 2 })
    const changing = play(scheduler, clock, 'a', {}, 1000)
    const resyncing = play(scheduler, clock, 'b', {}, 10)
    changing.lane.add('long')
    for (let key = 0; key < 100; key++) resyncing.lane.add(`resync${key}`, 'resync')
    await clock.advance(15)
    changing.lane.add('change')
    await clock.advance(10)
    expect(changing.runs).toEqual([
      { key: 'long', at: 0 },
      { key: 'change', at: 20 },
    ])
  })

  it('starves no resync, even if another operator changes endlessly', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 1 })
    const gates = { priority: { ageMs: 1000 } }
    const endless = play(scheduler, clock, 'a', gates, 100)
    const resyncing = play(scheduler, clock, 'b', gates, 100)
    endless.lane.add('busy')
    resyncing.lane.add('resync1', 'resync')
    resyncing.lane.add('resync2', 'resync')
    for (let key = 0; key < 40; key++) {
      endless.lane.add(`change${key}`)
      await clock.advance(100)
    }
    // From then on it has its turn like the rest.
    expect(resyncing.runs.map(({ at }) => at)).toEqual([1000, 1200])
    expect(endless.runs.length).toBeGreaterThan(35)
  })

  it('reports the gate that holds a key, whatever other keys wait for, and no lack of slots where there is none', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 4 })
    const { lane } = play(scheduler, clock, 'a', { debounce: { quietMs: 50, maxMs: 200 } }, 300)
    lane.hold('mad', 60_000)
    lane.add('new')
    lane.add('mad')
    expect(lane.state().heldBy).toBe('throttle')
    await clock.advance(60)
    lane.release('mad')
    await clock.advance(300)
    expect(lane.state()).toMatchObject({ waiting: 0, heldBy: 'nothing' })
    lane.add('new')
    await clock.advance(60)
    lane.add('new')
    await clock.advance(60)
    // It waits for its own end.
    expect(lane.state()).toMatchObject({ waiting: 1, running: 1, heldBy: 'concurrency' })
  })

  it('never starts a paused operator, and resumes where it stopped', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 4 })
    const { lane, runs } = play(scheduler, clock, 'a')
    lane.pause()
    lane.add('k')
    await clock.advance(100_000)
    expect(runs).toEqual([])
    expect(lane.state()).toMatchObject({ waiting: 1, heldBy: 'pause' })
    lane.resume()
    await clock.advance(0)
    expect(keys(runs)).toEqual(['k'])
  })

  it('runs a delayed key at its time, once, unless it runs earlier', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 4 })
    const { lane, runs } = play(scheduler, clock, 'a')
    lane.addAfter('k', 500)
    lane.addAfter('k', 900)
    lane.addAfter('early', 500)
    lane.add('early')
    lane.addAfter('gone', 100)
    lane.forget('gone')
    await clock.advance(2000)
    expect(runs).toEqual([
      { key: 'early', at: 0 },
      { key: 'k', at: 500 },
    ])
  })

  it('finishes active runs when an operator is removed, and starts no more', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 1 })
    const { lane, runs } = play(scheduler, clock, 'a', {}, 100)
    lane.add('one')
    lane.add('two')
    lane.addAfter('three', 10)
    await clock.advance(1)
    let hasLeft = false
    const leaving = lane.leave().then(() => (hasLeft = true))
    await clock.advance(50)
    expect(hasLeft).toBe(false)
    await clock.advance(200)
    await leaving
    lane.add('four')
    await clock.advance(1000)
    expect(keys(runs)).toEqual(['one'])
  })

  it('stays paused until the last reason is removed', async () => {
    const clock = virtualClock()
    const { lane, runs } = play(createScheduler({ clock, concurrency: 4 }), clock, 'a')
    lane.pause()
    lane.pause('standby')
    lane.add('k')
    lane.resume()
    await clock.advance(1000)
    expect(runs).toEqual([])
    expect(lane.state()).toMatchObject({ waiting: 1, isPaused: true, heldBy: 'standby' })
    lane.resume('standby')
    await clock.advance(1000)
    expect(keys(runs)).toEqual(['k'])
    // A standby without queued keys is not paused by an administrator.
    lane.pause('standby')
    expect(lane.state()).toMatchObject({ isPaused: true, isStandby: true, heldBy: 'nothing' })
    lane.pause()
    expect(lane.state()).toMatchObject({ isPaused: true, isStandby: false })
  })

  it('applies new gates to waiting keys at once, without resetting the spent allowance', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 4 })
    const slow = { debounce: { quietMs: 60_000, maxMs: 60_000 }, allowance: { perMinute: 1, burst: 2 } }
    const { lane, runs } = play(scheduler, clock, 'a', slow, 0, 2)
    lane.add('first')
    lane.regate({ ...defaultGates, allowance: slow.allowance })
    await clock.advance(0)
    expect(runs).toEqual([{ key: 'first', at: 0 }])
    lane.add('second')
    await clock.advance(1000)
    expect(lane.state().heldBy).toBe('allowance')
    lane.regate({ ...defaultGates, allowance: { perMinute: 60, burst: 2 } })
    await clock.advance(1000)
    expect(keys(runs)).toEqual(['first', 'second'])
  })

  it('uses the last configured concurrency', async () => {
    const clock = virtualClock()
    const scheduler = createScheduler({ clock, concurrency: 1 })
    const { lane, runs } = play(scheduler, clock, 'a', {}, 100)
    for (const key of ['a', 'b', 'c', 'd', 'e']) lane.add(key)
    await clock.advance(0)
    expect(scheduler.running).toBe(1)
    scheduler.resize(3)
    await clock.advance(0)
    expect(scheduler.running).toBe(3)
    scheduler.resize(1)
    await clock.advance(150)
    expect(scheduler.running).toBe(1)
    await clock.advance(1000)
    expect(keys(runs)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('loses no key, runs no key concurrently, and respects both limits, for any sequence of calls', async () => {
    const command = fc.record({
      lane: fc.nat(2),
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      what: fc.constantFrom('change', 'retry', 'resync', 'later'),
      wait: fc.nat(120),
    })
    const gates = fc.record({
      debounce: fc.record({ quietMs: fc.nat(60), maxMs: fc.nat(200) }),
      coolDown: fc.record({ leastMs: fc.nat(100) }),
      concurrency: fc.integer({ min: 1, max: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { maxLength: 40 }),
        fc.array(gates, { minLength: 3, maxLength: 3 }),
        fc.integer({ min: 1, max: 3 }),
        async (commands, options, concurrency) => {
          const clock = virtualClock()
          const scheduler = createScheduler({ clock, concurrency })
          const under = [new Set<string>(), new Set<string>(), new Set<string>()]
          const begun = new Map<string, number>()
          const lanes = options.map((given, index) => {
            const lane = scheduler.openLane(`${index}`, { ...defaultGates, ...given })
            lane.serve(async (key) => {
              expect(under[index]!.has(key)).toBe(false)
              under[index]!.add(key)
              begun.set(`${index}/${key}`, clock.now())
              expect(under[index]!.size).toBeLessThanOrEqual(given.concurrency)
              expect(scheduler.running).toBeLessThanOrEqual(concurrency)
              await clock.sleep(70)
              under[index]!.delete(key)
            })
            return lane
          })
          const asked = new Map<string, number>()
          for (const { lane, key, what, wait } of commands) {
            asked.set(`${lane}/${key}`, clock.now())
            if (what === 'later') lanes[lane]!.addAfter(key, 30)
            else lanes[lane]!.add(key, what)
            await clock.advance(wait)
          }
          await clock.advance(100_000)
          for (const [name, at] of asked) expect(begun.get(name)).toBeGreaterThanOrEqual(at)
          for (const lane of lanes) expect(lane.state()).toMatchObject({ waiting: 0, running: 0, later: 0 })
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('a heap', () => {
  it('returns its items in order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (numbers) => {
        const heap = createHeap<number>((a, b) => a < b)
        for (const number of numbers) heap.push(number)
        const taken = numbers.map(() => heap.pop()!)
        expect(taken).toEqual(numbers.toSorted((a, b) => a - b))
        expect(heap.size()).toBe(0)
      }),
    )
  })
})
