/**
 * Deletes a CR's objects: those that are no longer desired, or all that the garbage collector does not cover when the
 * CR is deleted.
 */
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { dependentObjects, prunable } from '../dependent/entry.ts'
import { withdrawal } from '../dependent/shared-fields.ts'
import { inputOf, kindsOf } from '../view/input.ts'
import type { Delete, MutationOutcome } from '../plan.ts'
import { defineDependent, type Dependent } from '../dependent/dependent.ts'
import type { ReconcileRun, Waves } from './run.ts'

/** Deletes objects that are no longer desired. */
export async function* pruneDependents(run: ReconcileRun): Waves {
  // After a failure the desired objects are not all known: delete nothing.
  if (run.journal.failure) return
  yield* withdrawShared(run)
  const all = prunable(run.situation.view, run.cr, prunableDependents(run), run.entries, ownMark(run))
  const obsolete = all.filter(({ uid }) => run.known?.has(uid) ?? true)
  if (obsolete.length > 0) yield* removeDependent(run, obsolete, 'pruned')
}

/**
 * Notes the objects that exist before `reconcile` is asked. It may return what it found: an object that the cache gets afterwards,
 * from a run or a replica before this one, is missing there and still desired.
 */
export function noteKnown(run: ReconcileRun): void {
  const all = prunable(run.situation.view, run.cr, prunableDependents(run), [], ownMark(run))
  run.known = new Set(all.map(({ uid }) => uid))
}

/** Takes the fields of the CR out of shared objects that have no desired fields of it; true when all of them are out. */
export async function* withdrawShared(run: ReconcileRun): Waves<boolean> {
  const { registered, entries, situation, context, cr, owner, journal } = run
  const withdrawals = registered.flatMap((dependent) => {
    if (dependent.policy !== 'share' || entries.some((entry) => entry.dependent === dependent)) return []
    const [item] = dependent.items(context)
    const live = item && situation.view.get(dependent.kind, dependent.nameOf(item))
    return (live && withdrawal(dependent, live as UntypedObject, cr, owner)) ?? []
  })
  if (withdrawals.length === 0) return true
  const outcomes = yield withdrawals
  let isDone = true
  for (const [index, { subject, resource: kind, object }] of withdrawals.entries()) {
    const outcome = outcomes[index]
    const { name = '', namespace } = object.metadata
    if (outcome?.result !== 'failed') journal.note(subject, 'pruned', { object: { kind, name: { name, namespace } } })
    else {
      isDone = false
      journal.fail(outcome.error, subject)
    }
  }
  if (!run.isFinalizing) return isDone
  // The author's `finalize` sees the objects without these fields, in the next run.
  journal.waiting ??= 'its fields are being withdrawn from shared objects'
  journal.requeue(0)
  return false
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
