/** The operator's finalizer on a CR: the API server keeps the CR until the operator has cleaned up and removed it. */
import type { Named } from '../../kube/object.ts'
import type { ReconcileRun, Waves } from './run.ts'

/** The finalizer of an operator on the CRs of a kind, unique to the operator. */
export function finalizerName(kind: { readonly plural: string; readonly group: string }, operator: string): string {
  return `${kind.plural}.${kind.group}/${operator}`
}

export function hasOwnFinalizer(run: ReconcileRun): boolean {
  return run.cr.metadata.finalizers?.includes(nameFor(run)) ?? false
}

export async function* addFinalizer(run: ReconcileRun): Waves {
  const { finalizers = [] } = run.cr.metadata
  yield* setFinalizers(run, [...finalizers, nameFor(run)], 'added')
}

export async function* removeFinalizer(run: ReconcileRun): Waves {
  const { finalizers = [] } = run.cr.metadata
  const ours = nameFor(run)
  yield* setFinalizers(
    run,
    finalizers.filter((name) => name !== ours),
    'removed',
  )
}

async function* setFinalizers(run: ReconcileRun, finalizers: readonly string[], why: 'added' | 'removed'): Waves {
  const { name, namespace, uid = '', resourceVersion = '' } = run.cr.metadata
  const [outcome] = yield [
    {
      verb: 'finalizers',
      subject: 'cr',
      resource: run.situation.controller.kind,
      name: { name, namespace },
      uid,
      resourceVersion,
      finalizers,
      why,
    },
  ]
  if (outcome?.result === 'failed') throw outcome.error
  run.journal.note('cr', why === 'added' ? 'finalizerAdded' : 'finalizerRemoved')
  if (outcome?.object) run.cr = outcome.object as Named
}

function nameFor({ situation: { controller, operator } }: ReconcileRun): string {
  return finalizerName(controller.kind, operator)
}
