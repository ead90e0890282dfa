/**
 * A bundle: plans that share one run. If a scene begins like another one, a run of the longer scene with the same
 * faults includes the run of the shorter one. So it runs once, and is judged at both ends.
 */
import { formatFault, type FaultPlan } from './fault.ts'
import type { Scene } from './scene.ts'

export interface Bundle {
  /** The plan that runs. */
  readonly longest: FaultPlan
  /** All plans that it covers, the shortest first; the last is `longest`. */
  readonly plans: readonly FaultPlan[]
}

/** Each bundle in the position of its first plan. */
export function bundlesOf(plans: readonly FaultPlan[], scenes: readonly Scene[]): readonly Bundle[] {
  const byName = new Map(scenes.map((scene) => [scene.name, scene]))
  const beginsAs = (plan: FaultPlan, shorter: FaultPlan): boolean =>
    isPart(shorter) && sceneBeginsAs(byName.get(plan.scene), byName.get(shorter.scene))
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
  const stepsOf = ({ scene }: FaultPlan): number => byName.get(scene)?.steps.length ?? 0
  return [...bundles].map(([longest, those]) => ({
    longest,
    plans: those.toSorted((one, other) => stepsOf(one) - stepsOf(other)),
  }))
}

/** A fault at the end of a scene, or one that brings the next step forward, differs in a longer scene. */
function isPart({ faults }: FaultPlan): boolean {
  return faults.length > 0 && faults.every(({ kind, at }) => at !== 'rest' && kind !== 'hurry')
}

export function sceneBeginsAs(scene: Scene | undefined, shorter: Scene | undefined): boolean {
  if (!scene || !shorter || scene.after !== shorter.after || scene.steps.length <= shorter.steps.length) return false
  return shorter.steps.every((step, index) => step === scene.steps[index])
}
