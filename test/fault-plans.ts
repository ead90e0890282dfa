/** Runs the plans of a simulation in a test: all of them if requested, else a sample. */
import { expect } from 'vitest'
import { formatPlan, type FaultPlan } from '../src/simulate/faults/fault.ts'
import { someOf } from '../src/simulate/faults/plans.ts'
import type { Simulator } from '../src/simulate/faults/simulate.ts'

/** All plans take minutes: `node scripts/run.mjs test:plans` sets this. */
export const runsAllPlans: boolean = process.env['MUSTER_ALL_PLANS'] === '1'

/** For test titles: `passes a sample of its plans`. */
export const howMany: string = runsAllPlans ? 'all' : 'a sample of'

export interface PlanSelection {
  /** The size of a sample. */
  readonly sample: number
  /** The groups that it is drawn from. @default those of `all` */
  readonly groups?: readonly string[]
  /** The groups of which all are run. @default every one */
  readonly all?: readonly string[] | undefined
  readonly isMeant?: (plan: string) => boolean
}

export async function expectToPass(
  simulator: Simulator,
  { sample, all, groups = all, isMeant = () => true }: PlanSelection,
): Promise<void> {
  const plans: readonly FaultPlan[] = await Array.fromAsync(simulator.plans(runsAllPlans ? all : groups))
  expect(plans).not.toEqual([])
  const broken: string[] = []
  const meant = (runsAllPlans ? plans : someOf(plans, sample, 7)).filter((plan) => isMeant(formatPlan(plan)))
  for await (const [plan, { violations }] of simulator.runPlans(meant)) {
    for (const { law, text } of violations) broken.push(`${formatPlan(plan)} breaks ${law}: ${text}`)
  }
  expect(broken).toEqual([])
}
