/**
 * Who undoes an operator's work. Asked only when there is something to tell: caches keep no managers. Its last write took the fields
 * from whoever had them; now that it holds still, he has them again as soon as he has changed them back. Unless he is held still,
 * too: then he is one of ours, and has said so.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Resource } from '../../kube/kind.ts'
import type { ConflictFinding } from './finding.ts'
import type { CausalityTracker } from './causality-tracker.ts'
import { rivals } from './rivals.ts'

export interface RivalSearch {
  readonly client: Pick<Client, 'get'>
  readonly clock: Clock
  /** Whose work is undone. */
  readonly operator: string
  /** Of the object that it is about; undefined where nobody knows it any more. */
  readonly resource: Resource | undefined
  readonly history: CausalityTracker | undefined
  readonly signal?: AbortSignal | undefined
}

/** How often, and how far apart, it is looked. */
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
