/**
 * A bundle: plans that share one run. If a scenario begins like another one, a run of the longer scenario with the same
 * faults includes the run of the shorter one. So it runs once, and is judged at both ends.
 */
import { formatFault, type FaultPlan } from './fault.ts'
import type { Scenario } from './scenario.ts'

export interface Bundle {
  /** The plan that runs. */
  readonly longest: FaultPlan
  /** All plans that it covers, the shortest first; the last is `longest`. */
  readonly plans: readonly FaultPlan[]
}

/** Each bundle in the position of its first plan. */
export function bundlesOf(plans: readonly FaultPlan[], scenarios: readonly Scenario[]): readonly Bundle[] {
  const byName = new Map(scenarios.map((scenario) => [scenario.name, scenario]))
  const beginsAs = (plan: FaultPlan, shorter: FaultPlan): boolean =>
    isPart(shorter) && scenarioBeginsAs(byName.get(plan.scenario), byName.get(shorter.scenario))
  /** By the longest plan. */
  const bundles = new Map<FaultPlan, FaultPlan[]>()
  const longestOf = new Map<FaultPlan, FaultPlan>()
  for (const alike of Map.groupBy(plans, ({ faults }) => faults.map(formatFault).join()).values()) {
    const longest = alike.filter((plan) => !alike.some((other) => beginsAs(other, plan)))
    for (const plan of alike)
      longestOf.set(plan, longest.includes(plan) ? plan : longest.find((other) => beginsAs(other, plan))!)
  }
  for (const plan of plans) {
    const longest = longestOf.get(plan)!
    const bundle = bundles.get(longest)
    if (bundle) bundle.push(plan)
    else bundles.set(longest, [plan])
  }
  const stepsOf = ({ scenario }: FaultPlan): number => byName.get(scenario)?.steps.length ?? 0
  return [...bundles].map(([longest, those]) => ({
    longest,
    plans: those.toSorted((one, other) => stepsOf(one) - stepsOf(other)),
  }))
}

/** A fault at the end of a scenario, or one that brings the next step forward, differs in a longer scenario. */
function isPart({ faults }: FaultPlan): boolean {
  return faults.length > 0 && faults.every(({ kind, at }) => at !== 'rest' && kind !== 'hurry')
}

export function scenarioBeginsAs(scenario: Scenario | undefined, shorter: Scenario | undefined): boolean {
  if (!scenario || !shorter || scenario.after !== shorter.after || scenario.steps.length <= shorter.steps.length)
    return false
  return shorter.steps.every((step, index) => step === scenario.steps[index])
}
