/**
 * The state of one logical cluster: storage, served resources, access, admission, and its clock, randomness and ids.
 */
import type { TransportResponse } from '../../transport/transport.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import type { Access } from '../access/access.ts'
import type { AdmissionPlugin } from './admission.ts'
import type { ApiCall } from './call.ts'
import type { Catalog, ServedResource } from '../catalog/catalog.ts'
import type { Quantity } from '../../kube/units/quantity.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import type { WebhookCaller } from '../webhook/webhook-caller.ts'

export interface ClusterState {
  readonly storage: Storage
  readonly catalog: Catalog
  readonly clock: Clock
  readonly random: Random
  /** A new uid. */
  readonly ids: () => string
  /** Authentication and authorization. */
  readonly access: Access
  /** Handles writes; a promise while it is being loaded. */
  readonly writePath: () => WritePath | Promise<WritePath>
  /** The admission plugins, in order. For the write path only. */
  admission(): readonly AdmissionPlugin[]
  /** The range of Service addresses, IPv4: `10.0.0.0/16`. */
  readonly serviceRange: string
  /** Calls webhooks. */
  readonly webhooks: WebhookCaller
  /** Number of unread events after which a watch is ended. */
  readonly watchBuffer: number
  /** The same limit in bytes: buffered events may no longer be in the history, so they count by themselves. */
  readonly watchBufferBytes: number
  /** Interval of watch bookmarks. */
  readonly bookmarkMs: number
  /** Usage of the resource quotas; counted on first use (`admission/quota/quota-ledger.ts`). */
  quotas?: QuotaLedger
}

/** The usage of the resource quotas of a cluster. */
interface QuotaLedger {
  /** Usage of each resource that the quota limits. */
  usedOf(quota: StoredObject): ReadonlyMap<string, Quantity>
}

/** Everything that changes stored objects, which reads do not need; see write-path.ts. */
export interface WritePath {
  /** Handles every request that is not a plain read. Rejects with a StatusError. */
  answer(call: ApiCall): Promise<TransportResponse>
  /** Runs a write up to the point of any side effect, so that schemas are loaded and code is compiled. */
  warmUp(state: ClusterState): void
  admissionPlugins(options: AdmissionPluginOptions): readonly AdmissionPlugin[]
  /** Starts the controllers that every cluster needs. */
  startControllers(state: ClusterState, options: CoreControllerOptions): void
}

export interface AdmissionPluginOptions {
  /** Names of the plugins that do not run: `ServiceAccount`. Unknown names have no effect. */
  readonly disabled: ReadonlySet<string>
}

export interface CoreControllerOptions {
  /** Whether the controllers of kube-controller-manager run; without them, only those of kube-apiserver do. */
  readonly controllerManager: boolean
  /** Whether garbage collection runs. */
  readonly collectGarbage: boolean
  /** Whether Pods run as service accounts. */
  readonly serviceAccounts: boolean
  /** The CA bundle that Pods get, in PEM. */
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

/** A version 4 UUID from the given source of randomness, so that a seeded server repeats its uids. */
export function randomUuid(random: Random): string {
  let uuid = ''
  for (let at = 0; at < 32; at++) {
    const digit = Math.floor(random.next() * 16)
    if (at === 8 || at === 12 || at === 16 || at === 20) uuid += '-'
    uuid += digits[at === 12 ? 4 : at === 16 ? (digit & 3) | 8 : digit]!
  }
  return uuid
}
