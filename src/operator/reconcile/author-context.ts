/** What authors are given beside the CR, the view and the time: their objects at the end, and in a step of theirs a say. */
import { MusterError } from '../../kube/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ReportContext, StepContext } from '../controller.ts'
import { checkConformity } from '../conformity.ts'
import { marked, markOwner, typingOf } from '../desired.ts'
import type { Dependent } from '../dependent.ts'
import type { ReconcileRun } from './run.ts'

export function reportContext({ context, entries }: ReconcileRun): ReportContext<KubeObject> {
  const all = <T extends KubeObject>({ id }: Dependent<KubeObject, T>): readonly T[] =>
    entries.flatMap(({ resource, live }) => (resource.id === id && live ? [live as unknown as T] : []))
  return { ...context, all, own: (resource) => all(resource)[0] }
}

export function stepContext(run: ReconcileRun): StepContext<KubeObject> {
  const { entries, journal, owner, registered } = run
  return {
    ...reportContext(run),
    register: (resource) => void registered.push(resource),
    // As it is when it is asked for: after next() there is more.
    get wanted() {
      return new Map(entries.flatMap(({ subject, desired }) => (desired ? [[subject, desired.object]] : [])))
    },
    want(subject, object) {
      const entry = entries.find((other) => other.subject === subject)
      if (!entry) throw new MusterError('InvalidResource', `${journal.place} has no ${subject}.`)
      const { resource } = entry
      const wanted = object as unknown as JsonObject
      checkConformity(wanted, resource.kind, typingOf(resource.kind), { of: `Resource ${subject}`, in: 'want()' })
      entry.desired = {
        subject,
        words: undefined,
        ...marked(wanted, resource.scope, markOwner(resource, run.cr, owner)),
      }
    },
    requeueAfter: (ms) => journal.requeue(ms),
    failure: journal.failure,
  }
}
