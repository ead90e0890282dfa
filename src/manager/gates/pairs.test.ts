/**
 * Every pair of gates. A gate is closed for a key, or for its whole operator, and opens by time or by a word; with two of
 * them closed it must not matter which one opens first: the key runs when both are open and not before, and what is told
 * to hold it is the earlier one in the written order.
 */
import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import {
  createScheduler,
  defaultGates,
  type GateOptions,
  type Lane,
  type LaneState,
  openGates,
  type Scheduler,
} from '../scheduler.ts'

interface Scene {
  readonly clock: VirtualClock
  readonly scheduler: Scheduler
  readonly lane: Lane
  /** Keys, as they began to run. */
  readonly runs: string[]
  /** Ends the run of a key that was told to last. */
  readonly end: (key: string) => Promise<void>
}

type HeldBy = LaneState['heldBy']

interface Gate {
  readonly heldBy: HeldBy
  /** It holds one key, and no other of its operator. */
  readonly isAboutKey: boolean
  /** What has to be so before it is closed. */
  readonly before?: (scene: Scene) => Promise<void>
  /** Closes it until `ms` have passed, or until it is opened. */
  readonly close: (scene: Scene, ms: number) => void
  readonly gates?: (ms: number) => Partial<GateOptions>
  /** Absent: time does it. */
  readonly open?: (scene: Scene) => Promise<void>
}

const byWord = (why: 'pause' | 'standby' | 'budget'): Gate => ({
  heldBy: why,
  isAboutKey: false,
  close: ({ lane }) => lane.pause(why),
  open: async ({ lane, clock }) => {
    lane.resume(why)
    await clock.advance(0)
  },
})

/** In the written order. */
const gates: readonly Gate[] = [
  byWord('pause'),
  byWord('standby'),
  byWord('budget'),
  { heldBy: 'crawl', isAboutKey: true, close: ({ lane }, ms) => lane.hold('k', ms) },
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
    close: ({ lane }) => lane.spend(100 - lane.state.running),
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
    gates: () => ({ concurrency: 1 }),
    open: async ({ end }) => await end('lasting'),
  },
  {
    heldBy: 'share',
    isAboutKey: false,
    close: ({ scheduler }) => scheduler.resize(0),
    open: async ({ scheduler, clock }) => {
      scheduler.resize(8)
      await clock.advance(0)
    },
  },
]

const firstMs = 1000
const secondMs = 3000

/** Closed are `sooner`, by time until `firstMs`, and `later`, until `secondMs`; then the key is asked for. */
async function closed(sooner: Gate, later?: Gate): Promise<Scene> {
  const clock = virtualClock()
  const scheduler = createScheduler({ clock, concurrency: 8 })
  const runs: string[] = []
  const ends = new Map<string, () => void>()
  const wanted: Partial<GateOptions> = { ...later?.gates?.(secondMs), ...sooner.gates?.(firstMs) }
  const lane: Lane = scheduler.join(
    'a',
    { ...openGates, ...wanted, debounce: defaultGates.debounce, concurrency: 8 },
    async (key) => {
      runs.push(key)
      if (key !== 'lasting') return
      await new Promise<void>((resolve) => void ends.set(key, resolve))
      // It was counted as a change while it ran, and makes one.
      lane.spend(1)
    },
  )
  const end = async (key: string): Promise<void> => {
    ends.get(key)?.()
    await clock.advance(0)
  }
  const scene: Scene = { clock, scheduler, lane, runs, end }
  for (const gate of [sooner, later]) await gate?.before?.(scene)
  runs.length = 0
  lane.regate({ ...openGates, ...wanted })
  sooner.close(scene, firstMs)
  later?.close(scene, secondMs)
  lane.add('k')
  await clock.advance(0)
  return scene
}

/** Gates that time opens open at their time; the others by a word. */
async function open(gate: Gate, scene: Scene, ms: number): Promise<void> {
  if (gate.open) await gate.open(scene)
  else await scene.clock.advance(ms)
}

const pairs = gates.flatMap((one, index) =>
  gates.slice(index + 1).map((other) => [one.heldBy, other.heldBy, one, other] as const),
)

describe('two gates', () => {
  it.each(pairs)(
    '%s and %s both have to be open, whichever opens first; the first of them is told',
    async (...pair) => {
      const [, , earlier, later] = pair
      for (const [sooner, other] of [
        [earlier, later],
        [later, earlier],
      ] as const) {
        const scene = await closed(sooner, other)
        expect(scene.runs).toEqual([])
        expect(scene.lane.state.heldBy).toBe(earlier.heldBy)
        await open(sooner, scene, firstMs)
        expect(scene.runs).toEqual([])
        expect(scene.lane.state.heldBy).toBe(other.heldBy)
        await open(other, scene, secondMs - firstMs)
        await scene.clock.advance(secondMs)
        expect(scene.runs).toEqual(['k'])
        expect(scene.lane.state.heldBy).toBe('nothing')
      }
    },
  )

  it.each(gates.map((gate) => [gate.heldBy, gate] as const))(
    '%s and priority: urgency decides among those that may run, and among no others',
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
