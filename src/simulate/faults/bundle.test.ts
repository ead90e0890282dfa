/** What is played together must not show: each plan goes as if it were played alone. */
import { describe, expect, it } from 'vitest'
import { database, databaseStaging, memcached } from '../../../test/examples.ts'
import { playsAll } from '../../../test/plans.ts'
import { sample as brokenSample } from '../../../test/broken-operators/bare.ts'
import { intermediateState } from '../../../test/broken-operators/intermediate-state.ts'
import { bundlesOf } from './bundle.ts'
import { formatPlan, parsePlan } from './fault.ts'
import { someOf } from './plans.ts'
import type { Scene, SceneStep } from './scene.ts'
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

describe('plans that are played together', () => {
  for (const [where, workloads, count] of [
    ['where nothing lives', false, 24],
    ['where pods live', true, 8],
  ] as const) {
    it(`go as each of them does alone, ${where}`, async () => {
      const [together, alone] = [await open(workloads), await open(workloads)]
      const all = await Array.fromAsync(together.plans())
      const bundles = bundlesOf(all, together.scenes).filter((bundle) => bundle.plans.length > 1)
      const begun = (playsAll ? bundles : someOf(bundles, count, 5)).flatMap((bundle) => bundle.plans)
      const some = [...new Set([...begun, ...(playsAll && !workloads ? all : someOf(all, count, 6))])]
      const played = await Array.fromAsync(together.playAll(some))
      expect(played.map(([plan]) => formatPlan(plan)).toSorted()).toEqual(some.map(formatPlan).toSorted())
      for (const [plan, { run, failings }] of played) {
        const { run: own, failings: ownFailings } = await alone.play(plan)
        expect(`${formatPlan(plan)}\n${formatTrace(run.trace)}`).toBe(`${formatPlan(plan)}\n${formatTrace(own.trace)}`)
        expect(run).toEqual(own)
        expect(failings).toEqual(ownFailings)
      }
    }, 900_000)
  }

  it('are found broken where their own scene ends', async () => {
    const [specimen] = intermediateState
    const simulator = await openSimulator({ subject: specimen!.make(false), sample: [brokenSample], workloads: false })
    const plans = ['create: crash@1', 'create and change: crash@1', 'create and delete: crash@1'].map(parsePlan)
    expect(bundlesOf(plans, simulator.scenes).map((bundle) => bundle.plans.length)).toEqual([2, 1])
    const broken = (await Array.fromAsync(simulator.playAll(plans))).filter(([, { failings }]) => failings.length > 0)
    for (const [plan, { failings }] of broken) expect(failings).toEqual((await simulator.play(plan)).failings)
    expect(broken.map(([plan]) => formatPlan(plan))).toContain('create: crash@1')
  }, 60_000)

  it('are judged by what was done outside the cluster up to where their own scene ends', async () => {
    const subject = await operatorSubject(() => database)
    const simulator = await openSimulator({ subject, ...(await databaseStaging()), workloads: true })
    const plans = ['create: crash@1', 'create and delete: crash@1'].map(parsePlan)
    expect(bundlesOf(plans, simulator.scenes)).toHaveLength(1)
    const played = await Array.fromAsync(simulator.playAll(plans))
    expect(played.map(([, { run, failings }]) => [run.done, failings])).toEqual([
      [{ actions: [] }, []],
      [{ actions: ['stop'] }, []],
    ])
  }, 60_000)
})

describe('a bundle', () => {
  const step = (text: string): SceneStep => ({ text, act: () => Promise.resolve() })
  const [one, two, three] = [step('one'), step('two'), step('three')]
  const scenes: readonly Scene[] = [
    { name: 'short', steps: [one] },
    { name: 'long', steps: [one, two] },
    { name: 'longest', steps: [one, two, three] },
    { name: 'elsewhere', after: 'short', steps: [one, two] },
    { name: 'other', steps: [two, one] },
  ]
  const bundled = (...plans: readonly string[]): readonly string[] =>
    bundlesOf(plans.map(parsePlan), scenes).map((bundle) => bundle.plans.map(formatPlan).join(' | '))

  it('has the plans whose scenes begin alike, with the same faults', () => {
    expect(bundled('short: crash@1', 'long: crash@1', 'longest: crash@1', 'long: crash@2', 'other: crash@1')).toEqual([
      'short: crash@1 | long: crash@1 | longest: crash@1',
      'long: crash@2',
      'other: crash@1',
    ])
  })

  it('has no plan that begins elsewhere, that nothing strikes in, or that something strikes at the end of', () => {
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
