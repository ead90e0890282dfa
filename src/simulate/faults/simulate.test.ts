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
import type { Violation, Law } from './judge.ts'
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
  return formatTrace((await simulator.runPlan(parsePlan(plan))).run.trace)
}

describe('a simulation', () => {
  const plan = 'create and change: crash@2, delay@e3=500, edit@4=configmaps default/sample'

  it('has the same trace for the same seed, byte for byte, and another one for another seed', async () => {
    const [one, other, third] = [await open(memcached), await open(memcached), await open(memcached, { seed: 2 })]
    const trace = await traceOf(one, plan)
    // What ran in between leaves nothing behind.
    await one.runPlan(parsePlan('delete: lose@e1'))
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

  it('injects every kind of fault into the memcached example, and each takes effect', async () => {
    const simulator = await open(memcached)
    const plans = await Array.fromAsync(simulator.plans())
    const byKind = Map.groupBy(
      plans.filter(({ faults }) => faults.length === 1),
      ({ faults }) => faults[0]!.kind,
    )
    expect(new Set(byKind.keys())).toEqual(new Set(Object.keys(faultTable) as FaultKind[]))
    for (const [first] of byKind.values()) {
      const { run } = await simulator.runPlan(first!)
      expect(run.unreached).toEqual([])
    }
  }, 120_000)

  it('reports a fault whose point was never reached', async () => {
    const { run } = await (await open(memcached)).runPlan(parsePlan('change: crash@99'))
    expect(run.unreached).toEqual([{ kind: 'crash', at: 99 }])
  }, 60_000)
})

describe('a sample that the server rejects', () => {
  it('is an error', async () => {
    const [cr] = samplesOf(memcached)
    const simulator = await open(memcached, { sample: [{ ...cr!, spec: { size: 99 } }] })
    await expect(simulator.runPlan({ scenario: 'create', faults: [] })).rejects.toMatchObject({ name: 'NoSample' })
  }, 60_000)
})

describe('a process that crashes', () => {
  it('leaves nothing behind that fails later, not even delayed events', async () => {
    const simulator = await open(memcached, { workloads: true })
    const lost: unknown[] = []
    const note = (error: unknown): void => void lost.push(error)
    process.on('unhandledRejection', note)
    try {
      await simulator.runPlan(parsePlan('change, delete and create again: merge@e19, crash@5'))
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      process.off('unhandledRejection', note)
    }
    expect(lost).toEqual([])
  }, 60_000)
})

describe('a failure', () => {
  const [specimen] = intermediateState

  it('is minimised', async () => {
    const simulator = await openSimulator({ subject: specimen!.make(false), sample: [brokenSample], workloads: false })
    const long = parsePlan('create: repeat@e1, crash@1, delay@e2=500')
    const { violations } = await simulator.runPlan(long)
    expect(formatPlan(await shrink(simulator, long, violations))).toBe('create: crash@1')
  }, 60_000)

  it.each([
    ['cache expected to be quick', 'create: repeat@e1, freeze@e2=8000', 'create: freeze@e2=500'],
    ['cache expected to be quick', 'create: delay@e2=2000, add@rest=configmaps default/sample', 'create: delay@e2=500'],
    ['slow taken for failed', 'create: slow@1=12000', 'create: slow@1=3000'],
  ])(
    'is reduced to the weakest fault: %s, %s',
    async (name, long, weakest) => {
      const quick = watches.find((one) => one.name === name)!
      const simulator = await openSimulator({ subject: quick.make(false), sample: [brokenSample], workloads: false })
      const { violations } = await simulator.runPlan(parsePlan(long))
      expect(formatPlan(await shrink(simulator, parsePlan(long), violations))).toBe(weakest)
      // A quarter of it would do no harm.
      const [, start = '', ms] = /^(.*=)(\d+)$/.exec(weakest)!
      expect((await simulator.runPlan(parsePlan(`${start}${Number(ms) / 4}`))).violations).toEqual([])
    },
    60_000,
  )

  it.each([
    ['second child only with the first', 'create and change: crash@1', 'create: crash@1'],
    ['counts on', 'create: edit@2=configmaps default/sample', 'create: edit@1=configmaps default/sample'],
    // In the shorter scenario there is no third write: it is found by way of an earlier one.
    ['counts on', 'create and change: edit@3=configmaps default/sample', 'create: edit@1=configmaps default/sample'],
  ])(
    'is reduced to the shortest scenario and the earliest point: %s, %s',
    async (name, long, shortest) => {
      const subject = intermediateState.find((one) => one.name === name)!.make(false)
      const simulator = await openSimulator({ subject, sample: [brokenSample], workloads: false })
      const { violations } = await simulator.runPlan(parsePlan(long))
      expect(violations).not.toEqual([])
      expect(formatPlan(await shrink(simulator, parsePlan(long), violations))).toBe(shortest)
    },
    60_000,
  )

  describe('of a plan', () => {
    const failing = (law: Law, object: string): Violation => ({ law, object, text: '' })
    /** Shrinks a plan where each fails as `violationsOf` has it; returns those that ran. */
    const shrinkWhere = async (text: string, violationsOf: (plan: string) => readonly Violation[]) => {
      const real = await open(memcached)
      const tried: string[] = []
      const runPlan: Simulator['runPlan'] = async (plan) => {
        tried.push(formatPlan(plan))
        const { run } = await real.runPlan({ scenario: 'create', faults: [] })
        return { run, violations: violationsOf(formatPlan(plan)) }
      }
      const shortest = await shrink({ ...real, runPlan }, parsePlan(text), violationsOf(text))
      return { shortest: formatPlan(shortest), tried }
    }

    it('is not confused with another one of the same law', async () => {
      const long = 'create: crash@1, lost@1'
      const { shortest, tried } = await shrinkWhere(long, (plan) => [
        failing('same end', `configmaps default/${plan === long ? 'this' : 'other'}`),
      ])
      expect(shortest).toBe(long)
      expect(tried).toEqual(['create: lost@1', 'create: crash@1'])
    })

    it.each(['rest', 'terms'] as const)('is the same whatever plan ran before, where the law is %s', async (law) => {
      const { shortest } = await shrinkWhere('create: crash@1, lost@1', (plan) => [failing(law, `patch for ${plan}`)])
      expect(shortest).toBe('create')
    })

    it('is minimised in at most thirty other plans, none of them twice', async () => {
      const { shortest, tried } = await shrinkWhere('create and change: crash@99, lose@e99', (plan) =>
        /crash@(?:20|99), lose@e99/.test(plan) ? [failing('same end', 'outside')] : [],
      )
      expect(shortest).toBe('create: crash@20, lose@e99')
      expect(tried).toHaveLength(30)
      expect(new Set(tried).size).toBe(30)
    })

    it('shows a process no state from its future', async () => {
      const { shortest } = await shrinkWhere('create: travel@5=3', (plan) =>
        plan.includes('travel') ? [failing('same end', 'outside')] : [],
      )
      expect(shortest).toBe('create: travel@3=3')
    })
  })

  it('is printed as a trace, and the report contains the number of attempts', async () => {
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
    expect(progress).toEqual(Array.from({ length: report.plans.executed }, (_, index) => index + 1))
    const [{ trace, shortest }] = report.failures as readonly [(typeof report.failures)[number]]
    expect(shortest).toMatch(/^create: crash@1$/)
    expect(trace.join('\n')).toMatch(/a user creates App sample[^]*process 1 crashes before it hears of write 1/)
    expect(trace.at(-1)).toBe('broken: same end: secrets default/sample is missing')
  }, 60_000)
})
