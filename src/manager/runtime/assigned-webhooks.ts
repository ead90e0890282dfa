/**
 * Webhooks of all postings, whichever replica works them: an API server that asks by a Service reaches any replica, and
 * each must have the answer. So they are served from when a posting is wanted until it is not, and not only where it runs.
 */
import type { Operator } from '../../operator/operator.ts'
import type { OperatorHostOptions } from '../hosting/host.ts'
import type { TargetCluster } from '../placement/cluster.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Assignment } from './assignment.ts'

type Serving = Pick<Webhooks, 'set' | 'settled' | 'delete'>

export interface AssignedWebhooks {
  /** For the host of a posting, here. `own`: where it registers, as the manager. */
  of(posting: Assignment, own: TargetCluster): NonNullable<OperatorHostOptions['webhooks']>
  /** For a posting that any replica works. Resolves when API servers were told. @throws InvalidWebhook */
  serve(posting: Assignment, operator: Operator, own: TargetCluster): Promise<void>
  /** Nobody wants them any more. */
  drop(id: string): Promise<void>
}

export function createAssignedWebhooks(webhooks: Serving): AssignedWebhooks {
  /** By posting, what is served. */
  const served = new Map<string, { readonly declared: object; readonly own: TargetCluster }>()
  // An operator's name has no dot.
  const nameOf = (id: string): string => id.replace('@', '.')

  const set = ({ id, at, settings }: Assignment, declared: Parameters<Serving['set']>[1], own: TargetCluster): void => {
    // A part of a cluster has no registrations of its own: those would be asked about everybody's objects.
    if (at !== undefined && Object.hasOwn(settings.placement.hosted, at)) return
    const before = served.get(id)
    if (before?.declared === declared && before.own === own) return
    if (at === undefined) webhooks.set(nameOf(id), declared)
    else webhooks.set(nameOf(id), declared, own)
    served.set(id, { declared, own })
  }

  return {
    of: (posting, own) => ({
      set: (_, declared) => set(posting, declared, own),
      settled: () => webhooks.settled(nameOf(posting.id)),
      // As long as it is wanted somebody works it, and API servers go on asking.
      delete: () => Promise.resolve(),
    }),
    async serve(posting, operator, own) {
      if (operator.webhooks.length + operator.conversions.length === 0) return
      set(posting, operator, own)
      await webhooks.settled(nameOf(posting.id))
    },
    async drop(id) {
      if (served.delete(id)) await webhooks.delete(nameOf(id))
    },
  }
}
