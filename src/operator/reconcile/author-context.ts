/**
 * The parts of an author's context beside CR, view and time: the dependents' live objects, and control over an
 * overridden step.
 */
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
    entries.flatMap(({ dependent, live }) => (dependent.id === id && live ? [live as unknown as T] : []))
  return { ...context, all, own: (dependent) => all(dependent)[0] }
}

export function stepContext(run: ReconcileRun): StepContext<KubeObject> {
  const { entries, journal, owner, registered } = run
  return {
    ...reportContext(run),
    register: (dependent) => void registered.push(dependent),
    // A getter: after next() there is more.
    get wanted() {
      return new Map(entries.flatMap(({ subject, desired: own }) => (own ? [[subject, own.object]] : [])))
    },
    want(subject, object) {
      const entry = entries.find((other) => other.subject === subject)
      if (!entry) throw new MusterError('InvalidResource', `${journal.place} has no ${subject}.`)
      const { dependent } = entry
      const desired = object as unknown as JsonObject
      checkConformity(desired, dependent.kind, typingOf(dependent.kind), { of: `Dependent ${subject}`, in: 'want()' })
      entry.desired = {
        subject,
        sourceDigest: undefined,
        ...marked(desired, dependent.scope, markOwner(dependent, run.cr, owner)),
      }
    },
    requeueAfter: (ms) => journal.requeue(ms),
    failure: journal.failure,
  }
}
