/**
 * Hot loops, conflicts and gates, with a manager on a server: embedded in `npm test`, real in `npm run test:real`. Time
 * is real here, so gates are set to hours, and the tests check what they hold.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createSharedCache, type SharedCache } from '../../src/cache/shared-cache.ts'
import type { Condition } from '../../src/kube/meta/condition.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { describeFinding, type Finding } from '../../src/manager/findings/finding.ts'
import { createManager, type Manager } from '../../src/manager/hosting/manager.ts'
import { createMetrics } from '../../src/manager/observability/metrics.ts'
import { defaultGates, type GateOptions } from '../../src/manager/gates/gate-options.ts'
import { defineController } from '../../src/operator/controller.ts'
import { exactly } from '../../src/operator/view/input.ts'
import { integer } from '../../src/operator/kind/field.ts'
import { defineKind, type Kind } from '../../src/operator/kind/kind.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import { isWrite, type Ledger } from '../../src/operator/ledger.ts'
import { defineOperator, type Operator } from '../../src/operator/operator.ts'
import { defineDependent } from '../../src/operator/dependent/dependent.ts'
import { resourceOf, type TypedResource } from '../../src/kube/typed-resource.ts'
import { createWaiters, type ProcessEnvironment, openProcessEnvironment } from './process-environment.ts'

type Small = Operator & { readonly own: Kind }

const suffix = Math.floor(performance.timeOrigin).toString(36)
const namespace = `findings-${suffix}`
const Event: TypedResource<UntypedObject> = resourceOf<UntypedObject>('v1', 'Event')

interface Habits {
  /** The written value for a size and the read value. @default the size */
  readonly value?: (size: number, read: string) => string
  /** A ConfigMap that it reads. */
  readonly follows?: string
  /** The name of a ConfigMap shared with others. @default its own */
  readonly shares?: string
  /** Requeues at this interval. */
  readonly resyncMs?: number
  /** Runs before the reconcile ends. */
  readonly think?: () => Promise<void>
}

function small(name: string, { value = String, follows, shares, resyncMs, think }: Habits = {}): Small {
  const own = defineKind({
    group: `findings-${suffix}.example.com`,
    version: 'v1',
    kind: name.charAt(0).toUpperCase() + name.slice(1),
    spec: { size: integer({ default: 1 }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => shares ?? `${cr.metadata.name}-${name}`,
    ...(shares !== undefined && { policy: 'adopt' as const, owned: false }),
    fromCR({ cr, view }) {
      const read =
        follows === undefined ? '' : (view.get(ConfigMap, { name: follows, namespace })?.data?.['size'] ?? 'none')
      return { data: { size: value(cr.spec.size, read) } }
    },
  })
  const controller = defineController({
    for: own,
    dependents: [config],
    ...(follows !== undefined && { reads: [exactly(ConfigMap, { name: follows, namespace })] }),
    ...(resyncMs !== undefined && { resyncMs }),
    ...(think && { check: () => think() }),
  })
  return { ...defineOperator({ name: `${name}-${suffix}`, controllers: [controller] }), own }
}

let turn = 0
const thinking = { now: 0, most: 0, leave: [] as (() => void)[] }
const operators = {
  red: small('red', { shares: 'contested', value: () => 'red' }),
  blue: small('blue', { shares: 'contested', value: () => 'blue' }),
  undone: small('undone'),
  mad: small('mad', {
    follows: 'orders',
    resyncMs: 100,
    value: (_, read) => (read === 'calm' ? read : String(turn++)),
  }),
  follower: small('follower', { follows: 'ticker', value: (_, read) => read }),
  cool: small('cool'),
  thrifty: small('thrifty'),
  single: small('single', {
    think: () =>
      new Promise((resolve) => {
        thinking.most = Math.max(thinking.most, ++thinking.now)
        thinking.leave.push(() => {
          thinking.now--
          resolve()
        })
        notice()
      }),
  }),
}

let environment: ProcessEnvironment
let manager: Manager
let cache: SharedCache
const ledgers: Ledger[] = []
const findings: Finding[] = []
const metrics = createMetrics()
const { notice, until } = createWaiters()

const by = ({ name }: Small): readonly Finding[] => findings.filter(({ operator }) => operator === name)
const writesOf = ({ name }: Small): number =>
  ledgers.filter(({ operator }) => operator === name).flatMap(({ entries }) => entries.filter(isWrite)).length
const host = async (operator: Small, gates: Partial<GateOptions> = {}): Promise<void> => {
  await manager.add(operator, { gates })
  onTestFinished(() => manager.remove(operator.name))
}
const wish = async ({ own }: Small, name = 'a'): Promise<unknown> =>
  await environment.client.create(own, own.draft({ name, namespace }, {}) as unknown as UntypedObject)
const resize = async ({ own }: Small, size: number): Promise<unknown> =>
  await environment.client.patch(own, { name: 'a', namespace }, { spec: { size } }, { type: 'merge' })
const setConfig = async (name: string, size: string): Promise<unknown> =>
  await environment.client.apply(
    ConfigMap,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { size } },
    { fieldManager: 'somebody', force: true },
  )
const sizeIn = async (name: string): Promise<string | undefined> =>
  (await environment.client.get(ConfigMap, { name, namespace })).data?.['size']
/** The condition of the CR, once it exists: it is written after the finding was reported. */
const condition = async ({ own }: Small): Promise<Condition> => {
  for (;;) {
    const cr = await environment.client.get(own, { name: 'a', namespace })
    const { conditions = [] } = (cr['status'] ?? {}) as { readonly conditions?: readonly Condition[] }
    const found = conditions.find(({ type }) => type === 'muster.dev/Finding')
    if (found) return found
  }
}
const eventAbout = async ({ own }: Small, reason: string): Promise<UntypedObject> => {
  for (;;) {
    const { items } = await environment.client.list(Event, { namespace })
    const found = items.find(
      (event) =>
        event['reason'] === reason && (event['involvedObject'] as { readonly kind?: string }).kind === own.kind,
    )
    if (found) return found
  }
}

beforeAll(async () => {
  environment = await openProcessEnvironment(namespace, Object.values(operators))
  cache = createSharedCache({ client: environment.client })
  manager = createManager({
    client: environment.client,
    cache,
    metrics,
    onLedger: (ledger) => {
      ledgers.push(ledger)
      notice()
    },
    onFinding: (finding) => {
      findings.push(finding)
      notice()
    },
  })
}, 60_000)

afterAll(async () => {
  await manager.stop()
  cache.close()
  await environment.close()
}, 60_000)

describe('findings', { timeout: 60_000 }, () => {
  it('a conflict with another field manager names the manager, the object and the field, and is throttled', async () => {
    const { undone } = operators
    await host(undone)
    await wish(undone)
    let rounds = 0
    /** Reverts each write as soon as it is observed, as a forgotten old operator does. */
    const undo = async (): Promise<void> => {
      while (by(undone).length === 0) {
        await until(
          () => by(undone).length > 0 || writesOf(undone) > rounds + 1,
          () => `${rounds} rounds`,
        )
        rounds++
        await environment.client.patch(
          ConfigMap,
          { name: 'a-undone', namespace },
          { data: { size: 'mine' } },
          { type: 'merge', fieldManager: 'legacy' },
        )
      }
    }
    await undo()
    expect(by(undone)).toMatchObject([
      { kind: 'conflict', object: { name: { name: 'a-undone' } }, fields: ['data.size'], with: ['legacy'] },
    ])
    expect(await condition(undone)).toMatchObject({
      status: 'True',
      reason: 'Conflict',
      message: expect.stringMatching(
        new RegExp(`corrected data\\.size of ConfigMap ${namespace}/a-undone 8 times.*legacy changed it back`),
      ) as string,
    })
    expect(await eventAbout(undone, 'Conflict')).toMatchObject({ type: 'Warning' })
    expect(metrics.render()).toContain(`muster_findings_total{controller="${undone.name}/undone",kind="conflict"} 1`)
    expect(rounds).toBeLessThan(12)
  })

  it('of two operators that apply one object, the first keeps it; the second gets a finding that names the owner', async () => {
    const { red, blue } = operators
    await host(red)
    await host(blue)
    await wish(red)
    await until(
      () => writesOf(red) >= 2,
      () => `${writesOf(red)} writes`,
    )
    await wish(blue)
    await until(
      () => by(blue).length > 0,
      () => `${writesOf(blue)} writes`,
    )
    expect(by(blue)).toMatchObject([
      {
        kind: 'contested',
        message: expect.stringContaining(`contested exists already and belongs to ${red.name}`) as string,
      },
    ])
    expect(await condition(blue)).toMatchObject({ status: 'True', reason: 'Contested' })
    expect(await sizeIn('contested')).toBe('red')
    expect(by(red)).toEqual([])
    expect(writesOf(red)).toBe(2)
  })

  it('a hot loop is reported and throttled until an input changes', async () => {
    const { mad } = operators
    await setConfig('orders', 'wild')
    await host(mad)
    await wish(mad)
    await until(
      () => by(mad).length > 0,
      () => `${turn} turns`,
    )
    expect(by(mad).map(describeFinding)).toEqual([
      expect.stringMatching(/wrote ConfigMap .*\/a-mad 8 times in .* although none of its inputs changed.*data\.size/),
    ])
    expect(await condition(mad)).toMatchObject({ reason: 'HotLoop' })
    expect(await eventAbout(mad, 'HotLoop')).toMatchObject({ type: 'Warning' })
    // The first write had a cause.
    expect(turn).toBe(9)
    // Neither its CR nor one of its objects: an input.
    await setConfig('orders', 'calm')
    await until(
      () => ledgers.findLast(({ operator }) => operator === mad.name)!.entries.every((entry) => !isWrite(entry)),
      () => `${turn} turns`,
    )
    expect(await sizeIn('a-mad')).toBe('calm')
  })

  it('an operator that follows a frequently changing input is not throttled', async () => {
    const { follower } = operators
    await setConfig('ticker', '0')
    await host(follower)
    await wish(follower)
    await until(
      () => writesOf(follower) >= 2,
      () => `${writesOf(follower)} writes`,
    )
    for (let tick = 1; tick <= 20; tick++) {
      await setConfig('ticker', String(tick))
      for (let shown = await sizeIn('a-follower'); shown !== String(tick);) shown = await sizeIn('a-follower')
    }
    expect(by(follower)).toEqual([])
  })
})

describe('gates', { timeout: 60_000 }, () => {
  /** No event reports a waiting key: it is polled between two requests. */
  const isHeld = async ({ name, own }: Small, gate: string): Promise<void> => {
    while (manager.lanes().get(name)?.heldBy !== gate) await environment.client.get(own, { name: 'a', namespace })
  }
  const isWritten = (operator: Small, count: number): Promise<void> =>
    until(
      () => writesOf(operator) >= count,
      () => `${writesOf(operator)} writes`,
    )

  it('cool-down delays the second change', async () => {
    const { cool } = operators
    await host(cool, { coolDown: { leastMs: 3_600_000 } })
    await wish(cool)
    await isWritten(cool, 2)
    await resize(cool, 2)
    await isHeld(cool, 'coolDown')
    expect(await sizeIn('a-cool')).toBe('1')
    manager.regate(cool.name, {})
    await isWritten(cool, 3)
    expect(await sizeIn('a-cool')).toBe('2')
  })

  it('an exhausted allowance delays a key until it is refilled', async () => {
    const { thrifty } = operators
    await host(thrifty, { allowance: { perMinute: 0.001, burst: 1 } })
    await wish(thrifty)
    await isWritten(thrifty, 1)
    await resize(thrifty, 2)
    await isHeld(thrifty, 'allowance')
    expect(await sizeIn('a-thrifty')).toBe('1')
    manager.regate(thrifty.name, { allowance: defaultGates.allowance })
    await isWritten(thrifty, 3)
    expect(await sizeIn('a-thrifty')).toBe('2')
  })

  it('concurrency 1 runs one key at a time', async () => {
    const { single } = operators
    await host(single, { concurrency: 1 })
    for (const name of ['a', 'b', 'c']) await wish(single, name)
    for (let done = 1; done <= 3; done++) {
      await until(
        () => thinking.leave.length === done,
        () => `${thinking.leave.length} have begun`,
      )
      thinking.leave[done - 1]!()
    }
    await isWritten(single, 3)
    expect(thinking.most).toBe(1)
  })
})
