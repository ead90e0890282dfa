/** The finalizer of a CR: while it is there, the CR does not go before its operator has undone what it did for it. */
import type { ReconcileRun, Waves } from './run.ts'

/** The finalizer that an operator puts on the CRs of a kind: no other operator's is called the same. */
export function finalizerName(kind: { readonly plural: string; readonly group: string }, operator: string): string {
  return `${kind.plural}.${kind.group}/${operator}`
}

export function isHeld(run: ReconcileRun): boolean {
  return run.cr.metadata.finalizers?.includes(nameFor(run)) ?? false
}

export async function* hold(run: ReconcileRun): Waves {
  const { finalizers = [] } = run.cr.metadata
  yield* setFinalizers(run, [...finalizers, nameFor(run)], 'added')
}

export async function* release(run: ReconcileRun): Waves {
  const { finalizers = [] } = run.cr.metadata
  const ours = nameFor(run)
  yield* setFinalizers(
    run,
    finalizers.filter((name) => name !== ours),
    'removed',
  )
}

async function* setFinalizers(run: ReconcileRun, finalizers: readonly string[], why: 'added' | 'removed'): Waves {
  const { name = '', namespace, uid = '', resourceVersion = '' } = run.cr.metadata
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
  if (outcome?.object) run.cr = outcome.object
}

function nameFor({ situation: { controller, operator } }: ReconcileRun): string {
  return finalizerName(controller.kind, operator)
}
