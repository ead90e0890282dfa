/**
 * Webhooks of all assignments, whichever replica runs them: an API server that calls a Service reaches any replica, and
 * each must be able to answer. So a webhook is served as long as its assignment is in the settings, and not only where
 * the operator runs.
 */
import type { Operator } from '../../operator/operator.ts'
import type { OperatorHostOptions } from '../hosting/host.ts'
import type { Cluster } from '../placement/cluster.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Assignment } from './assignment.ts'

type Serving = Pick<Webhooks, 'set' | 'settled' | 'delete'>

export interface AssignedWebhooks {
  /** For the host of an assignment on this replica. `own`: the cluster to register in, as the manager. */
  of(assignment: Assignment, own: Cluster): NonNullable<OperatorHostOptions['webhooks']>
  /** For an assignment that any replica may run. Resolves when the webhooks are registered. @throws InvalidWebhook */
  serve(assignment: Assignment, operator: Operator, own: Cluster): Promise<void>
  /** The assignment is no longer in the settings. */
  drop(id: string): Promise<void>
}

export function createAssignedWebhooks(webhooks: Serving): AssignedWebhooks {
  /** Served webhooks by assignment. */
  const served = new Map<string, { readonly declared: object; readonly own: Cluster }>()
  // The name of an operator contains no dot.
  const nameOf = (id: string): string => id.replace('@', '.')

  const set = ({ id, at, settings }: Assignment, declared: Parameters<Serving['set']>[1], own: Cluster): void => {
    // A hosted part of a cluster has no registrations of its own: those would match the objects of all parts.
    if (at !== undefined && Object.hasOwn(settings.placement.hosted, at)) return
    const before = served.get(id)
    if (before?.declared === declared && before.own === own) return
    if (at === undefined) webhooks.set(nameOf(id), declared)
    else webhooks.set(nameOf(id), declared, own)
    served.set(id, { declared, own })
  }

  return {
    of: (assignment, own) => ({
      set: (_, declared) => set(assignment, declared, own),
      settled: () => webhooks.settled(nameOf(assignment.id)),
      // While the assignment is in the settings, some replica runs it and API servers call its webhooks.
      delete: () => Promise.resolve(),
    }),
    async serve(assignment, operator, own) {
      if (operator.webhooks.length + operator.conversions.length === 0) return
      set(assignment, operator, own)
      await webhooks.settled(nameOf(assignment.id))
    },
    async drop(id) {
      if (served.delete(id)) await webhooks.delete(nameOf(id))
    },
  }
}
