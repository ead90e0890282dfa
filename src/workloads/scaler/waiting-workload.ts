/** An AppWrapper as the scaler sees it: whether it waits for lack of nodes, since when, and what it asks for. */
import { findCondition } from '../../kube/meta/condition.ts'
import { parseTime } from '../../kube/units/duration.ts'
import type { AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { ownManager } from '../appwrapper/labels.ts'
import { demandIn, podSetsIn } from '../appwrapper/wrapped-pods.ts'
import { instanceDemand, orderedInstanceLabel, type ScaledWorkload } from '../core/node-demand.ts'

/** Why it waits: the condition QuotaReserved is False for this reason. Never for lack of quota. */
const lackOfNodes: ReadonlySet<string> = new Set(['InsufficientNodes', 'InsufficientNodesTogether'])
const ended: ReadonlySet<string> = new Set(['Succeeded', 'Failed'])

/** Undefined for one that has ended, is being deleted, or is managed elsewhere: it needs no nodes. */
export function scaledWorkload(
  cr: AppWrapperObject,
  infers: boolean,
  /** The same AppWrapper before, with the same spec and label. */
  known?: ScaledWorkload,
): ScaledWorkload | undefined {
  const { metadata, spec, status } = cr
  const { uid = '', namespace = '', name, labels = {} } = metadata
  const isElsewhere = spec.managedBy !== undefined && spec.managedBy !== ownManager
  if (isElsewhere || metadata.deletionTimestamp !== undefined || ended.has(status?.phase ?? '')) return undefined
  const reserved = findCondition(status?.conditions, 'QuotaReserved')
  const isRunning = reserved?.status === 'True'
  const isWaiting = reserved?.status === 'False' && lackOfNodes.has(reserved.reason)
  const named = known ? undefined : instanceDemand(labels[orderedInstanceLabel], replicasOf(cr))
  return {
    id: uid,
    namespace,
    name,
    phase: isRunning ? 'running' : isWaiting ? 'waiting' : 'other',
    since: parseTime(reserved?.lastTransitionTime ?? metadata.creationTimestamp ?? '') ?? 0,
    priority: spec.scheduling?.priority ?? 0,
    groups: known?.groups ?? orNone(() => demandIn(cr)),
    instances: known?.instances ?? named ?? (infers ? 'inferred' : new Map()),
    isSettled: findCondition(status?.conditions, 'PodsReady')?.status === 'True',
  }
}

/** Of each pod set, in order; declared pods are pod sets of their own. */
function replicasOf(cr: AppWrapperObject): readonly number[] {
  return orNone(() =>
    podSetsIn(cr).flatMap(({ component: { pods = [] }, podSets }) =>
      (pods.length > 0 ? pods : podSets).map(({ replicas }) => replicas),
    ),
  )
}

/** What is wrong with pod sets is said by the queue: nothing is added for them. */
function orNone<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read()
  } catch {
    return []
  }
}
