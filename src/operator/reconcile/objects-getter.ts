/** ObjectsGetter: determines the dependents of the CR, their names and their live objects. */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, kindOf, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { mayWrite, noReferences, selects } from '../view/coverage.ts'
import type { Controller } from '../controller.ts'
import { subjectOf } from '../dependent/desired.ts'
import { describeInput } from '../view/input.ts'
import { defineDependent, type Dependent } from '../dependent/dependent.ts'
import type { ObjectName } from '../view/view.ts'
import { takeReport } from './conclusion.ts'
import { addFinalizer, hasOwnFinalizer } from './finalizers.ts'
import { observeLife } from './life.ts'
import { noteKnown } from './pruning.ts'
import type { ReconcileRun, Waves } from './run.ts'

export async function* getObjects(run: ReconcileRun): Waves {
  const { options } = run.situation.controller
  if (options.reconcile) await runFreeStyle(run)
  for (const dependent of run.registered) register(run, dependent)
  if (options.application) await observeLife(run)
  // A dependent that is tied to the CR by a label only, and that was not known at CRGetter, needs a finalizer, too.
  const needsFinalizer = run.entries.some(({ dependent }) => dependent.ownership === 'label')
  if (needsFinalizer && !run.isFinalizing && !hasOwnFinalizer(run)) yield* addFinalizer(run)
}

async function runFreeStyle(run: ReconcileRun): Promise<void> {
  const { options } = run.situation.controller
  noteKnown(run)
  const result = await run.author(() => options.reconcile?.(run.context))
  if (!result) return
  const { objects = [], status, requeueAfterMs } = result
  for (const object of objects) run.registered.push(dependentFor(run, object))
  takeReport(run, status)
  if (requeueAfterMs !== undefined) run.journal.requeue(requeueAfterMs)
}

/** An object that `reconcile` returned, as a dependent. */
function dependentFor({ situation, cr, journal }: ReconcileRun, object: UntypedObject): Dependent<KubeObject> {
  const { kind: owner, outputs } = situation.controller
  const wanted = kindOf(object)
  const kind = outputs.find((output) => output.kind === wanted.kind && output.group === wanted.group)
  if (!kind) {
    const declared = outputs.map(formatResource).join(', ') || 'nothing'
    throw new MusterError(
      operatorErrors.UndeclaredOutput,
      `${journal.place} wants ${object.kind} of ${object.apiVersion}, but declares ${declared} only.`,
    )
  }
  const { name = '', namespace } = object.metadata
  const isElsewhere = namespace !== undefined && namespace !== cr.metadata.namespace
  return defineDependent<KubeObject, UntypedObject>({
    for: owner,
    kind,
    id: isElsewhere ? `${kind.kind}/${namespace}/${name}` : `${kind.kind}/${name}`,
    name: () => name,
    ...(isElsewhere && { namespace: () => namespace }),
    initial: object,
  })
}

function register(run: ReconcileRun, dependent: Dependent<KubeObject>): void {
  const { entries, journal } = run
  const items = dependent.items(run.context).filter((item) => dependent.isActive(item))
  if (items.length === 0) journal.note(dependent.id, 'inactive')
  for (const context of items) {
    const name = dependent.nameOf(context)
    const subject = subjectOf(dependent, context)
    checkUnique(run, dependent.kind, name, subject)
    checkDeclared(run, dependent.kind, name)
    const live = readWhole(run, dependent.kind, name)
    entries.push({ dependent, context, subject, name, live, desired: undefined, state: 'open' })
  }
}

/**
 * An object that the controller reads in part cannot be compared with the desired one. It counts as not seen: its creation fails,
 * since it exists, and the reconcile goes on with the whole object.
 */
function readWhole({ situation }: ReconcileRun, kind: Resource, name: ObjectName): UntypedObject | undefined {
  const { view, controller } = situation
  const live = view.get(kind, name) as UntypedObject | undefined
  return live && isReadWhole(controller, kind, live) ? live : undefined
}

function isReadWhole({ declaredInputs }: Controller, kind: Resource, object: KubeObject): boolean {
  const same = declaredInputs.filter(({ resource }) => formatResource(resource) === formatResource(kind))
  if (same.every(({ fields }) => fields === undefined)) return true
  return same.some((input) => input.fields === undefined && selects(input, object, noReferences))
}

/** Two dependents with the same object would be written in turns for ever. */
function checkUnique(
  { entries, journal }: ReconcileRun,
  kind: Resource,
  { name, namespace }: ObjectName,
  subject: string,
): void {
  const twin = entries.find(
    (other) =>
      other.name.name === name &&
      other.name.namespace === namespace &&
      formatResource(other.dependent.kind) === formatResource(kind),
  )
  if (!twin) return
  throw new MusterError(
    operatorErrors.InvalidDependent,
    `${journal.place}: ${subject} and ${twin.subject} are both ${kind.kind} ${name}.`,
  )
}

/**
 * If `writes` declares names, other names are refused before the view is read: the declaration that matters is the
 * write.
 */
function checkDeclared({ situation, journal }: ReconcileRun, kind: Resource, name: ObjectName): void {
  const { declaredOutputs } = situation.controller
  const same = declaredOutputs.filter((output) => formatResource(output.resource) === formatResource(kind))
  if (same.length === 0 || mayWrite(same, kind, name)) return
  const where = name.namespace === undefined ? name.name : `${name.namespace}/${name.name}`
  const declared = same.map(describeInput).toSorted().join(', ')
  throw new MusterError(
    operatorErrors.UndeclaredOutput,
    `${journal.place} wants ${kind.kind} ${where}, but declares ${declared} only.`,
  )
}
