/** Plans in one run have the same results as alone. */
import { describe, expect, it } from 'vitest'
import { database, databaseStaging, memcached } from '../../../test/examples.ts'
import { runsAllPlans } from '../../../test/fault-plans.ts'
import { sample as brokenSample } from '../../../test/broken-operators/bare.ts'
import { intermediateState } from '../../../test/broken-operators/intermediate-state.ts'
import { bundlesOf } from './bundle.ts'
import { formatPlan, parsePlan } from './fault.ts'
import { someOf } from './plans.ts'
import type { Scenario, ScenarioStep } from './scenario.ts'
import { samplesOf } from '../scorecard/sample.ts'
import { openSimulator, type Simulator } from './simulate.ts'
import { operatorSubject } from './subject.ts'
import { formatTrace } from './trace.ts'

async function open(workloads: boolean): Promise<Simulator> {
  return await openSimulator({
    subject: await operatorSubject(() => memcached),
    sample: samplesOf(memcached),
    workloads,
  })
}

describe('plans in one run', () => {
  for (const [where, workloads, count] of [
    ['without pods', false, 10],
    ['with pods', true, 4],
  ] as const) {
    it(`have the same results as alone, ${where}`, async () => {
      const [together, alone] = [await open(workloads), await open(workloads)]
      const all = await Array.fromAsync(together.plans())
      const bundles = bundlesOf(all, together.scenarios).filter((bundle) => bundle.plans.length > 1)
      const begun = (runsAllPlans ? bundles : someOf(bundles, count, 5)).flatMap((bundle) => bundle.plans)
      const some = [...new Set([...begun, ...(runsAllPlans && !workloads ? all : someOf(all, count, 6))])]
      const executed = await Array.fromAsync(together.runPlans(some))
      expect(executed.map(([plan]) => formatPlan(plan)).toSorted()).toEqual(some.map(formatPlan).toSorted())
      for (const [plan, { run, violations }] of executed) {
        const { run: own, violations: ownViolations } = await alone.runPlan(plan)
        expect(`${formatPlan(plan)}\n${formatTrace(run.trace)}`).toBe(`${formatPlan(plan)}\n${formatTrace(own.trace)}`)
        expect(run).toEqual(own)
        expect(violations).toEqual(ownViolations)
      }
    }, 900_000)
  }

  it('fail where their own scenario ends', async () => {
    const [specimen] = intermediateState
    const simulator = await openSimulator({ subject: specimen!.make(false), sample: [brokenSample], workloads: false })
    const plans = ['create: crash@1', 'create and change: crash@1', 'create and delete: crash@1'].map(parsePlan)
    expect(bundlesOf(plans, simulator.scenarios).map((bundle) => bundle.plans.length)).toEqual([2, 1])
    const broken = (await Array.fromAsync(simulator.runPlans(plans))).filter(
      ([, { violations }]) => violations.length > 0,
    )
    for (const [plan, { violations }] of broken) expect(violations).toEqual((await simulator.runPlan(plan)).violations)
    expect(broken.map(([plan]) => formatPlan(plan))).toContain('create: crash@1')
  }, 60_000)

  it('are judged by the actions outside the cluster up to the end of their own scenario', async () => {
    const subject = await operatorSubject(() => database)
    const simulator = await openSimulator({ subject, ...(await databaseStaging()), workloads: true })
    const plans = ['create: crash@1', 'create and delete: crash@1'].map(parsePlan)
    expect(bundlesOf(plans, simulator.scenarios)).toHaveLength(1)
    const executed = await Array.fromAsync(simulator.runPlans(plans))
    expect(executed.map(([, { run, violations }]) => [run.done, violations])).toEqual([
      [{ actions: [] }, []],
      [{ actions: ['stop'] }, []],
    ])
  }, 60_000)
})

describe('a bundle', () => {
  const step = (text: string): ScenarioStep => ({ text, act: () => Promise.resolve() })
  const [one, two, three] = [step('one'), step('two'), step('three')]
  const scenarios: readonly Scenario[] = [
    { name: 'short', steps: [one] },
    { name: 'long', steps: [one, two] },
    { name: 'longest', steps: [one, two, three] },
    { name: 'elsewhere', after: 'short', steps: [one, two] },
    { name: 'other', steps: [two, one] },
  ]
  const bundled = (...plans: readonly string[]): readonly string[] =>
    bundlesOf(plans.map(parsePlan), scenarios).map((bundle) => bundle.plans.map(formatPlan).join(' | '))

  it('contains plans whose scenarios have a common prefix, with the same faults', () => {
    expect(bundled('short: crash@1', 'long: crash@1', 'longest: crash@1', 'long: crash@2', 'other: crash@1')).toEqual([
      'short: crash@1 | long: crash@1 | longest: crash@1',
      'long: crash@2',
      'other: crash@1',
    ])
  })

  it('contains no plan with another prefix, without a fault, or with a fault at the end', () => {
    for (const plans of [
      ['short: crash@1', 'elsewhere: crash@1'],
      ['short', 'long'],
      ['short: add@rest=configmaps default/a', 'long: add@rest=configmaps default/a'],
      ['long: hurry@1', 'longest: hurry@1'],
      ['short: crash@1, lose@e1', 'long: crash@1'],
    ])
      expect(bundled(...plans)).toEqual(plans)
  })
})
