/**
 * Every pair of gates. A gate is closed for a key, or for its whole operator, and opens by time or by a call. With two gates
 * closed it does not matter which one opens first: the key runs when both are open and not before, and the reported gate
 * is the earlier one in the documented order.
 */
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import type { SchedulerLane } from '../schedule/lane.ts'
import { createScheduler, type Scheduler } from '../schedule/scheduler.ts'
import { defaultGates, type GateOptions, openGates } from './gate-options.ts'
import { type Gate, gateOrder } from './order.ts'

interface Scene {
  readonly clock: VirtualClock
  readonly scheduler: Scheduler
  readonly lane: SchedulerLane
  /** Keys, as they began to run. */
  readonly runs: string[]
  /** Ends the run of a key that lasts: they say so. */
  readonly end: (key: string) => Promise<void>
  /** Another operator, whose runs last. */
  readonly other: (name: string) => SchedulerLane
  readonly endOthers: () => Promise<void>
}

interface Closing {
  /** Where there are several ways for a gate to be closed. @default the gate */
  readonly name?: string
  readonly heldBy: Gate
  /** It holds one key, and no other of its operator. */
  readonly isAboutKey: boolean
  /** What has to be so before it is closed. */
  readonly before?: (scene: Scene) => Promise<void>
  /** Closes it until `ms` have passed, or until it is opened. */
  readonly close: (scene: Scene, ms: number) => void
  /** With so many runs of its operator under way. */
  readonly gates?: (ms: number, running: number) => Partial<GateOptions>
  /** Absent: time does it. */
  readonly open?: (scene: Scene) => Promise<void>
}

const byWord = (why: 'pause' | 'standby' | 'budget'): Closing => ({
  heldBy: why,
  isAboutKey: false,
  close: ({ lane }) => lane.pause(why),
  open: async ({ lane, clock }) => {
    lane.resume(why)
    await clock.advance(0)
  },
})

/** In the written order. */
const gates: readonly Closing[] = [
  byWord('pause'),
  byWord('standby'),
  byWord('budget'),
  { heldBy: 'throttle', isAboutKey: true, close: ({ lane }, ms) => lane.hold('k', ms) },
  {
    heldBy: 'coolDown',
    isAboutKey: true,
    before: async ({ lane, clock }) => {
      lane.add('k')
      await clock.advance(0)
    },
    close: () => undefined,
    gates: (leastMs) => ({ coolDown: { leastMs } }),
  },
  {
    heldBy: 'debounce',
    isAboutKey: true,
    close: () => undefined,
    gates: (quietMs) => ({ debounce: { quietMs, maxMs: 60_000 } }),
  },
  {
    heldBy: 'allowance',
    isAboutKey: false,
    // One change is earned in that time, and there is none left but for what runs already.
    close: ({ lane }) => lane.spend(100 - lane.state().running),
    gates: (ms) => ({ allowance: { perMinute: 60_000 / ms, burst: 100 } }),
  },
  {
    heldBy: 'concurrency',
    isAboutKey: false,
    before: async ({ lane, clock }) => {
      lane.add('lasting')
      await clock.advance(0)
    },
    close: () => undefined,
    // As many as there are already.
    gates: (_, running) => ({ concurrency: running }),
    open: async ({ end }) => await end('lasting'),
  },
  {
    name: 'global concurrency',
    heldBy: 'share',
    isAboutKey: false,
    close: ({ scheduler }) => scheduler.resize(0),
    open: async ({ scheduler, clock }) => {
      scheduler.resize(8)
      await clock.advance(0)
    },
  },
  {
    name: 'share',
    heldBy: 'share',
    isAboutKey: false,
    // Two places are kept for those that have none, and this operator has one: what is left is not for it, even if
    // another of its runs ends.
    before: async ({ scheduler, lane, other, clock }) => {
      lane.add('lasting of its own')
      const [many, newcomer] = [other('b'), other('c')]
      for (let taken = scheduler.running; taken < 6; taken++) many.add(`lasting ${taken}`)
      newcomer.add('lasting')
      await clock.advance(0)
      expect(scheduler.running).toBe(7)
    },
    close: () => undefined,
    open: async ({ endOthers }) => await endOthers(),
  },
]

const firstMs = 1000
const secondMs = 3000

/** Closed are `sooner`, by time until `firstMs`, and `later`, until `secondMs`; then the key is asked for. */
async function closed(sooner: Closing, later?: Closing): Promise<Scene> {
  const clock = virtualClock()
  const scheduler = createScheduler({ clock, concurrency: 8 })
  const runs: string[] = []
  const ends = new Map<string, () => void>()
  const theirs = new Set<() => void>()
  const wanted = (running: number): Partial<GateOptions> => ({
    ...later?.gates?.(secondMs, running),
    ...sooner.gates?.(firstMs, running),
  })
  const given = { ...openGates, ...wanted(0), debounce: defaultGates.debounce, concurrency: 8 }
  const lane: SchedulerLane = scheduler.openLane('a', given)
  lane.serve(async (key) => {
    runs.push(key)
    if (!key.startsWith('lasting')) return
    await new Promise<void>((resolve) => void ends.set(key, resolve))
    // It was counted as a change while it ran, and makes one.
    lane.spend(1)
  })
  const scene: Scene = {
    clock,
    scheduler,
    lane,
    runs,
    async end(key) {
      ends.get(key)?.()
      await clock.advance(0)
    },
    other(name) {
      const other = scheduler.openLane(name, openGates)
      other.serve(() => new Promise((resolve) => void theirs.add(resolve)))
      return other
    },
    async endOthers() {
      for (const end of theirs) end()
      await clock.advance(0)
    },
  }
  // In the written order: places are what is decided last.
  for (const gate of gates) if (gate === sooner || gate === later) await gate.before?.(scene)
  runs.length = 0
  lane.regate({ ...openGates, ...wanted(lane.state().running) })
  sooner.close(scene, firstMs)
  later?.close(scene, secondMs)
  lane.add('k')
  await clock.advance(0)
  return scene
}

/** Gates that time opens open at their time; the others by a word. */
async function open(gate: Closing, scene: Scene, ms: number): Promise<void> {
  if (gate.open) await gate.open(scene)
  else await scene.clock.advance(ms)
}

const nameOf = ({ name, heldBy }: Closing): string => name ?? heldBy

const pairs = gates.flatMap((one, index) =>
  gates.slice(index + 1).map((other) => [nameOf(one), nameOf(other), one, other] as const),
)

describe('two gates', () => {
  it.each(pairs)(
    '%s and %s must both be open, whichever opens first; the first of them is reported',
    async (...pair) => {
      const [, , earlier, later] = pair
      for (const [sooner, other] of [
        [earlier, later],
        [later, earlier],
      ] as const) {
        const scene = await closed(sooner, other)
        expect(scene.runs).toEqual([])
        expect(scene.lane.state().heldBy).toBe(earlier.heldBy)
        await open(sooner, scene, firstMs)
        expect(scene.runs).toEqual([])
        expect(scene.lane.state().heldBy).toBe(other.heldBy)
        await open(other, scene, secondMs - firstMs)
        await scene.clock.advance(secondMs)
        expect(scene.runs).toEqual(['k'])
        expect(scene.lane.state().heldBy).toBe('nothing')
      }
    },
  )

  it.each(gates.map((gate) => [nameOf(gate), gate] as const))(
    '%s and priority: urgency decides among the keys that may run, and no others',
    async (_name, gate) => {
      const scene = await closed(gate)
      scene.lane.add('resync', 'resync')
      await scene.clock.advance(0)
      // Debounce holds every key in its turn; the others that are about a key hold that one.
      const isFree = gate.isAboutKey && gate.heldBy !== 'debounce'
      expect(scene.runs).toEqual(isFree ? ['resync'] : [])
      await open(gate, scene, firstMs)
      await scene.clock.advance(secondMs)
      expect(scene.runs).toEqual(isFree ? ['resync', 'k'] : ['k', 'resync'])
    },
  )
})

describe('the order of the gates', () => {
  const text = (file: string): Promise<string> => readFile(new URL(file, import.meta.url), 'utf8')

  it('is that of the pairs above, and complete', () => {
    expect([...new Set(gates.map(({ heldBy }) => heldBy))]).toEqual(gateOrder)
  })

  it('is documented as implemented', async () => {
    const rows = [...(await text('README.md')).matchAll(/^\| (\w+) /gm)].map(([, name]) => name)
    expect(rows).toEqual(['gate', ...gateOrder, 'priority', 'file'])
    const told = /`muster_lane_held` names one gate: .*? in the order (.*?)\. \[/s.exec(
      await text('../../../docs/running.md'),
    )
    const names = told?.[1]!.replaceAll(/\s*\([^)]*\)/g, '').split(/,\s+/)
    expect(names).toEqual(gateOrder)
  })
})
