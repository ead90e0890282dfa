import { afterEach, describe, expect, it } from 'vitest'
import { createMachineRoom, type Machine, type MachineRoom } from '../../../test/failing-machines.ts'
import type { Lease } from '../../kube/types/coordination/v1.ts'
import { leaseResource } from './lease.ts'
import { joinShards, type Shards, type ShardsOptions } from './shards.ts'

const group = { namespace: 'default', name: 'muster' }
const items = Array.from({ length: 40 }, (_, index) => `operator-${index}`)
/** The longest way of anything between a machine and the server (`machines.ts`). */
const travelMs = 20

interface Replica {
  readonly name: string
  readonly machine: Machine
  readonly shards: Shards
  readonly problems: unknown[]
}

let world: MachineRoom
let replicas: Replica[]
afterEach(() => world.close())

function replica(name: string, options: Partial<ShardsOptions> = {}): Replica {
  const machine = world.machine()
  const { client, clock, random } = machine
  const problems: unknown[] = []
  const onProblem = (error: unknown): void => void problems.push(error)
  const shards = joinShards({ client, clock, random, group, identity: name, onProblem, ...options })
  const made = { name, machine, shards, problems }
  replicas.push(made)
  return made
}

const ownersOf = (item: string): readonly string[] =>
  replicas.filter(({ machine, shards }) => !machine.isDead && shards.owns(item)).map(({ name }) => name)
const share = ({ shards }: Replica): readonly string[] => items.filter((item) => shards.owns(item))
const isSpread = (): boolean => items.every((item) => ownersOf(item).length === 1)
const found = async (): Promise<readonly string[]> =>
  (await world.client.list<Lease>(leaseResource, { namespace: 'default' })).items.map(({ metadata }) => metadata.name)

/** So many replicas at rest, watched from now on: never is an item worked by two. */
async function gather(names: readonly string[]): Promise<Replica[]> {
  world = createMachineRoom()
  replicas = []
  world.onStep = () => {
    for (const item of items) {
      const owning = ownersOf(item)
      if (owning.length > 1) throw new Error(`${item} is worked by ${owning.join(' and ')}`)
    }
  }
  const made = names.map((name) => replica(name))
  await world.clock.until(() => isSpread() && made.every((one) => one.shards.members.length === names.length), 30_000)
  return made
}

describe('shards', () => {
  it('a single replica owns everything as soon as its lease is stored', async () => {
    const [a] = await gather(['a'])
    expect(share(a!)).toEqual(items)
    expect(a!.shards.members).toEqual([{ identity: 'a', weight: 1 }])
    expect(a!.problems).toEqual([])
  })

  it(
    'at rest: about thirty renewals a minute for each, and a list and a watch every five minutes',
    { timeout: 30_000 },
    async () => {
      const [a] = await gather(['a', 'b', 'c'])
      const begun = a!.machine.sent.length
      await world.clock.advance(300_000)
      const sent = a!.machine.sent.slice(begun)
      const renewals = sent.filter(({ method }) => method === 'PUT')
      expect(renewals.length).toBeGreaterThanOrEqual(150)
      expect(renewals.length).toBeLessThanOrEqual(165)
      expect(sent.filter(({ method }) => method !== 'PUT')).toHaveLength(2)
      expect(isSpread()).toBe(true)
    },
  )

  it('a new replica takes the items that it wins and nothing else, within two renewals', async () => {
    const [a, b] = await gather(['a', 'b'])
    const before = new Map(items.map((item) => [item, ownersOf(item)[0]]))
    const c = replica('c')
    await world.clock.until(() => isSpread() && share(c).length > 0, 4_500)
    for (const item of items) expect([before.get(item), 'c']).toEqual(expect.arrayContaining([...ownersOf(item)]))
    expect(share(a!).length + share(b!).length + share(c).length).toBe(items.length)
  })

  it('a new replica that no other notices starts after a lease duration, when the others have stopped', async () => {
    const [a] = await gather(['a'])
    a!.machine.network = 'silent'
    const b = replica('b')
    await world.clock.advance(14_000)
    expect(share(b)).toEqual([])
    await world.clock.until(() => share(b).length > 0, 1_500)
    expect(share(a!)).toEqual([])
  })

  it.each([0, 500, 1_000, 1_500, 1_900])(
    'the share of a replica that dies %d ms later moves a lease duration after its last renewal, not before',
    async (ms) => {
      const [a] = await gather(['a', 'b', 'c'])
      await world.clock.advance(ms)
      a!.machine.kill()
      const died = world.clock.now()
      const renewed = a!.machine.sent.findLast(({ method }) => method === 'PUT')!.at
      await world.clock.until(isSpread)
      const moved = world.clock.now()
      expect(moved - renewed).toBeGreaterThanOrEqual(15_000)
      // Its renewal came to the others, and one of theirs went there and back.
      expect(moved - renewed).toBeLessThanOrEqual(15_000 + 4 * travelMs)
      // It renewed at most a retry period before it died.
      expect(moved - died).toBeGreaterThanOrEqual(15_000 - 2_000)
    },
  )

  it('shares of several dead replicas move at once, with one renewal each and no new list', async () => {
    const [a, b, c, d] = await gather(['a', 'b', 'c', 'd'])
    for (const one of [a!, b!, c!]) one.machine.kill()
    const renewed = [a!, b!, c!].map(({ machine }) => machine.sent.findLast(({ method }) => method === 'PUT')!.at)
    const begun = d!.machine.sent.length
    await world.clock.until(isSpread)
    expect(world.clock.now() - Math.max(...renewed)).toBeLessThanOrEqual(15_000 + 4 * travelMs)
    const sent = d!.machine.sent.slice(begun)
    expect(sent.filter(({ method }) => method === 'GET')).toEqual([])
    // One for each that is overdue, beside the rhythm.
    expect(sent.filter(({ method }) => method === 'PUT').length).toBeLessThanOrEqual(9 + 3)
  })

  it('when a replica dies, only its share moves, and its lease is deleted', async () => {
    const [a, b, c] = await gather(['a', 'b', 'c'])
    const kept = [share(b!), share(c!)]
    a!.machine.kill()
    await world.clock.until(isSpread, 15_000 + 4 * travelMs)
    expect(share(b!)).toEqual(expect.arrayContaining([...kept[0]!]))
    expect(share(c!)).toEqual(expect.arrayContaining([...kept[1]!]))
    await world.clock.advance(1_000)
    expect(await found()).toEqual(['muster-b', 'muster-c'])
  })

  it('the share of a leaving replica moves at once', async () => {
    const [a, b] = await gather(['a', 'b', 'c'])
    let isLeft = false
    void a!.shards.leave().then(() => (isLeft = true))
    expect(share(a!)).toEqual([])
    await world.clock.until(isSpread, 200)
    await world.clock.until(() => isLeft, 1_000)
    expect(await found()).toEqual(['muster-b', 'muster-c'])
    expect(b!.shards.members).toEqual([
      { identity: 'b', weight: 1 },
      { identity: 'c', weight: 1 },
    ])
  })

  it('no replica takes over before the work in progress has ended', async () => {
    const [a] = await gather(['a'])
    const { promise, resolve } = Promise.withResolvers<void>()
    a!.shards.onChange(() => promise)
    const b = replica('b')
    await world.clock.advance(10_000)
    expect(share(a!).length).toBeLessThan(items.length)
    expect(share(b)).toEqual([])
    resolve()
    await world.clock.until(isSpread, 2_200)
  })

  it('a replica that leaves hands over when its listeners are done', async () => {
    const [a, b] = await gather(['a', 'b'])
    const { promise, resolve } = Promise.withResolvers<void>()
    a!.shards.onChange(() => promise)
    void a!.shards.leave()
    await world.clock.advance(60_000)
    expect(share(a!)).toEqual([])
    expect(share(b!).length).toBeLessThan(items.length)
    resolve()
    await world.clock.until(isSpread, 200)
  })

  it.each(['refused', 'silent', 'blind'] as const)(
    'the share of a replica whose network is %s moves, and returns',
    async (network) => {
      const [a] = await gather(['a', 'b', 'c'])
      a!.machine.network = network
      await world.clock.until(() => share(a!).length === 0, 10_000)
      // One that is blind has renewed all that time, and is given up from then on.
      await world.clock.until(isSpread, 17_100)
      expect(share(a!)).toEqual([])
      a!.machine.network = 'up'
      await world.clock.until(() => isSpread() && share(a!).length > 0, 17_100)
    },
  )

  it.each(['deaf', 'slow'] as const)(
    'a replica whose network is %s does not affect others, and recovers',
    async (network) => {
      const [a] = await gather(['a', 'b', 'c'])
      a!.machine.network = network
      await world.clock.advance(60_000)
      a!.machine.network = 'up'
      await world.clock.advance(17_100)
      expect([isSpread(), share(a!).length > 0]).toEqual([true, true])
    },
  )

  it('a paused and resumed replica owns nothing, from the first instant on', async () => {
    const [a] = await gather(['a', 'b'])
    const fences = share(a!).map((item) => a!.shards.fence(item)!)
    a!.machine.pause()
    await world.clock.advance(20_000)
    expect(share(a!)).toEqual([])
    expect(fences.some((fence) => a!.shards.isHeld(fence, a!.machine.clock.now()))).toBe(false)
    a!.machine.resume()
    await world.clock.advance(6_000)
    expect(isSpread()).toBe(true)
    // What was his is his again, and what he began before is not.
    expect(fences.every(({ item }) => a!.shards.owns(item))).toBe(true)
    expect(fences.some((fence) => a!.shards.isHeld(fence, a!.machine.clock.now()))).toBe(false)
  })

  it('a fence is invalid after the item moved to another replica and back', async () => {
    const [a] = await gather(['a'])
    const fences = new Map(items.map((item) => [item, a!.shards.fence(item)!]))
    const b = replica('b')
    await world.clock.until(() => isSpread() && share(b).length > 0, 10_000)
    const moved = new Set(share(b))
    b.machine.kill()
    await world.clock.until(isSpread, 20_000)
    for (const [item, fence] of fences) expect(a!.shards.isHeld(fence, a!.machine.clock.now())).toBe(!moved.has(item))
  })

  it('a deleted lease moves nothing before its holder has stopped', async () => {
    const [a, b] = await gather(['a', 'b'])
    const kept = share(b!)
    a!.machine.network = 'silent'
    await world.client.delete(leaseResource, { namespace: 'default', name: 'muster-a' })
    await world.clock.advance(9_000)
    expect(share(b!)).toEqual(kept)
    a!.machine.network = 'up'
    await world.clock.until(isSpread, 10_000)
    expect(a!.shards.members).toHaveLength(2)
  })

  it.each([-3_600_000, -3_000, 3_000, 3_600_000])('a clock set by %d ms moves nothing for long', async (ms) => {
    const [a, b] = await gather(['a', 'b'])
    const before = [share(a!), share(b!)]
    a!.machine.jump(ms)
    await world.clock.advance(7_000)
    expect([share(a!), share(b!)]).toEqual(before)
  })

  it('a watch without events is replaced', async () => {
    const [a] = await gather(['a', 'b'])
    const begun = a!.machine.sent.length
    a!.machine.stall()
    await world.clock.advance(30_000)
    expect(isSpread()).toBe(true)
    expect(a!.machine.sent.slice(begun).filter(({ method }) => method === 'GET')).toHaveLength(2)
  })

  it('a replica with the identity of a dead one waits until its lease expires', async () => {
    const [a] = await gather(['a'])
    a!.machine.kill()
    const again = replica('a')
    await world.clock.advance(14_000)
    expect(share(again)).toEqual([])
    expect(String(again.problems[0])).toContain('the identity "a"')
    await world.clock.until(isSpread, 5_000)
  })

  it('an identity that two processes share is worked by one of them', async () => {
    const [a] = await gather(['a'])
    const twin = replica('a')
    await world.clock.advance(60_000)
    expect([share(a!).length, share(twin).length]).toEqual([items.length, 0])
  })

  it('a larger weight wins more items', async () => {
    await gather(['a'])
    const b = replica('b', { weight: 9 })
    await world.clock.until(() => isSpread() && share(b).length > 0, 10_000)
    expect(share(b).length).toBeGreaterThan(items.length / 2)
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('a weight of %d is rejected', async (weight) => {
    await gather(['a'])
    expect(() => replica('b', { weight })).toThrow('weight must be greater than 0')
  })

  it('invalid annotations have no effect', async () => {
    const [a] = await gather(['a'])
    const names = ['muster-x', 'muster-y', 'muster-z']
    const texts = ['{', '[]', '{"life":1,"renewal":"x","weight":-1,"counts":{"length":9}}']
    for (const [index, name] of names.entries()) {
      await world.client.create(leaseResource, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          name,
          namespace: 'default',
          labels: { 'muster.dev/shards': 'muster' },
          annotations: { 'muster.dev/member': texts[index]! },
        },
        spec: { holderIdentity: name, leaseDurationSeconds: 15 },
      })
    }
    await world.clock.advance(1_000)
    expect(a!.shards.members).toHaveLength(4)
    await world.clock.advance(17_000)
    expect(share(a!)).toEqual(items)
    expect(await found()).toEqual(['muster-a'])
  })
})
