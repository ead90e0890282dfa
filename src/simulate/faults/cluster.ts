/**
 * The cluster of a simulation: an embedded API server that can be forked. A fork starts with the objects, revision and
 * time of a snapshot, and shares its objects, which are immutable. So a thousand runs can start from one state without
 * replaying the way to it.
 */
import { recallIdentity, noRecall, type Recall } from './recall.ts'
import { createServer } from '../../apiserver/server/server.ts'
import { simulatedNodes, simulatedWorkloads } from '../../apiserver/simulated/simulation.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import type { ClusterState } from '../../apiserver/cluster/state.ts'
import type { Storage, StoredObject } from '../../apiserver/storage/storage.ts'
import { writePath } from '../../apiserver/server/write-path.ts'
import { openRequestMemo, openClusterRandom } from './request-memo.ts'
import { type SimulatedTime, simulatedTime } from './time.ts'

export interface Snapshot {
  readonly at: number
  /** The state outside of the cluster. */
  readonly outside?: JsonObject | undefined
  readonly entries: readonly { readonly table: string; readonly object: StoredObject }[]
}

export interface ClusterOptions {
  readonly seed: number
  /** The snapshot to start from. @default empty */
  readonly from?: Snapshot | undefined
  /** Simulates scheduler, kubelets and workload controllers. */
  readonly workloads: boolean
  /** The memo that forks of one cluster share. @default none */
  readonly recall?: Recall | undefined
}

export interface SimulatedCluster {
  readonly time: SimulatedTime
  readonly server: ApiServer
  readonly storage: Storage
  snapshot(): Snapshot
  /** Stops everything but the API server. */
  halt(): void
}

/**
 * Rare, since bookmarks bring no news and there is one per watch: at rest they would be the only events for a minute.
 */
const bookmarkMs = 150_000
/** A watch without events for so long counts as dead. */
export const idleMs: number = 1.5 * bookmarkMs

export function openCluster({ seed, from, workloads, recall = noRecall }: ClusterOptions): SimulatedCluster {
  const time = simulatedTime(from?.at)
  let state: ClusterState | undefined
  let lively: { stop(): void } | undefined
  // Workload controllers start after the snapshot is restored.
  const hold = (made: ClusterState): { stop(): void } => {
    state = made
    return { stop: () => lively?.stop() }
  }
  // New uids never collide with those of the snapshot, which were drawn at another revision.
  const clusterRandom = openClusterRandom(seed, () => state?.storage.revision ?? 0)
  const { server, restore, stop } = createServer(
    { clock: time, random: clusterRandom, workloads: hold, bookmarkMs },
    writePath,
  )
  const { storage } = state!
  // Bootstrap objects need not be restored.
  const first = storage.revision
  restore((from?.entries ?? []).map(({ table, object }) => ({ cluster: '', table, isRemoval: false, object })))
  if (workloads) lively = simulatedWorkloads({ nodes: simulatedNodes(1) })(state!)
  return {
    time,
    server: openRequestMemo({
      server,
      storage,
      clock: time,
      clusterRandom,
      recall,
      begin: `${recallIdentity(from)} ${seed}`,
    }),
    storage,
    halt: stop,
    snapshot: () => ({
      at: time.now(),
      entries: [...storage.tables()].flatMap((table) => {
        const own = table.objects().filter(({ metadata }) => Number(metadata.resourceVersion) > first)
        return own.map((object) => ({ table: table.name, object }))
      }),
    }),
  }
}
