import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { memcached } from '../../../test/examples.ts'
import { sample as brokenSample } from '../../../test/broken-operators/bare.ts'
import { intermediateState } from '../../../test/broken-operators/intermediate-state.ts'
import { watches } from '../../../test/broken-operators/watches.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import { type FaultKind, faultTable, formatPlan, parsePlan } from './fault.ts'
import type { Failing, Law } from './judge.ts'
import { samplesOf } from '../scorecard/sample.ts'
import { openSimulator, shrink, simulate, type Simulator } from './simulate.ts'
import { operatorSubject } from './subject.ts'
import { formatTrace } from './trace.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

async function open(
  operator: Operator,
  {
    seed = 1,
    workloads = false,
    sample = samplesOf(operator),
  }: { seed?: number; workloads?: boolean; sample?: readonly UntypedObject[] } = {},
): Promise<Simulator> {
  return await openSimulator({ subject: await operatorSubject(() => operator), sample, seed, workloads })
}

async function traceOf(simulator: Simulator, plan: string): Promise<string> {
  return formatTrace((await simulator.play(parsePlan(plan))).run.trace)
}

describe('a simulation', () => {
  const plan = 'create and change: crash@2, delay@e3=500, edit@4=configmaps default/sample'

  it('has the same trace for the same seed, byte for byte, and another one for another seed', async () => {
    const [one, other, third] = [await open(memcached), await open(memcached), await open(memcached, { seed: 2 })]
    const trace = await traceOf(one, plan)
    // What was played in between leaves nothing behind.
    await one.play(parsePlan('delete: lose@e1'))
    expect(await traceOf(one, plan)).toBe(trace)
    expect(await traceOf(other, plan)).toBe(trace)
    expect(await traceOf(third, plan)).not.toBe(trace)
    expect(trace.split('\n').length).toBeGreaterThan(20)
  }, 60_000)

  it('has the same trace in another process', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        '--conditions=muster-source',
        'src/cli/main.ts',
        'simulate',
        'examples/memcached/operator.ts',
        '--bare',
        '--replay',
        plan,
      ],
      { cwd: root },
    )
    expect(stdout).toBe(`${await traceOf(await open(memcached), plan)}\n${plan}: no law is broken\n`)
  }, 120_000)

  it('with workloads has the same trace for the same seed, too', async () => {
    const traces = [await open(memcached, { workloads: true }), await open(memcached, { workloads: true })]
    const [one, other] = await Promise.all(traces.map((simulator) => traceOf(simulator, 'create: crash@6')))
    expect(one).toBe(other)
    expect(one).toContain('pods default/sample-')
  }, 60_000)

  it('tries every kind of fault on the memcached example, and each strikes', async () => {
    const simulator = await open(memcached)
    const plans = await Array.fromAsync(simulator.plans())
    const byKind = Map.groupBy(
      plans.filter(({ faults }) => faults.length === 1),
      ({ faults }) => faults[0]!.kind,
    )
    expect(new Set(byKind.keys())).toEqual(new Set(Object.keys(faultTable) as FaultKind[]))
    for (const [first] of byKind.values()) {
      const { run } = await simulator.play(first!)
      expect(run.unstruck).toEqual([])
    }
  }, 120_000)

  it('tells of a fault whose point never came', async () => {
    const { run } = await (await open(memcached)).play(parsePlan('change: crash@99'))
    expect(run.unstruck).toEqual([{ kind: 'crash', at: 99 }])
  }, 60_000)
})

describe('a sample that the server refuses', () => {
  it('is no sample', async () => {
    const [cr] = samplesOf(memcached)
    const simulator = await open(memcached, { sample: [{ ...cr!, spec: { size: 99 } }] })
    await expect(simulator.play({ scene: 'create', faults: [] })).rejects.toMatchObject({ name: 'NoSample' })
  }, 60_000)
})

describe('a process that crashes', () => {
  it('leaves nothing behind that fails later, not even what an event was held back for', async () => {
    const simulator = await open(memcached, { workloads: true })
    const lost: unknown[] = []
    const note = (error: unknown): void => void lost.push(error)
    process.on('unhandledRejection', note)
    try {
      await simulator.play(parsePlan('change, delete and create again: merge@e19, crash@5'))
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      process.off('unhandledRejection', note)
    }
    expect(lost).toEqual([])
  }, 60_000)
})

describe('a failure', () => {
  const [specimen] = intermediateState

  it('is made as short as it gets', async () => {
    const simulator = await openSimulator({ subject: specimen!.make(false), sample: [brokenSample], workloads: false })
    const long = parsePlan('create: repeat@e1, crash@1, delay@e2=500')
    const { failings } = await simulator.play(long)
    expect(formatPlan(await shrink(simulator, long, failings))).toBe('create: crash@1')
  }, 60_000)

  it.each([
    ['cache expected to be quick', 'create: repeat@e1, freeze@e2=8000', 'create: freeze@e2=500'],
    ['cache expected to be quick', 'create: delay@e2=2000, add@rest=configmaps default/sample', 'create: delay@e2=500'],
    ['slow taken for failed', 'create: slow@1=12000', 'create: slow@1=3000'],
  ])(
    'is made as weak as it gets: %s, %s',
    async (name, long, weakest) => {
      const quick = watches.find((one) => one.name === name)!
      const simulator = await openSimulator({ subject: quick.make(false), sample: [brokenSample], workloads: false })
      const { failings } = await simulator.play(parsePlan(long))
      expect(formatPlan(await shrink(simulator, parsePlan(long), failings))).toBe(weakest)
      // A quarter of it would do no harm.
      const [, start = '', ms] = /^(.*=)(\d+)$/.exec(weakest)!
      expect((await simulator.play(parsePlan(`${start}${Number(ms) / 4}`))).failings).toEqual([])
    },
    60_000,
  )

  it.each([
    ['second child only with the first', 'create and change: crash@1', 'create: crash@1'],
    ['counts on', 'create: edit@2=configmaps default/sample', 'create: edit@1=configmaps default/sample'],
    // In the shorter scene there is no third write: it is found by way of an earlier one.
    ['counts on', 'create and change: edit@3=configmaps default/sample', 'create: edit@1=configmaps default/sample'],
  ])(
    'is told of the shortest scene, and of the earliest point: %s, %s',
    async (name, long, shortest) => {
      const subject = intermediateState.find((one) => one.name === name)!.make(false)
      const simulator = await openSimulator({ subject, sample: [brokenSample], workloads: false })
      const { failings } = await simulator.play(parsePlan(long))
      expect(failings).not.toEqual([])
      expect(formatPlan(await shrink(simulator, parsePlan(long), failings))).toBe(shortest)
    },
    60_000,
  )

  describe('of a plan', () => {
    const failing = (law: Law, object: string): Failing => ({ law, object, text: '' })
    /** Shrinks a plan where each fails as `failingsOf` has it; says which were played. */
    const shrinkWhere = async (text: string, failingsOf: (plan: string) => readonly Failing[]) => {
      const real = await open(memcached)
      const tried: string[] = []
      const play: Simulator['play'] = async (plan) => {
        tried.push(formatPlan(plan))
        const { run } = await real.play({ scene: 'create', faults: [] })
        return { run, failings: failingsOf(formatPlan(plan)) }
      }
      const shortest = await shrink({ ...real, play }, parsePlan(text), failingsOf(text))
      return { shortest: formatPlan(shortest), tried }
    }

    it('is not taken for another one of the same law', async () => {
      const long = 'create: crash@1, lost@1'
      const { shortest, tried } = await shrinkWhere(long, (plan) => [
        failing('same end', `configmaps default/${plan === long ? 'this' : 'other'}`),
      ])
      expect(shortest).toBe(long)
      expect(tried).toEqual(['create: lost@1', 'create: crash@1'])
    })

    it.each(['rest', 'terms'] as const)(
      'is the same one whatever was asked for last, where the law is %s',
      async (law) => {
        const { shortest } = await shrinkWhere('create: crash@1, lost@1', (plan) => [failing(law, `patch for ${plan}`)])
        expect(shortest).toBe('create')
      },
    )

    it('is looked for in thirty other plans at the most, and in none of them twice', async () => {
      const { shortest, tried } = await shrinkWhere('create and change: crash@99, lose@e99', (plan) =>
        /crash@(?:20|99), lose@e99/.test(plan) ? [failing('same end', 'outside')] : [],
      )
      expect(shortest).toBe('create: crash@20, lose@e99')
      expect(tried).toHaveLength(30)
      expect(new Set(tried).size).toBe(30)
    })

    it('shows a process no past that is yet to come', async () => {
      const { shortest } = await shrinkWhere('create: travel@5=3', (plan) =>
        plan.includes('travel') ? [failing('same end', 'outside')] : [],
      )
      expect(shortest).toBe('create: travel@3=3')
    })
  })

  it('is told as a story, and the report says how much was tried', async () => {
    const subject = specimen!.make(false)
    const progress: number[] = []
    const report = await simulate({
      subject,
      sample: [brokenSample],
      workloads: false,
      groups: ['crash'],
      limit: 20,
      mostFailures: 1,
      onProgress: (done) => void progress.push(done),
    })
    expect(report).toMatchObject({ operator: 'broken', passed: false, plans: { failed: 1 } })
    expect(progress).toEqual(Array.from({ length: report.plans.played }, (_, index) => index + 1))
    const [{ story, shortest }] = report.failures as readonly [(typeof report.failures)[number]]
    expect(shortest).toMatch(/^create: crash@1$/)
    expect(story.join('\n')).toMatch(/a user creates App sample[^]*process 1 crashes before it hears of write 1/)
    expect(story.at(-1)).toBe('broken: same end: secrets default/sample is missing')
  }, 60_000)
})
