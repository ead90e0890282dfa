/** The simulator finds each of the deliberately broken operators, names the right thing, and lets its twin pass. */
import { describe, expect, it } from 'vitest'
import { type FaultKind, faultTable, formatPlan } from './fault.ts'
import { openSimulator, shrink, type Simulator } from './simulate.ts'
import { sample } from '../../../test/broken-operators/bare.ts'
import { intermediateState } from '../../../test/broken-operators/intermediate-state.ts'
import { lostLeases } from '../../../test/broken-operators/lost-leases.ts'
import { expectToPass, howMany } from '../../../test/fault-plans.ts'
import { promises } from '../../../test/broken-operators/promises.ts'
import type { Specimen } from '../../../test/broken-operators/specimen.ts'
import { views } from '../../../test/broken-operators/views.ts'
import { watches } from '../../../test/broken-operators/watches.ts'

const specimens: readonly Specimen[] = [...intermediateState, ...views, ...watches, ...lostLeases, ...promises]

async function open(specimen: Specimen, isCorrect: boolean): Promise<Simulator> {
  const { outside } = specimen
  const subject = specimen.make(isCorrect)
  return await openSimulator({ subject, sample: [sample], workloads: false, mixed: 0, ...(outside && { outside }) })
}

/** The groups of faults by which it shows. */
function groupsOf({ shownBy }: Specimen): readonly string[] {
  return shownBy ? [...new Set(shownBy.map((kind) => faultTable[kind].group))] : ['walk']
}

/** The first plan with no other fault than this one that shows what is to be shown, as short as it gets. */
async function find(simulator: Simulator, { law, says }: Specimen, kind: FaultKind | undefined): Promise<string> {
  for await (const plan of simulator.plans([kind ? faultTable[kind].group : 'walk'])) {
    if (plan.faults[0]?.kind !== kind) continue
    const { violations } = await simulator.runPlan(plan)
    const found = violations.filter((one) => one.law === law && says.test(one.text))
    if (found.length > 0) return formatPlan(await shrink(simulator, plan, found))
  }
  return 'not found'
}

describe('the broken operators', () => {
  it('are at least twenty, with distinct names', () => {
    expect(specimens.length).toBeGreaterThanOrEqual(20)
    expect(new Set(specimens.map(({ name }) => name)).size).toBe(specimens.length)
  })

  it.each([
    'finalizer removed early',
    'finalizer never removed',
    'finalizer added late',
    'edge-triggered creation',
    'edge-triggered change',
    'stale deletion timestamp',
    'missing requeue after an error',
    'field removed from the CR but not from the child',
    'name reuse',
    'non-idempotent create',
  ])('include the well-known bug: %s', (name) => {
    expect(specimens.map((one) => one.name)).toContain(name)
  })

  it.each([
    // How Sieve perturbs a controller's view, and what it found beside that.
    ['Sieve: intermediate state', 5],
    ['Sieve: stale state', 3],
    ['Sieve: unobserved state', 5],
    ['Sieve: indirect', 3],
    // What Sieve's bugs led to.
    ['resource leak', 2],
    ['data loss', 1],
    ['service failure', 1],
    ['security', 1],
    ['controller malfunction', 1],
    ['misconfiguration', 1],
    // What Acto's oracles are about.
    ['Acto: state transition', 2],
    ['Acto: error state', 1],
    ['Acto: status condition', 2],
    ['Acto: stability', 2],
  ])('include the class %s: at least %d', (name, count) => {
    expect(specimens.filter((one) => one.class.includes(name)).length).toBeGreaterThanOrEqual(count)
  })

  it('need every fault: each fault alone reveals one of them', () => {
    const needed = new Set(specimens.flatMap(({ shownBy = [] }) => shownBy))
    expect(Object.keys(faultTable).filter((kind) => !needed.has(kind as FaultKind))).toEqual([])
  })
})

describe('the simulator', () => {
  for (const specimen of specimens) {
    it(`finds: ${specimen.name}`, async () => {
      const simulator = await open(specimen, false)
      for (const kind of specimen.shownBy ?? [undefined]) {
        const shortest = await find(simulator, specimen, kind)
        expect(shortest).toMatch(kind ? new RegExp(`: ${kind}@[^,]+$`) : /^(?!not found)[^:]+$/)
      }
    }, 60_000)

    it(`passes ${howMany} plans of the fixed version: ${specimen.name}`, async () => {
      const isMeant = (plan: string): boolean => !specimen.notMeantFor?.test(plan)
      await expectToPass(await open(specimen, true), { sample: 4, groups: groupsOf(specimen), isMeant })
    }, 600_000)
  }
})
