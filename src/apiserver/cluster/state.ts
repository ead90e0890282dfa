/** What one embedded cluster consists of: what is stored, what is served, and where time, chance and ids come from. */
import type { TransportResponse } from '../../transport/transport.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import type { Access } from '../access/access.ts'
import type { AdmissionPlugin } from './admission.ts'
import type { ApiCall } from './call.ts'
import type { Catalog, ServedResource } from '../catalog/catalog.ts'
import type { Quantity } from '../../kube/quantity.ts'
import type { Recall } from '../../kube/recall.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import type { WebhookCaller } from '../webhook/webhook-caller.ts'

export interface ClusterState {
  readonly storage: Storage
  readonly catalog: Catalog
  readonly clock: Clock
  readonly random: Random
  /** A new uid. */
  readonly ids: () => string
  /** Who may do what. */
  readonly access: Access
  /** What answers requests that write: at once, unless it has to be loaded first. */
  readonly writePath: () => WritePath | Promise<WritePath>
  /** Who has a say in writes, in order. Only the write path may ask. */
  admission(): readonly AdmissionPlugin[]
  /** How webhooks are asked. */
  readonly webhooks: WebhookCaller
  /** Events that the reader of a watch may be behind. */
  readonly watchBuffer: number
  /** And bytes: what is buffered may have gone from the history. */
  readonly watchBufferBytes: number
  /** How often a watch is told where it stands. */
  readonly bookmarkMs: number
  /** What is used of each quota, from the first count on (`admission/quota-ledger.ts`). */
  quotas?: QuotaLedger
  /** What was worked out before, here or in a cluster like this one. */
  readonly recall: Recall
}

/** What is used of the quotas of a cluster. */
export interface QuotaLedger {
  /** What is used of each resource that the quota bounds. */
  usedOf(quota: StoredObject): ReadonlyMap<string, Quantity>
}

/** All that changes what is stored. Reading does without it; see write-path.ts. */
export interface WritePath {
  /** Answers whatever is not a plain read, or raises a Refusal. */
  answer(call: ApiCall): Promise<TransportResponse>
  /** Goes through a write up to where it would ask or change anything: schemas are loaded, and code is compiled. */
  rehearse(state: ClusterState): void
  admissionPlugins(options: Pick<Keeping, 'serviceAccounts'>): readonly AdmissionPlugin[]
  /** Starts the controllers that a cluster cannot do without: they follow up changes with their own. */
  keep(state: ClusterState, keeping: Keeping): void
}

export interface Keeping {
  /** Whether what has lost its owners is deleted. */
  readonly collectGarbage: boolean
  /** Whether pods act for service accounts. */
  readonly serviceAccounts: boolean
  /** What pods are told to trust, in PEM. */
  readonly rootCa: string
}

export function findObject(
  { storage }: ClusterState,
  served: ServedResource,
  namespace: string | undefined,
  name: string,
): StoredObject | undefined {
  return storage.table(served.table).get(served.namespaced ? namespace : undefined, name)
}

const digits = '0123456789abcdef'

/** A version 4 UUID out of any source of chance, so that a seeded server repeats its uids. */
export function randomUuid(random: Random): string {
  let uuid = ''
  for (let at = 0; at < 32; at++) {
    const digit = Math.floor(random.next() * 16)
    if (at === 8 || at === 12 || at === 16 || at === 20) uuid += '-'
    uuid += digits[at === 12 ? 4 : at === 16 ? (digit & 3) | 8 : digit]!
  }
  return uuid
}
