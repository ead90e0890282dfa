/**
 * A bundle: plans that one run answers. Where a scene begins as another one does, a run of the longer one with the same faults is
 * the run of the shorter one, up to where that one ends. So it is played once, and judged where each of them ends.
 */
import { formatFault, type FaultPlan } from './fault.ts'
import type { Scene } from './scene.ts'

export interface Bundle {
  /** The one that is played. */
  readonly longest: FaultPlan
  /** All that it answers, the shortest first: it is the last of them. */
  readonly plans: readonly FaultPlan[]
}

/** Each as early as the first of its plans. */
export function bundlesOf(plans: readonly FaultPlan[], scenes: readonly Scene[]): readonly Bundle[] {
  const byName = new Map(scenes.map((scene) => [scene.name, scene]))
  const beginsAs = (plan: FaultPlan, shorter: FaultPlan): boolean =>
    isPart(shorter) && sceneBeginsAs(byName.get(plan.scene), byName.get(shorter.scene))
  /** By the one that is played. */
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

/** What strikes at its end, or does its next step, is something else where a scene goes on. */
function isPart({ faults }: FaultPlan): boolean {
  return faults.length > 0 && faults.every(({ kind, at }) => at !== 'rest' && kind !== 'hurry')
}

export function sceneBeginsAs(scene: Scene | undefined, shorter: Scene | undefined): boolean {
  if (!scene || !shorter || scene.after !== shorter.after || scene.steps.length <= shorter.steps.length) return false
  return shorter.steps.every((step, index) => step === scene.steps[index])
}
