/** What one embedded cluster consists of: what is stored, what is served, and where time, chance and ids come from. */
import type { Clock } from '../clock/clock.ts'
import type { Random } from '../clock/random.ts'
import type { Access } from './access/access.ts'
import type { AdmissionPlugin } from './admission/admission.ts'
import type { Catalog, Served } from './catalog.ts'
import type { Storage, StoredObject } from './storage.ts'
import type { WebhookCaller } from './webhook-caller.ts'

export interface ClusterState {
  readonly storage: Storage
  readonly catalog: Catalog
  readonly clock: Clock
  readonly random: Random
  /** A new uid. */
  readonly ids: () => string
  /** Who may do what. */
  readonly access: Access
  /** Who has a say in writes, in order. */
  readonly admission: readonly AdmissionPlugin[]
  /** How webhooks are asked. */
  readonly webhooks: WebhookCaller
  /** Events that the reader of a watch may be behind. */
  readonly watchBuffer: number
}

export function findObject(
  { storage }: ClusterState,
  served: Served,
  namespace: string | undefined,
  name: string,
): StoredObject | undefined {
  return storage.table(served.table).get(served.namespaced ? namespace : undefined, name)
}

/** A version 4 UUID out of any source of chance, so that a seeded server repeats its uids. */
export function randomUuid(random: Random): string {
  let uuid = ''
  for (let at = 0; at < 32; at++) {
    const digit = Math.floor(random.next() * 16)
    if (at === 8 || at === 12 || at === 16 || at === 20) uuid += '-'
    uuid += (at === 12 ? 4 : at === 16 ? (digit & 3) | 8 : digit).toString(16)
  }
  return uuid
}
