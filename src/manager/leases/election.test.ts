import { afterEach, describe, expect, it } from 'vitest'
import { createMachineRoom, type Machine, type MachineRoom } from '../../../test/failing-machines.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { electLeader, type Election, type ElectionOptions, type ElectionState } from './election.ts'
import { leaseResource } from './lease.ts'

const ref = { namespace: 'default', name: 'muster' }
/** The longest way of anything between a machine and the server (`machines.ts`). */
const travelMs = 20

interface Candidate {
  readonly name: string
  readonly machine: Machine
  readonly election: Election
  readonly told: ElectionState[]
  readonly problems: unknown[]
}

let world: MachineRoom
afterEach(() => world.close())

function candidate(name: string, options: Partial<ElectionOptions> = {}, machine = world.machine()): Candidate {
  const told: ElectionState[] = []
  const problems: unknown[] = []
  const { client, clock, random } = machine
  const election = electLeader({
    client,
    clock,
    random,
    lease: ref,
    identity: name,
    onChange: (state) => void told.push(state),
    onProblem: (error) => void problems.push(error),
    ...options,
  })
  return { name, machine, election, told, problems }
}

const lease = (): Promise<Lease> => world.client.get<Lease>(leaseResource, ref)
const leading = (...all: readonly Candidate[]): readonly string[] =>
  all.filter(({ election }) => election.isLeader()).map(({ name }) => name)

/** Two candidates, of which a leads. */
async function pair(): Promise<readonly [Candidate, Candidate]> {
  world = createMachineRoom()
  const a = candidate('a')
  await world.clock.until(() => a.election.isLeader())
  const b = candidate('b')
  await world.clock.advance(5_000)
  expect(leading(a, b)).toEqual(['a'])
  return [a, b]
}

describe('leader election', () => {
  it('the first candidate leads at once, and its lease has the fields that kubectl shows', async () => {
    const [a, b] = await pair()
    expect(await lease()).toMatchObject({
      spec: {
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        leaseTransitions: 0,
        acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
      },
    })
    expect(a.told).toEqual([{ isLeader: true, leader: 'a' }])
    expect(b.told).toEqual([{ isLeader: false, leader: 'a' }])
  })

  it('at rest: one renewal or one read every retry period, and nothing else', async () => {
    const [a, b] = await pair()
    const [before, begun] = [a.machine.sent.length, b.machine.sent.length]
    await world.clock.advance(60_000)
    const [renewals, looks] = [a.machine.sent.slice(before), b.machine.sent.slice(begun)]
    expect(new Set(renewals.map(({ method }) => method))).toEqual(new Set(['PUT']))
    expect(new Set(looks.map(({ method }) => method))).toEqual(new Set(['GET']))
    expect(renewals).toHaveLength(30)
    expect(looks.length).toBeLessThanOrEqual(30)
    const gaps = looks.slice(1).map(({ at }, index) => at - looks[index]!.at)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2_000)
    expect((await lease()).spec?.leaseTransitions).toBe(0)
  })

  it.each([0, 700, 1_400, 2_100])(
    'a leader that dies %d ms later is replaced when its lease expires, not at the read after that',
    async (ms) => {
      const [a, b] = await pair()
      await world.clock.advance(ms)
      a.machine.kill()
      const renewed = a.machine.sent.findLast(({ method }) => method === 'PUT')!.at
      await world.clock.until(() => b.election.isLeader())
      // The first look that must have met the last renewal.
      const seen = b.machine.sent.find(({ method, at }) => method === 'GET' && at >= renewed + travelMs)!.at
      expect(world.clock.now() - renewed).toBeGreaterThanOrEqual(15_000)
      // There and back: that look, another one, and the taking.
      expect(world.clock.now() - seen).toBeLessThanOrEqual(15_000 + 6 * travelMs)
      // So it is a lease and a look after the last renewal, at most.
      expect(world.clock.now() - renewed).toBeLessThanOrEqual(15_000 + 2_400 + 8 * travelMs)
      expect((await lease()).spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
      expect(b.told.at(-1)).toEqual({ isLeader: true, leader: 'b' })
    },
  )

  it('a leader that releases is replaced at the next read, and was notified before', async () => {
    const [a, b] = await pair()
    const released = a.election.release()
    expect(leading(a)).toEqual([])
    expect(a.told.at(-1)?.isLeader).toBe(false)
    await world.clock.until(() => b.election.isLeader(), 2_400 + 100)
    await released
    expect((await lease()).spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
  })

  it('a released lease has no holder', async () => {
    world = createMachineRoom()
    const a = candidate('a')
    await world.clock.until(() => a.election.isLeader())
    let isDone = false
    void a.election.release().then(() => (isDone = true))
    await world.clock.until(() => isDone)
    const { spec } = await lease()
    expect(spec?.holderIdentity).toBeUndefined()
    const { length } = a.machine.sent
    await world.clock.advance(60_000)
    expect(a.machine.sent).toHaveLength(length)
  })

  it.each(['refused', 'silent'] as const)(
    'a leader whose network is %s stops before another begins',
    async (network) => {
      const [a, b] = await pair()
      a.machine.network = network
      await world.clock.until(() => !a.election.isLeader(), 10_000)
      expect(a.told.at(-1)?.isLeader).toBe(false)
      expect(leading(a, b)).toEqual([])
      await world.clock.until(() => b.election.isLeader(), 7_500)
      expect(a.problems).not.toEqual([])
      a.machine.network = 'up'
      await world.clock.advance(20_000)
      expect(leading(a, b)).toEqual(['b'])
    },
  )

  it.each(['deaf', 'slow'] as const)('a leader whose network is %s never leads beside another', async (network) => {
    const [a, b] = await pair()
    let most = 0
    world.onStep = () => (most = Math.max(most, leading(a, b).length))
    a.machine.network = network
    await world.clock.advance(120_000)
    a.machine.network = 'up'
    await world.clock.advance(20_000)
    expect([most, leading(a, b).length]).toEqual([1, 1])
  })

  it('a leader that is paused and resumed no longer leads, from the first instant on', async () => {
    const [a, b] = await pair()
    const fence = a.election.fence()!
    a.machine.pause()
    await world.clock.until(() => b.election.isLeader(), 20_000)
    // Asked before any timer of it had a chance to fire.
    expect(a.election.isLeader()).toBe(false)
    expect(a.election.isHeld(fence, a.machine.clock.now())).toBe(false)
    a.machine.resume()
    await world.clock.advance(10_000)
    expect(leading(a, b)).toEqual(['b'])
    expect(a.told.at(-1)).toEqual({ isLeader: false, leader: 'b' })
  })

  it.each([-3_600_000, -3_000, 3_000, 3_600_000])('a clock set by %d ms does not end a term for long', async (ms) => {
    const [a, b] = await pair()
    a.machine.jump(ms)
    await world.clock.advance(5_000)
    expect(leading(a, b)).toEqual(['a'])
    b.machine.jump(ms)
    await world.clock.advance(60_000)
    expect(leading(a, b)).toEqual(['a'])
    expect((await lease()).spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 })
  })

  it('a leader whose clock is set back while it cannot renew stops in time nevertheless', async () => {
    const [a, b] = await pair()
    a.machine.network = 'refused'
    await world.clock.advance(3_000)
    a.machine.jump(-2_000)
    await world.clock.until(() => b.election.isLeader(), 20_000)
    expect(leading(a, b)).toEqual(['b'])
  })

  it.each([-3_600_000, 3_600_000])(
    'a leader whose clock is set by %i ms detects it, and leads again as soon as the server has confirmed',
    async (ms) => {
      const [a, b] = await pair()
      const before = a.told.length
      const fence = a.election.fence()!
      a.machine.jump(ms)
      expect(a.election.isHeld(fence, a.machine.clock.now())).toBe(false)
      expect(a.election.fence()).toBeUndefined()
      await world.clock.advance(4 * travelMs + 1)
      expect(a.told.slice(before).map(({ isLeader }) => isLeader)).toEqual([false, true])
      expect(a.election.isHeld(fence, a.machine.clock.now())).toBe(true)
      expect(leading(a, b)).toEqual(['a'])
    },
  )

  it('a fence belongs to one term: it is invalid in a later one of the same holder', async () => {
    const [a, b] = await pair()
    const first = a.election.fence()!
    expect(first).toEqual({ holder: 'a', transitions: 0 })
    expect(a.election.isHeld(first, a.machine.clock.now())).toBe(true)
    expect(a.election.isHeld({ holder: 'a', transitions: 1 }, a.machine.clock.now())).toBe(false)
    expect(a.election.isHeld(first, a.machine.clock.now() + 10_000)).toBe(false)
    a.machine.network = 'refused'
    await world.clock.until(() => b.election.isLeader(), 20_000)
    expect(a.election.fence()).toBeUndefined()
    a.machine.network = 'up'
    b.machine.kill()
    await world.clock.until(() => a.election.isLeader(), 20_000)
    expect(a.election.fence()).toEqual({ holder: 'a', transitions: 2 })
    expect(a.election.isHeld(first, a.machine.clock.now())).toBe(false)
  })

  it('a deleted lease is recreated by its leader, and terms keep counting', async () => {
    const [a, b] = await pair()
    a.machine.network = 'silent'
    await world.client.delete(leaseResource, ref)
    await world.clock.advance(5_000)
    expect(leading(a, b)).toEqual(['a'])
    await world.clock.until(() => b.election.isLeader(), 20_000)
    expect(leading(a)).toEqual([])
    expect((await lease()).spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
  })

  it('an identity that two processes share is held by one of them', async () => {
    world = createMachineRoom()
    const [a, twin] = [candidate('same'), candidate('same')]
    await world.clock.advance(60_000)
    expect(leading(a, twin)).toHaveLength(1)
  })

  it('a take-over whose response is lost is recognised by its record, and costs no lease duration', async () => {
    world = createMachineRoom()
    const machine = world.machine()
    const a = candidate('a', {}, machine)
    await world.clock.until(() => machine.sent.some(({ method }) => method === 'POST'))
    machine.network = 'deaf'
    await world.clock.advance(1_000)
    expect((await lease()).spec?.holderIdentity).toBe('a')
    expect(leading(a)).toEqual([])
    machine.network = 'up'
    await world.clock.until(() => a.election.isLeader(), 2_500)
  })

  it('a listener that throws is reported, and has no other effect', async () => {
    world = createMachineRoom()
    const a = candidate('a', {
      onChange: () => {
        throw new Error('mine')
      },
    })
    await world.clock.advance(30_000)
    expect(leading(a)).toEqual(['a'])
    expect(a.problems).toEqual([new Error('mine')])
  })

  it.each([
    [{ leaseDurationMs: 10_000 }, 'leaseDurationMs must be greater than renewDeadlineMs'],
    [{ leaseDurationMs: 15_500 }, 'whole seconds'],
    [{ renewDeadlineMs: 2_400 }, 'renewDeadlineMs must be greater than 1.2 times retryPeriodMs'],
    [{ retryPeriodMs: 0 }, 'retryPeriodMs must be greater than 0'],
    [{ renewDeadlineMs: Number.NaN }, 'renewDeadlineMs'],
  ])('contradictory durations are rejected: %j', (times, message) => {
    world = createMachineRoom()
    expect(() => candidate('a', times)).toThrow(message)
  })
})
