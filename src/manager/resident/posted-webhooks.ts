/**
 * Webhooks of all postings, whichever replica works them: an API server that asks by a Service reaches any replica, and
 * each must have the answer. So they are served from when a posting is wanted until it is not, and not only where it runs.
 */
import type { Operator } from '../../operator/operator.ts'
import type { HostOptions } from '../host.ts'
import type { Cluster } from '../placement/cluster.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Posting } from './posting.ts'

type Serving = Pick<Webhooks, 'set' | 'settled' | 'delete'>

export interface PostedWebhooks {
  /** For the host of a posting, here. */
  of(posting: Posting, cluster: Cluster): NonNullable<HostOptions['webhooks']>
  /** For a posting that another replica works. @throws InvalidWebhook */
  serve(posting: Posting, operator: Operator, cluster: Cluster): Promise<void>
  /** Those of others are not wanted any more. */
  keep(ids: ReadonlySet<string>): Promise<void>
}

export function createPostedWebhooks(webhooks: Serving): PostedWebhooks {
  /** By posting, what it is called at the server of webhooks. */
  const served = new Map<string, string>()

  const set = ({ id, at, settings }: Posting, declared: Parameters<Serving['set']>[1], cluster: Cluster): void => {
    // A part of a cluster has no registrations of its own: those would be asked about everybody's objects.
    if (at !== undefined && Object.hasOwn(settings.placement.hosted, at)) return
    // An operator's name has no dot.
    const name = id.replace('@', '.')
    served.set(id, name)
    if (at === undefined) webhooks.set(name, declared)
    else webhooks.set(name, declared, cluster)
  }

  return {
    of: (posting, cluster) => ({
      set: (_, declared) => set(posting, declared, cluster),
      settled: () => webhooks.settled(),
      // As long as it is wanted somebody works it, and API servers go on asking.
      delete: () => Promise.resolve(),
    }),
    async serve(posting, operator, cluster) {
      if (served.has(posting.id) || operator.webhooks.length + operator.conversions.length === 0) return
      set(posting, operator, cluster)
      await webhooks.settled()
    },
    async keep(ids) {
      for (const [id, name] of served) {
        if (ids.has(id)) continue
        served.delete(id)
        await webhooks.delete(name)
      }
    },
  }
}
