/** Plays the plans of a simulation in a test: all of them where there is time for it, else a sample. */
import { expect } from 'vitest'
import { formatPlan, type FaultPlan } from '../src/simulate/faults/fault.ts'
import { someOf } from '../src/simulate/faults/plans.ts'
import type { Simulator } from '../src/simulate/faults/simulate.ts'

/** All plans take minutes: `node scripts/run.mjs test:plans` sets this. */
export const playsAll: boolean = process.env['MUSTER_ALL_PLANS'] === '1'

/** For the names of tests: `passes a sample of its plans`. */
export const howMany: string = playsAll ? 'all' : 'a sample of'

export interface Played {
  /** How many a sample has. */
  readonly sample: number
  /** The groups that it is drawn from. @default those of `all` */
  readonly groups?: readonly string[]
  /** The groups of which all are played. @default every one */
  readonly all?: readonly string[] | undefined
  readonly isMeant?: (plan: string) => boolean
}

export async function expectToPass(
  simulator: Simulator,
  { sample, all, groups = all, isMeant = () => true }: Played,
): Promise<void> {
  const plans: readonly FaultPlan[] = await Array.fromAsync(simulator.plans(playsAll ? all : groups))
  expect(plans).not.toEqual([])
  const broken: string[] = []
  const meant = (playsAll ? plans : someOf(plans, sample, 7)).filter((plan) => isMeant(formatPlan(plan)))
  for await (const [plan, { failings }] of simulator.playAll(meant)) {
    for (const { law, text } of failings) broken.push(`${formatPlan(plan)} breaks ${law}: ${text}`)
  }
  expect(broken).toEqual([])
}
