/** Runs the plans of a simulation in a test: all of them if requested, else a sample. */
import { expect } from 'vitest'
import { formatPlan, type FaultPlan } from '../src/simulate/faults/fault.ts'
import { groupOf, someOf } from '../src/simulate/faults/plans.ts'
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
  /**
   * With all plans: at most so many of the groups that are not `crash`, so that an operator with many scenarios does not take
   * an hour. A crash at each write is never left out. @default no limit
   */
  readonly mostOthers?: number
  readonly isMeant?: (plan: string) => boolean
}

export async function expectToPass(
  simulator: Simulator,
  { sample, all, groups = all, isMeant = () => true, mostOthers }: PlanSelection,
): Promise<void> {
  // A scenario is run to learn its plans: of the many that walk over the fields, a sample needs no more than its size.
  const drawn = runsAllPlans ? simulator.plans(all) : simulator.plans(groups, sample)
  const plans: readonly FaultPlan[] = await Array.fromAsync(drawn)
  expect(plans).not.toEqual([])
  const broken: string[] = []
  const meant = plans.filter((plan) => isMeant(formatPlan(plan)))
  const chosen = runsAllPlans ? boundedPlans(meant, mostOthers) : someOfEachGroup(meant, sample, 7)
  for await (const [plan, { violations }] of simulator.runPlans(chosen)) {
    for (const { law, text } of violations) broken.push(`${formatPlan(plan)} breaks ${law}: ${text}`)
  }
  expect(broken).toEqual([])
}

function boundedPlans(plans: readonly FaultPlan[], mostOthers: number | undefined): readonly FaultPlan[] {
  if (mostOthers === undefined) return plans
  const isCrash = (plan: FaultPlan): boolean => groupOf(plan) === 'crash'
  const others = plans.filter((plan) => !isCrash(plan))
  return [...plans.filter(isCrash), ...someOfEachGroup(others, mostOthers, 7)]
}

/**
 * `count` plans, drawn from the groups in turn: a group with few plans, such as crashes, is as much part of a sample as
 * one with many.
 */
export function someOfEachGroup(plans: readonly FaultPlan[], count: number, seed: number): readonly FaultPlan[] {
  const groups = [...Map.groupBy(plans, groupOf).values()]
  const shares = groups.map(() => 0)
  const most = Math.min(count, plans.length)
  for (let given = 0, turn = 0; given < most; turn = (turn + 1) % groups.length) {
    if (shares[turn]! >= groups[turn]!.length) continue
    shares[turn]!++
    given++
  }
  return groups.flatMap((group, index) => someOf(group, shares[index]!, seed))
}
