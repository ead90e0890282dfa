/** The simulator finds each of the deliberately broken operators, names the right thing, and lets its twin pass. */
import { describe, expect, it } from 'vitest'
import { faultTable, formatPlan } from './fault.ts'
import { openSimulator, shrink, type Simulator } from './simulate.ts'
import { sample } from '../../test/broken-operators/bare.ts'
import { intermediateState } from '../../test/broken-operators/intermediate-state.ts'
import { lostLeases } from '../../test/broken-operators/lost-leases.ts'
import { expectToPass, howMany } from '../../test/plans.ts'
import { promises } from '../../test/broken-operators/promises.ts'
import type { Specimen } from '../../test/broken-operators/specimen.ts'
import { views } from '../../test/broken-operators/views.ts'

const specimens: readonly Specimen[] = [...intermediateState, ...views, ...lostLeases, ...promises]

async function open(specimen: Specimen, isCorrect: boolean): Promise<Simulator> {
  const { outside } = specimen
  const subject = specimen.make(isCorrect)
  return await openSimulator({ subject, sample: [sample], workloads: false, mixed: 0, ...(outside && { outside }) })
}

/** The groups of faults by which it may show. */
function groupsOf({ shownBy }: Specimen): readonly string[] {
  if (!shownBy) return ['walk']
  const kinds = Object.entries(faultTable).filter(([kind]) => shownBy.test(kind))
  return [...new Set(kinds.map(([, { group }]) => group))]
}

/** The first plan that shows what is to be shown, and all that it breaks. */
async function find(simulator: Simulator, specimen: Specimen): Promise<string | undefined> {
  for await (const plan of simulator.plans(groupsOf(specimen))) {
    if (specimen.shownBy && !specimen.shownBy.test(formatPlan(plan))) continue
    const { failings } = await simulator.play(plan)
    const found = failings.filter(({ law, text }) => law === specimen.law && specimen.says.test(text))
    if (found.length > 0) return formatPlan(await shrink(simulator, plan, found))
  }
  return undefined
}

describe('the simulator', () => {
  it('has at least twenty broken operators to find, each of another name', () => {
    expect(new Set(specimens.map(({ name }) => name)).size).toBeGreaterThanOrEqual(20)
  })

  for (const specimen of specimens) {
    it(`finds: ${specimen.name}`, async () => {
      const shortest = await find(await open(specimen, false), specimen)
      expect(shortest ?? 'not found').toMatch(specimen.shownBy ?? /^(?!not found)[^:]+$/)
    }, 60_000)

    it(`lets ${howMany} the plans of what is corrected pass: ${specimen.name}`, async () => {
      const isMeant = (plan: string): boolean => !specimen.notMeantFor?.test(plan)
      await expectToPass(await open(specimen, true), { sample: 8, groups: groupsOf(specimen), isMeant })
    }, 600_000)
  }
})
