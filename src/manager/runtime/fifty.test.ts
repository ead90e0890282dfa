/** Fifty operators in one process, in virtual time: each gate at work, and each of those who misbehave found and named. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { crds, embedded, type Embedded } from '../../../test/embedded.ts'
import { seededRandom } from '../../clock/random.ts'
import type { Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { exactly } from '../../operator/view/input.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { isWrite, type Ledger } from '../../operator/ledger.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { readConfiguration } from '../config/configuration.ts'
import type { Settings } from '../config/settings.ts'
import { describeFinding, type Finding } from '../findings/finding.ts'
import { type Runtime, startRuntime } from './runtime.ts'

type Small = Operator & { readonly own: Kind }

interface Habits {
  /** What it writes for a size. @default the size */
  readonly value?: (size: number) => string
  /** What it reads of another's ConfigMap goes into its own. */
  readonly follows?: string
  /** How long it thinks. */
  readonly think?: () => Promise<void>
  /** The name of its ConfigMap. @default of its own */
  readonly target?: string
}

function small(index: number, { value = String, follows, think, target }: Habits = {}): Small {
  const own = defineKind({
    group: 'fifty.example.com',
    version: 'v1',
    kind: `Thing${index}`,
    spec: { size: integer({ default: 1 }) },
  })
  const config = defineDependent({
    for: own,
    kind: ConfigMap,
    name: ({ cr }) => target ?? `${cr.metadata.name}-${index}`,
    fromCR({ cr, view }) {
      const { namespace } = cr.metadata
      const seen =
        follows === undefined ? '' : (view.get(ConfigMap, { name: follows, namespace })?.data?.['size'] ?? '0')
      return { data: { size: follows === undefined ? value(cr.spec.size) : value(Number(seen)) } }
    },
  })
  const controller = defineController({
    for: own,
    dependents: [config],
    ...(follows !== undefined && { reads: [exactly(ConfigMap, { name: follows, namespace: 'default' })] }),
    ...(think && { check: () => think() }),
  })
  return { ...defineOperator({ name: `small-${index}`, controllers: [controller] }), own }
}

const count = 50
let cluster: Embedded
let runtime: Runtime
let operators: readonly Small[]
const ledgers: Ledger[] = []
const findings: Finding[] = []
/** Runs of all operators at once, and of the one that may run one at a time. */
const most = { all: 0, one: 0 }
const under = { all: 0, one: 0 }
let flips = 0

const gates: Readonly<Record<string, Json>> = {
  'small-0': { gates: { debounce: '500ms', debounceMax: '2s' } },
  'small-1': { gates: { coolDown: '10s' } },
  'small-2': { gates: { changesPerMinute: 6, burst: 1 } },
  'small-3': { gates: { concurrency: 1 } },
  'small-4': { paused: true },
  'small-45': { budgets: { requestsPerMinute: 30 } },
  'small-46': { budgets: { cacheMi: 1 } },
}

function settingsWith(more: Readonly<Record<string, Json>> = {}): Settings {
  const value = { concurrency: 4, operators: { ...gates, ...more } }
  return readConfiguration([{ source: 'test', value }], operators).settings
}

const runsOf = (name: string): readonly Ledger[] => ledgers.filter(({ operator }) => operator === name)
const cr = (index: number, name = 'a'): UntypedObject =>
  operators[index]!.own.draft({ name, namespace: 'default' }, {}) as unknown as UntypedObject
const create = async (index: number, name = 'a'): Promise<unknown> =>
  await cluster.client.create(operators[index]!.own, cr(index, name))
const resize = async (index: number, size: number, name = 'a'): Promise<unknown> =>
  await cluster.client.patch(
    operators[index]!.own,
    { name, namespace: 'default' },
    { spec: { size } },
    { type: 'merge' },
  )
const sizeIn = async (name: string): Promise<string | undefined> =>
  (await cluster.client.get(ConfigMap, { name, namespace: 'default' })).data?.['size']
const told = (name: string): readonly string[] =>
  findings.filter(({ operator }) => operator === name).map(describeFinding)

async function slowly(which: 'one' | undefined): Promise<void> {
  for (const where of ['all', ...(which ? [which] : [])] as const) most[where] = Math.max(most[where], ++under[where])
  await cluster.clock.sleep(50)
  for (const where of ['all', ...(which ? [which] : [])] as const) under[where]--
}

beforeAll(async () => {
  cluster = embedded()
  const { clock, client } = cluster
  operators = Array.from({ length: count }, (_, index) => {
    switch (index) {
      case 3:
        return small(3, { think: () => slowly('one') })
      // Each follows the other's ConfigMap and writes a higher value: the two trigger each other without end.
      case 6:
        return small(6, { follows: 'a-7', value: (seen) => String(seen + 1) })
      case 7:
        return small(7, { follows: 'a-6', value: (seen) => String(seen + 1) })
      // Writes another value in each run, without a change of its input.
      case 8:
        return small(8, { value: (size) => (size > 5 ? String(size) : String(flips++)) })
      case 9:
        return small(9, { target: 'contested' })
      case 10:
        return small(10, { target: 'contested' })
      default:
        return small(index, { think: () => slowly(undefined) })
    }
  })
  for (const { own } of operators) await client.create(crds, own.crd() as unknown as UntypedObject)
  runtime = startRuntime({
    settings: settingsWith(),
    identity: 'alone',
    clock,
    random: seededRandom(11),
    local: { client, as: () => client },
    reach: () => Promise.reject(new Error('there is no other cluster')),
    load: (name) => Promise.resolve({ operator: operators.find((operator) => operator.name === name)! }),
    onLedger: (ledger) => void ledgers.push(ledger),
    onFinding: (finding) => void findings.push(finding),
  })
  await clock.advance(1000)
  for (let index = 0; index < count; index++) if (index < 6 || index > 10) await create(index)
  await clock.advance(10_000)
})

afterAll(async () => {
  let isStopped = false
  void runtime.stop().then(() => (isStopped = true))
  await cluster.clock.until(() => isStopped)
})

describe('fifty operators', () => {
  it('all run, with their own gates', async () => {
    expect(runtime.assignments()).toHaveLength(count)
    const { items } = await cluster.client.list(ConfigMap, { namespace: 'default' })
    const made = items.filter(({ metadata }) => metadata.ownerReferences?.length)
    // All but the one that is paused and the five that have nothing to do yet.
    expect(made).toHaveLength(count - 6)
    expect(most.all).toBeLessThanOrEqual(4)
    expect(most.all).toBeGreaterThan(1)
  })

  it('debounce: ten changes in a row are one run', async () => {
    const before = runsOf('small-0').length
    for (let size = 2; size <= 11; size++) {
      await resize(0, size)
      await cluster.clock.advance(100)
    }
    await cluster.clock.advance(5000)
    expect(await sizeIn('a-0')).toBe('11')
    expect(runsOf('small-0').length - before).toBe(1)
  })

  it('cool-down: the second change waits, and then runs', async () => {
    await resize(1, 2)
    await cluster.clock.advance(1000)
    await resize(1, 3)
    await cluster.clock.advance(5000)
    expect(await sizeIn('a-1')).toBe('2')
    expect(runtime.manager.lanes().get('small-1')).toMatchObject({ waiting: 1, heldBy: 'coolDown' })
    await cluster.clock.advance(10_000)
    expect(await sizeIn('a-1')).toBe('3')
  })

  it('allowance: at most the allowed changes a minute, and none is lost', async () => {
    for (const name of ['b', 'c', 'd']) await create(2, name)
    await cluster.clock.advance(15_000)
    const writes = (): number => runsOf('small-2').flatMap(({ entries }) => entries.filter(isWrite)).length
    const soon = writes()
    expect(runtime.manager.lanes().get('small-2')).toMatchObject({ heldBy: 'allowance' })
    await cluster.clock.advance(120_000)
    const later = writes()
    expect(later - soon).toBeGreaterThan(0)
    expect(later - soon).toBeLessThanOrEqual(6 * 2 + 2)
    expect(await sizeIn('d-2')).toBe('1')
  })

  it('concurrency: one at a time where configured, and four in total', async () => {
    most.one = 0
    for (const name of ['b', 'c', 'd', 'e']) await create(3, name)
    for (let index = 20; index < 40; index++) await resize(index, 9)
    await cluster.clock.advance(5000)
    expect(most).toEqual({ all: 4, one: 1 })
    expect(await sizeIn('e-3')).toBe('1')
    expect(await sizeIn('a-39')).toBe('9')
  })

  it('pause: no run until it ends, and the gates of others change meanwhile without a restart', async () => {
    expect(runtime.manager.lanes().get('small-4')).toMatchObject({ waiting: 1, heldBy: 'pause' })
    await runtime.reconfigure(settingsWith({ 'small-4': {}, 'small-1': {} }))
    await cluster.clock.advance(1000)
    expect(await sizeIn('a-4')).toBe('1')
    await resize(1, 4)
    await cluster.clock.advance(100)
    await resize(1, 5)
    await cluster.clock.advance(500)
    expect(await sizeIn('a-1')).toBe('5')
  })

  it('a hot loop is reported with the flipping field, and released when its input changes', async () => {
    await create(8)
    const poke = async (): Promise<void> => {
      const labels = { poke: String(flips) }
      await cluster.client.patch(
        ConfigMap,
        { name: 'a-8', namespace: 'default' },
        { metadata: { labels } },
        { type: 'merge' },
      )
      await cluster.clock.advance(100)
    }
    await cluster.clock.advance(500)
    for (let round = 0; round < 30; round++) await poke()
    expect(told('small-8')).toEqual([
      expect.stringMatching(/ConfigMap default\/a-8 8 times in .* differs in data\.size/),
    ])
    expect(flips).toBeLessThan(12)
    await resize(8, 7)
    await cluster.clock.advance(500)
    expect(await sizeIn('a-8')).toBe('7')
  })

  it('two operators that trigger each other endlessly are both reported, and do not flood the server', async () => {
    await create(6)
    await create(7)
    await cluster.clock.advance(30_000)
    expect(told('small-6')).toEqual([expect.stringMatching(/ConfigMap default\/a-6 8 times/)])
    expect(told('small-7')).toEqual([expect.stringMatching(/ConfigMap default\/a-7 8 times/)])
    expect(Number(await sizeIn('a-6'))).toBeLessThan(25)
  })

  it('two operators with the same object: the first keeps it, the second reports its owner, and nothing flips', async () => {
    await create(9)
    await cluster.clock.advance(1000)
    await create(10)
    await cluster.clock.advance(10_000)
    const second = (await cluster.client.get(operators[10]!.own as never, {
      name: 'a',
      namespace: 'default',
    })) as unknown as { readonly status: { readonly conditions: readonly { readonly message: string }[] } }
    expect(JSON.stringify(second.status.conditions)).toContain('belongs to Thing9 a')
    // It is tried again with back-off: the object of another owner is not watched.
    expect([...new Set(told('small-10'))]).toEqual([
      'small-10, controller thing10, for default/a: ConfigMap default/contested exists already and belongs to Thing9 a, not to Thing10 a.',
    ])
    expect(runsOf('small-9').length).toBeLessThan(5)
    expect(await sizeIn('contested')).toBe('1')
  })

  it('names the client that reverts an operator’s writes', async () => {
    let undone = 0
    for (let round = 0; round < 60; round++) {
      if ((await sizeIn('a-20')) === '9') {
        undone++
        const patch = { data: { size: 'mine' } }
        await cluster.client.patch(ConfigMap, { name: 'a-20', namespace: 'default' }, patch, {
          type: 'merge',
          fieldManager: 'legacy-operator',
        })
      }
      await cluster.clock.advance(200)
    }
    expect(told('small-20')).toEqual([expect.stringContaining('and legacy-operator changed it back')])
    expect(undone).toBeLessThan(12)
  })

  it('no other operator has a finding, and at rest nothing is written', async () => {
    const named = new Set(findings.map(({ operator }) => operator))
    expect([...named].toSorted()).toEqual(['small-10', 'small-20', 'small-6', 'small-7', 'small-8'])
    const before = ledgers.flatMap(({ entries, operator }) =>
      named.has(operator) ? [] : entries.filter(isWrite),
    ).length
    await cluster.clock.advance(600_000)
    const after = ledgers.flatMap(({ entries, operator }) =>
      named.has(operator) ? [] : entries.filter(isWrite),
    ).length
    expect(after).toBe(before)
  })

  it('request budget: an operator beyond it is held and reported, and does all of its work in the end', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `many${index}`)
    for (const name of names) await create(45, name)
    await cluster.clock.advance(10_000)
    const made = async (): Promise<number> =>
      (await cluster.client.list(ConfigMap, { namespace: 'default' })).items.filter(({ metadata }) =>
        /^many\d+-45$/.test(metadata.name ?? ''),
      ).length
    expect(await made()).toBeGreaterThan(0)
    expect(await made()).toBeLessThan(names.length)
    expect(runtime.manager.lanes().get('small-45')).toMatchObject({ heldBy: 'budget' })
    expect(told('small-45')).toEqual([expect.stringMatching(/requests/)])
    // No other operator waits for it.
    await resize(44, 3)
    await cluster.clock.advance(1000)
    expect(await sizeIn('a-44')).toBe('3')
    await cluster.clock.advance(150_000)
    expect(await made()).toBe(names.length)
  })

  it('memory budget: an operator beyond it is held and reported, and continues when it is below', async () => {
    for (const name of ['b', 'c', 'd', 'e', 'f', 'g']) {
      const large = cr(46, name)
      // Texts that are the same are kept once.
      const annotations = { bulk: name.repeat(200_000) }
      await cluster.client.create(operators[46]!.own, { ...large, metadata: { ...large.metadata, annotations } })
    }
    await cluster.clock.advance(20_000)
    expect(told('small-46')).toEqual([expect.stringMatching(/cached/)])
    await resize(46, 4)
    await resize(44, 4)
    await cluster.clock.advance(20_000)
    expect(runtime.manager.lanes().get('small-46')).toMatchObject({ heldBy: 'budget' })
    expect([await sizeIn('a-46'), await sizeIn('a-44')]).toEqual(['1', '4'])
    for (const name of ['b', 'c', 'd', 'e']) {
      await cluster.client.delete(operators[46]!.own, { name, namespace: 'default' })
    }
    await cluster.clock.advance(20_000)
    expect(await sizeIn('a-46')).toBe('4')
  })

  it('pause of the whole manager: no operator reconciles meanwhile, and all missed changes are reconciled afterwards', async () => {
    const all = Array.from({ length: 10 }, (_, index) => 30 + index)
    const sizes = async (): Promise<ReadonlySet<string | undefined>> =>
      new Set(await Promise.all(all.map((index) => sizeIn(`a-${index}`))))
    const isPaused = (): readonly boolean[] => runtime.assignments().map(({ lane }) => lane!.isPaused)
    const before = ledgers.length
    await runtime.reconfigure({ ...settingsWith({ 'small-4': {}, 'small-1': {} }), paused: true })
    for (const index of all) await resize(index, 40)
    await cluster.clock.advance(600_000)
    expect(isPaused()).toEqual(Array.from({ length: count }, () => true))
    expect([await sizes(), ledgers.length]).toEqual([new Set(['9']), before])
    await runtime.reconfigure(settingsWith({ 'small-4': {}, 'small-1': {} }))
    await cluster.clock.advance(5000)
    expect(await sizes()).toEqual(new Set(['40']))
    expect(isPaused()).toEqual(Array.from({ length: count }, () => false))
  })
})
