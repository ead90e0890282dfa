/**
 * Finds the field manager that undoes an operator's writes. Searched only for a finding, since caches keep no
 * `managedFields`. The operator's last write took the fields over; as it is throttled now, the other field manager owns
 * them again as soon as it has changed them back. Unless that one is throttled as well: then it runs in this manager,
 * and the causality tracker knows it.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Resource } from '../../kube/kind.ts'
import type { ConflictFinding } from './finding.ts'
import type { CausalityTracker } from './causality-tracker.ts'
import { rivals } from './rivals.ts'

interface RivalSearch {
  readonly client: Pick<Client, 'get'>
  readonly clock: Clock
  /** The operator whose writes are undone. */
  readonly operator: string
  /** Of the contested object; undefined when it is no longer known. */
  readonly resource: Resource | undefined
  readonly history: CausalityTracker | undefined
  readonly signal?: AbortSignal | undefined
}

/** Number of attempts, and the time between them. */
const mostLooks = 5
const lookMs = 1000

export async function findRivals(conflict: ConflictFinding, search: RivalSearch): Promise<readonly string[]> {
  const { client, clock, operator, resource, history, signal } = search
  if (!resource) return []
  for (let look = 0; look < mostLooks; look++) {
    if (signal?.aborted) break
    const found = await client.get(resource, conflict.object.name).catch(() => undefined)
    const owners = rivals(found?.metadata.managedFields ?? [], conflict.fields, operator)
    const others = [...new Set([...owners, ...(history?.opponents(conflict) ?? [])])]
    if (others.length > 0) return others
    await clock.sleep(lookMs, signal).catch(() => undefined)
  }
  return []
}
