/** What was made for a CR and must go: because it is not wanted any more, or because the CR goes itself. */
import type { KubeObject } from '../../kube/object.ts'
import { made, prunable } from '../entry.ts'
import { inputOf, kindsOf } from '../input.ts'
import type { Delete, MutationOutcome } from '../plan.ts'
import { defineDependent, type Dependent } from '../dependent.ts'
import type { ReconcileRun, Waves } from './run.ts'

/** Deletes what is not wanted any more. */
export async function* pruneDependents(run: ReconcileRun): Waves {
  // After a failure nobody knows what is wanted: what is there stays.
  if (run.journal.failure) return
  const unwanted = prunable(run.situation.view, run.cr, prunedResources(run), run.entries, ownMark(run))
  if (unwanted.length > 0) yield* removeDependent(run, unwanted, 'pruned')
}

/** Has them deleted, and notes what came of each. */
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

/** What is tied to the CR by a label alone: no garbage collector would see it. */
export function uncollected(
  run: ReconcileRun,
): readonly { readonly resource: Dependent<KubeObject>; readonly object: KubeObject }[] {
  return prunedResources(run)
    .filter(({ ownership }) => ownership === 'label')
    .flatMap((resource) =>
      made(run.situation.view, run.cr, resource, ownMark(run)).map((object) => ({ resource, object })),
    )
}

/** Where such objects may be: the kinds of all resources, and of what free style may write. */
function prunedResources({ situation, registered }: ReconcileRun): readonly Dependent<KubeObject>[] {
  const { kind: owner, options } = situation.controller
  const free = kindsOf((options.writes ?? []).map(inputOf)).flatMap((kind) => {
    const near = defineDependent<KubeObject, KubeObject>({ for: owner, kind })
    if (near.ownership === 'label' || !owner.namespaced) return [near]
    return [near, defineDependent<KubeObject, KubeObject>({ for: owner, kind, namespace: anyNamespace })]
  })
  return [...registered, ...free]
}

/** It is looked for by its label: by which name is nobody's question. */
const anyNamespace = (): string => ''

function ownMark({ owner: { operator, controller } }: ReconcileRun): string {
  return `${operator}.${controller}`
}
