/**
 * Replicas on machines that fail at random: stopped and started, killed, cut off, slow, with clocks that run at different
 * rates and are set. After everything that happens on any of them, all are asked what they think is theirs.
 *
 * One thing is left out, for no process can notice it: to be stopped while its clock is set back.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMachineRoom, type Machine, type Network } from '../../../test/failing-machines.ts'
import { electLeader, type Election } from './election.ts'
import { joinShards, type ShardFence, type Shards } from './shards.ts'

type Fault =
  | { readonly what: 'network'; readonly network: Network }
  | { readonly what: 'pause' | 'resume' | 'kill' | 'leave' | 'stall' | 'come' }
  | { readonly what: 'jump'; readonly ms: number }

interface Happening {
  readonly afterMs: number
  /** Of which replica, counted round. */
  readonly who: number
  readonly fault: Fault
}

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('network' as const), network: networks() }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constantFrom('pause' as const, 'resume' as const) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('kill' as const, 'leave' as const, 'stall' as const) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('come' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('jump' as const), ms: fc.integer({ min: -20_000, max: 20_000 }) }),
  },
)

function networks(): fc.Arbitrary<Network> {
  return fc.constantFrom('up', 'slow', 'deaf', 'blind', 'refused', 'silent')
}

const story = fc.record({
  seed: fc.nat(),
  rates: fc.array(fc.double({ min: 0.9, max: 1.1, noNaN: true }), { minLength: 2, maxLength: 4 }),
  happenings: fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 12_000 }), who: fc.nat(7), fault }), {
    maxLength: 14,
  }),
})

/** Long enough, by the slowest clock, for a lease to expire and for every replica to rejoin. */
const calmMs = 34_000

interface Part {
  readonly machine: Machine
  readonly leave: () => Promise<void>
}

/** Lets it all happen, then lets it all be well. `look` is called after everything, so often that it must be quick. */
async function tellStory<P extends Part>(
  { seed, rates, happenings }: { seed: number; rates: readonly number[]; happenings: readonly Happening[] },
  join: (name: string, machine: Machine) => P,
  look: (living: readonly P[]) => void,
  calm: (living: readonly P[]) => void,
): Promise<void> {
  const world = createMachineRoom(seed)
  const parts: P[] = []
  const stopped = new Set<Machine>()
  const setBack = new Set<Machine>()
  const left = new Set<P>()
  const living = (): readonly P[] => parts.filter((part) => !part.machine.isDead)
  const come = (rate: number): void => {
    parts.push(join(`replica-${parts.length}`, world.machine(rate)))
  }
  let failure: unknown
  world.onStep = () => {
    try {
      look(living())
    } catch (error) {
      failure ??= error
    }
  }
  try {
    for (const rate of rates) come(rate)
    for (const { afterMs, who, fault: next } of happenings) {
      await world.clock.advance(afterMs)
      const part = parts[who % parts.length]!
      const { machine } = part
      if (next.what === 'come') come(rates[who % rates.length]!)
      if (next.what === 'network') machine.network = next.network
      if (next.what === 'stall') machine.stall()
      if (next.what === 'kill') machine.kill()
      if (next.what === 'resume' && machine.isPaused) machine.resume()
      if (next.what === 'leave' && !machine.isPaused) {
        left.add(part)
        void part.leave()
      }
      if (next.what === 'pause' && !setBack.has(machine)) {
        stopped.add(machine)
        machine.pause()
      }
      if (next.what === 'jump' && (next.ms > 0 || !stopped.has(machine))) {
        if (next.ms < 0) setBack.add(machine)
        machine.jump(next.ms)
      }
      look(living())
      if (failure) throw failure
    }
    for (const { machine } of parts) {
      machine.network = 'up'
      if (machine.isPaused) machine.resume()
    }
    await world.clock.advance(calmMs)
    if (failure) throw failure
    calm(living().filter((part) => !left.has(part)))
  } finally {
    await world.close()
  }
}

describe('on failing machines', () => {
  it('no item ever has two owners, and all have one after recovery', { timeout: 60_000 }, async () => {
    const items = Array.from({ length: 12 }, (_, index) => `cluster-${index}`)
    interface Replica extends Part {
      readonly name: string
      readonly shards: Shards
      readonly fences: Map<string, ShardFence>
    }
    const works = ({ shards, fences, machine }: Replica, item: string): boolean => {
      const held = fences.get(item)
      const isHeld = held !== undefined && shards.isHeld(held, machine.clock.now())
      const isOwned = shards.owns(item)
      if (isHeld && !isOwned) throw new Error(`a fence of ${item} holds, and it is not owned`)
      if (isOwned && !isHeld) fences.set(item, shards.fence(item)!)
      return isOwned
    }
    const workers = (living: readonly Replica[], item: string): readonly string[] =>
      living.filter((replica) => works(replica, item)).map(({ name }) => name)
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        await tellStory<Replica>(
          told,
          (name, machine) => {
            const { client, clock, random } = machine
            const group = { namespace: 'default', name: 'muster' }
            const weight = 1 + (told.seed % 2)
            const shards = joinShards({ client, clock, random, group, identity: name, weight })
            return { name, machine, shards, fences: new Map<string, ShardFence>(), leave: () => shards.leave() }
          },
          (living) => {
            for (const item of items) {
              const names = workers(living, item)
              if (names.length > 1) throw new Error(`${item} is worked by ${names.join(' and ')}`)
            }
          },
          (living) => {
            if (living.length === 0) return
            for (const item of items) expect(workers(living, item)).toHaveLength(1)
            for (const { shards } of living) expect(shards.members).toHaveLength(living.length)
          },
        )
      }),
      { numRuns: 15 },
    )
  })

  it(
    'after any crash no item is without an owner for longer than a lease duration after the last renewal',
    { timeout: 60_000 },
    async () => {
      const items = Array.from({ length: 12 }, (_, index) => `cluster-${index}`)
      await fc.assert(
        fc.asyncProperty(
          fc.nat(),
          fc.integer({ min: 2, max: 4 }),
          fc.integer({ min: 0, max: 9_000 }),
          async (...given) => {
            const [seed, count, diesAfterMs] = given
            const world = createMachineRoom(seed)
            const begun = world.clock.now()
            const replicas = Array.from({ length: count }, (_, index) => {
              const machine = world.machine()
              const { client, clock, random } = machine
              const group = { namespace: 'default', name: 'muster' }
              return { machine, shards: joinShards({ client, clock, random, group, identity: `replica-${index}` }) }
            })
            await world.clock.advance(diesAfterMs)
            const [dead, ...living] = replicas
            dead!.machine.kill()
            const renewals = dead!.machine.sent.filter(({ method }) => method !== 'GET')
            const renewed = renewals.at(-1)?.at ?? begun
            // What is on the wire takes its time, too: ten ways of at most 20 ms, for those who have just come.
            await world.clock.advance(renewed + 15_000 + 200 - world.clock.now())
            const owned = items.map((item) => living.filter(({ shards }) => shards.owns(item)).length)
            await world.close()
            expect(owned).toEqual(items.map(() => 1))
          },
        ),
        { numRuns: 15 },
      )
    },
  )

  it('there are never two leaders, and one after recovery', { timeout: 60_000 }, async () => {
    interface Candidate extends Part {
      readonly election: Election
    }
    const leaders = (living: readonly Candidate[]): number =>
      living.filter(({ election }) => election.isLeader()).length
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        await tellStory<Candidate>(
          told,
          (name, machine) => {
            const { client, clock, random } = machine
            const lease = { namespace: 'default', name: 'muster' }
            const election = electLeader({ client, clock, random, lease, identity: name, onChange: () => undefined })
            return { machine, election, leave: () => election.release() }
          },
          (living) => {
            if (leaders(living) > 1) throw new Error('two lead')
          },
          (living) => expect(leaders(living)).toBe(Math.min(living.length, 1)),
        )
      }),
      { numRuns: 15 },
    )
  })
})
