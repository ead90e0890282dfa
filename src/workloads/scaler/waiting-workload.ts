/** An AppWrapper as the scaler sees it: whether it waits for lack of nodes, since when, and what it asks for. */
import { findCondition } from '../../kube/meta/condition.ts'
import { parseTime } from '../../kube/units/duration.ts'
import type { AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { ownManager } from '../appwrapper/labels.ts'
import { demandIn, podSetsIn } from '../appwrapper/wrapped-pods.ts'
import { instanceDemand, orderedInstanceLabel, type ScaledWorkload } from '../core/scale/node-demand.ts'

/** Whether machines are being added, or were: on AppWrappers that wait for nodes. */
export const nodesCondition = 'NodesRequested'
export const notWaiting = 'NotWaiting'

/** Why it waits: the condition QuotaReserved is False for this reason. Never for lack of quota. */
const lackOfNodes: ReadonlySet<string> = new Set(['InsufficientNodes', 'InsufficientNodesTogether'])
/** It waits for something that nodes do not change. */
const otherReasons: ReadonlySet<string> = new Set([
  'Held',
  'InsufficientQuota',
  'NoFlavor',
  'QueueStopped',
  'UnknownQueue',
])
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
  const isWaiting = reserved?.status === 'False' && spec.suspend !== true && lacksNodes(reserved.reason, status)
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

/**
 * While it backs off or is next, the queue does not say what it lacks: then it is what it was before, of which the scaler's own
 * condition is the record.
 */
function lacksNodes(reason: string, status: AppWrapperObject['status']): boolean {
  if (lackOfNodes.has(reason)) return true
  const requested = findCondition(status?.conditions, nodesCondition)
  return !otherReasons.has(reason) && requested !== undefined && requested.reason !== notWaiting
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
