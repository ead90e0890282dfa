/**
 * Deletes a CR's objects: those that are no longer desired, or all that the garbage collector does not cover when the
 * CR is deleted.
 */
import type { KubeObject } from '../../kube/object.ts'
import { dependentObjects, prunable } from '../entry.ts'
import { inputOf, kindsOf } from '../input.ts'
import type { Delete, MutationOutcome } from '../plan.ts'
import { defineDependent, type Dependent } from '../dependent.ts'
import type { ReconcileRun, Waves } from './run.ts'

/** Deletes objects that are no longer desired. */
export async function* pruneDependents(run: ReconcileRun): Waves {
  // After a failure the desired objects are not all known: delete nothing.
  if (run.journal.failure) return
  const obsolete = prunable(run.situation.view, run.cr, prunableDependents(run), run.entries, ownMark(run))
  if (obsolete.length > 0) yield* removeDependent(run, obsolete, 'pruned')
}

/** Yields the deletions and records their outcomes. */
export async function* removeDependent(
  { journal }: ReconcileRun,
  deletions: readonly Delete[],
  operation: 'pruned' | 'deleted',
): Waves<readonly MutationOutcome[]> {
  const outcomes = yield deletions
  for (const [index, { subject, resource: kind, name }] of deletions.entries()) {
    const outcome = outcomes[index]
    if (outcome?.result === 'failed') journal.fail(outcome.error, subject)
    else journal.note(subject, operation, { object: { kind, name } })
  }
  return outcomes
}

/** Live objects tied to the CR by a label: the garbage collector does not cover them. */
export function uncollected(
  run: ReconcileRun,
): readonly { readonly dependent: Dependent<KubeObject>; readonly object: KubeObject }[] {
  return prunableDependents(run)
    .filter(({ ownership }) => ownership === 'label')
    .flatMap((dependent) =>
      dependentObjects(run.situation.view, run.cr, dependent, ownMark(run)).map((object) => ({ dependent, object })),
    )
}

/** The dependents whose kinds may have such objects: all definitions, and the kinds in `writes`. */
function prunableDependents({ situation, registered }: ReconcileRun): readonly Dependent<KubeObject>[] {
  const { kind: owner, options } = situation.controller
  const free = kindsOf((options.writes ?? []).map(inputOf)).flatMap((kind) => {
    const near = defineDependent<KubeObject, KubeObject>({ for: owner, kind })
    if (near.ownership === 'label' || !owner.namespaced) return [near]
    return [near, defineDependent<KubeObject, KubeObject>({ for: owner, kind, namespace: anyNamespace })]
  })
  return [...registered, ...free]
}

/** Objects are found by their label; the name does not matter. */
const anyNamespace = (): string => ''

function ownMark({ owner: { operator, controller } }: ReconcileRun): string {
  return `${operator}.${controller}`
}
