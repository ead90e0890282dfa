/** ObjectsGetter: which objects are wanted for the CR, by which names, and what is there of them. */
import { MusterError } from '../../kube/errors.ts'
import { formatResource, kindOf, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { mayWrite } from '../coverage.ts'
import { subjectOf } from '../desired.ts'
import { describeInput } from '../input.ts'
import { defineDependent, type Dependent } from '../dependent.ts'
import type { ObjectName } from '../view.ts'
import { takeReport } from './conclusion.ts'
import { hold, isHeld } from './finalizers.ts'
import { observeLife } from './life.ts'
import type { ReconcileRun, Waves } from './run.ts'

export async function* getObjects(run: ReconcileRun): Waves {
  const { options } = run.situation.controller
  if (options.reconcile) await askFreeStyle(run)
  for (const resource of run.registered) register(run, resource)
  if (options.application) await observeLife(run)
  // What only a label ties to the CR, and no definition told of before: its end must be heard of, too.
  const needsHold = run.entries.some(({ resource }) => resource.ownership === 'label')
  if (needsHold && !run.isFinalizing && !isHeld(run)) yield* hold(run)
}

async function askFreeStyle(run: ReconcileRun): Promise<void> {
  const { options } = run.situation.controller
  const wanted = await run.author(() => options.reconcile?.(run.context))
  if (!wanted) return
  const { objects = [], status, requeueAfterMs } = wanted
  for (const object of objects) run.registered.push(resourceFor(run, object))
  takeReport(run, status)
  if (requeueAfterMs !== undefined) run.journal.requeue(requeueAfterMs)
}

/** An object of a free-style controller, as a resource. */
function resourceFor({ situation, cr, journal }: ReconcileRun, object: UntypedObject): Dependent<KubeObject> {
  const { kind: owner, outputs } = situation.controller
  const wanted = kindOf(object)
  const kind = outputs.find((output) => output.kind === wanted.kind && output.group === wanted.group)
  if (!kind) {
    const declared = outputs.map(formatResource).join(', ') || 'nothing'
    throw new MusterError(
      'UndeclaredOutput',
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

function register(run: ReconcileRun, resource: Dependent<KubeObject>): void {
  const { entries, journal, situation } = run
  const items = resource.items(run.context).filter((item) => resource.isActive(item))
  if (items.length === 0) journal.note(resource.id, 'inactive')
  for (const context of items) {
    const name = resource.nameOf(context)
    const subject = subjectOf(resource, context)
    checkAlone(run, resource.kind, name, subject)
    checkDeclared(run, resource.kind, name)
    const live = situation.view.get(resource.kind, name) as UntypedObject | undefined
    entries.push({ resource, context, subject, name, live, desired: undefined, state: 'open' })
  }
}

/** Two wishes for one object would be written in turns, for ever. */
function checkAlone(
  { entries, journal }: ReconcileRun,
  kind: Resource,
  { name, namespace }: ObjectName,
  subject: string,
): void {
  const twin = entries.find(
    (other) =>
      other.name.name === name &&
      other.name.namespace === namespace &&
      formatResource(other.resource.kind) === formatResource(kind),
  )
  if (!twin) return
  throw new MusterError(
    'InvalidResource',
    `${journal.place}: ${subject} and ${twin.subject} are both ${kind.kind} ${name}.`,
  )
}

/** Where names are declared, others are refused before anything is looked at: it is a write that is wanted. */
function checkDeclared({ situation, journal }: ReconcileRun, kind: Resource, name: ObjectName): void {
  const { declaredOutputs } = situation.controller
  const same = declaredOutputs.filter((output) => formatResource(output.resource) === formatResource(kind))
  if (same.length === 0 || mayWrite(same, kind, name)) return
  const where = name.namespace === undefined ? name.name : `${name.namespace}/${name.name}`
  const declared = same.map(describeInput).toSorted().join(', ')
  throw new MusterError(
    'UndeclaredOutput',
    `${journal.place} wants ${kind.kind} ${where}, but declares ${declared} only.`,
  )
}
