/**
 * The view of author code. Of the kinds that an operator writes it watches its own objects only, so "not found" would be
 * a guess for any other name: such a read is refused, with the cure.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { Controller } from '../controller.ts'
import { managedByLabel } from '../dependent/desired.ts'
import type { ObjectName, ReadView } from '../view/view.ts'
import type { ReconcileRun } from './run.ts'

export function authorView(view: ReadView, run: ReconcileRun): ReadView {
  const { controller } = run.situation
  const kinds = kindsOfOwnObjects(controller)
  // `reconcile` chooses names as it runs, so they are not known in advance.
  if (kinds.size === 0 || controller.options.reconcile) return view
  let isLooking = false
  return {
    ...view,
    get<T extends KubeObject>(resource: TypedResource<T>, name: ObjectName) {
      const found = view.get(resource, name)
      if (found || isLooking || !kinds.has(formatResource(resource))) return found
      // Names of dependents are computed by author code, which may read, too.
      isLooking = true
      const isOwn = isDependent(run, resource, name)
      isLooking = false
      if (isOwn) return undefined
      const place = name.namespace === undefined ? name.name : `${name.namespace}/${name.name}`
      throw new MusterError(
        operatorErrors.UndeclaredInput,
        `${run.journal.place} reads ${resource.kind} ${place}, which is not a dependent of this CR. Of ${resource.plural} only ` +
          `those that the operator manages are watched: declare others in reads, by name, label or reference.`,
      )
    },
  }
}

const known = new WeakMap<Controller, ReadonlySet<string>>()

/** The kinds of which nothing but the operator's own objects is declared. */
function kindsOfOwnObjects(controller: Controller): ReadonlySet<string> {
  const before = known.get(controller)
  if (before) return before
  const byKind = Map.groupBy(controller.declaredInputs, ({ resource }) => formatResource(resource))
  const found = new Set(
    [...byKind].flatMap(([kind, inputs]) =>
      inputs.every((input) => input.select === 'labels' && Object.hasOwn(input.labels, managedByLabel)) ? [kind] : [],
    ),
  )
  known.set(controller, found)
  return found
}

function isDependent(run: ReconcileRun, resource: Resource, { name, namespace }: ObjectName): boolean {
  const kind = formatResource(resource)
  try {
    return run.registered.some(
      (dependent) =>
        formatResource(dependent.kind) === kind &&
        dependent.items(run.context).some((item) => {
          const own = dependent.nameOf(item)
          return own.name === name && own.namespace === namespace
        }),
    )
  } catch {
    // The same error ends the reconcile when the dependent's turn comes.
    return true
  }
}
