/**
 * The parts of an author's context beside CR, view and time: the dependents' live objects, and control over an
 * overridden step.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { asJson } from '../../kube/json-object.ts'
import type { KubeObject, Named } from '../../kube/object.ts'
import type { ReportContext, StepContext } from '../controller.ts'
import { checkConformity } from '../dependent/conformity.ts'
import { marked, markOwner, typingOf, withManagedBy } from '../dependent/desired.ts'
import type { Dependent } from '../dependent/dependent.ts'
import type { ReconcileRun } from './run.ts'

export function reportContext({ context, entries, embedded, journal }: ReconcileRun): ReportContext<KubeObject> {
  const all = <T extends KubeObject>({ id }: Dependent<KubeObject, T>): readonly Named<T>[] =>
    entries.flatMap(({ dependent, live }) => (dependent.id === id && live ? [live as KubeObject as Named<T>] : []))
  return {
    ...context,
    all,
    own: (dependent) => all(dependent)[0],
    withheld: ({ id }) => entries.flatMap(({ dependent, withheld = [] }) => (dependent.id === id ? withheld : [])),
    embedded,
    requeueAfter: (ms) => journal.requeue(ms),
    waitFor: (text) => void (journal.waiting ??= text),
    event: (draft) => journal.event(draft),
    gauge: (name, value) => journal.gauge(name, value),
  }
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
      if (!entry) throw new MusterError(operatorErrors.InvalidDependent, `${journal.place} has no ${subject}.`)
      const { dependent } = entry
      const desired = asJson(object)
      checkConformity(desired, dependent.kind, typingOf(dependent.kind), { of: `Dependent ${subject}`, in: 'want()' })
      entry.desired = {
        subject,
        sourceDigest: undefined,
        ...marked(withManagedBy(desired, owner), dependent.scope, markOwner(dependent, run.cr, owner)),
      }
    },
    failure: journal.failure,
  }
}
