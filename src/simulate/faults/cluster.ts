/**
 * The cluster of a simulation: an embedded API server that can be forked. A fork begins with the objects, versions and
 * moment of a snapshot, and shares them: objects are never changed in place. So a thousand runs can begin where one
 * run came to rest, and none of them pays for how it got there.
 */
import { recallIdentity, noRecall, type Recall } from '../../kube/recall.ts'
import { createServer } from '../../apiserver/server/server.ts'
import { simulatedNodes, simulatedWorkloads } from '../../apiserver/simulated/simulation.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { ApiServer } from '../../apiserver/server/api-server.ts'
import type { ClusterState } from '../../apiserver/cluster/state.ts'
import type { Storage, StoredObject } from '../../apiserver/storage/storage.ts'
import { writePath } from '../../apiserver/server/write-path.ts'
import { openRequestMemo, openChance } from './request-memo.ts'
import { type SimulatedTime, simulatedTime } from './time.ts'

export interface Snapshot {
  readonly at: number
  /** How it stood outside the cluster. */
  readonly outside?: JsonObject | undefined
  readonly entries: readonly { readonly table: string; readonly object: StoredObject }[]
}

export interface ClusterOptions {
  readonly seed: number
  /** Where it begins. @default empty */
  readonly from?: Snapshot | undefined
  /** Pods are scheduled and run, Deployments make them. */
  readonly workloads: boolean
  /** What forks of one cluster have in common. @default none */
  readonly recall?: Recall | undefined
}

export interface SimulatedCluster {
  readonly time: SimulatedTime
  readonly server: ApiServer
  readonly storage: Storage
  snapshot(): Snapshot
  /** Nothing lives in it any more but the API server. */
  halt(): void
}

/**
 * Seldom, since a bookmark tells nobody anything new and there is one for each watch: when all is at rest, that would be all that
 * happens for a minute.
 */
const bookmarkMs = 150_000
/** After so long a watch is taken for dead. */
export const idleMs: number = 1.5 * bookmarkMs

export function openCluster({ seed, from, workloads, recall = noRecall }: ClusterOptions): SimulatedCluster {
  const time = simulatedTime(from?.at)
  let state: ClusterState | undefined
  let lively: { stop(): void } | undefined
  // Workloads begin when what they are to find is there.
  const hold = (made: ClusterState): { stop(): void } => {
    state = made
    return { stop: () => lively?.stop() }
  }
  // What is new is never given a uid that the snapshot has, too: that was given at another revision.
  const chance = openChance(seed, () => state?.storage.revision ?? 0)
  const { server, restore, stop } = createServer(
    { clock: time, random: chance, recall, workloads: hold, bookmarkMs },
    writePath,
  )
  const { storage } = state!
  // What every cluster is made with need not be put back.
  const first = storage.revision
  restore((from?.entries ?? []).map(({ table, object }) => ({ cluster: '', table, isRemoval: false, object })))
  if (workloads) lively = simulatedWorkloads({ nodes: simulatedNodes(1) })(state!)
  return {
    time,
    server: openRequestMemo({ server, storage, clock: time, chance, recall, begin: `${recallIdentity(from)} ${seed}` }),
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
