/** An AppWrapper as the scaler sees it: whether it waits for lack of nodes, since when, and what it asks for. */
import { findCondition } from '../../kube/meta/condition.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { parseTime } from '../../kube/units/duration.ts'
import type { AppWrapperComponent, AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { demandOf } from '../core/demand.ts'
import { instanceDemand, orderedInstanceLabel, type ScaledWorkload } from '../core/node-demand.ts'
import type { PodGroup } from '../core/node-table.ts'
import { podSetsOf } from '../core/pod-sets.ts'

/** Why it waits: the condition QuotaReserved is False for this reason. Never for lack of quota. */
const lackOfNodes: ReadonlySet<string> = new Set(['InsufficientNodes', 'InsufficientNodesTogether'])
const ended: ReadonlySet<string> = new Set(['Succeeded', 'Failed'])
const controllerName = 'workload.codeflare.dev/appwrapper-controller'

/** Undefined for one that has ended, is being deleted, or is managed elsewhere: it needs no nodes. */
export function scaledWorkload(
  { metadata, spec, status }: AppWrapperObject,
  infers: boolean,
  /** The same AppWrapper before, with the same spec and label. */
  known?: ScaledWorkload,
): ScaledWorkload | undefined {
  const { uid = '', namespace = '', name, labels = {} } = metadata
  const isElsewhere = spec.managedBy !== undefined && spec.managedBy !== controllerName
  if (isElsewhere || metadata.deletionTimestamp !== undefined || ended.has(status?.phase ?? '')) return undefined
  const reserved = findCondition(status?.conditions, 'QuotaReserved')
  const isRunning = reserved?.status === 'True'
  const isWaiting = reserved?.status === 'False' && lackOfNodes.has(reserved.reason)
  const components = spec.components ?? []
  const named = known ? undefined : instanceDemand(labels[orderedInstanceLabel], replicasOf(components))
  return {
    id: uid,
    namespace,
    name,
    phase: isRunning ? 'running' : isWaiting ? 'waiting' : 'other',
    since: parseTime(reserved?.lastTransitionTime ?? metadata.creationTimestamp ?? '') ?? 0,
    priority: spec.scheduling?.priority ?? 0,
    groups: known?.groups ?? groupsOf(components),
    instances: known?.instances ?? named ?? (infers ? 'inferred' : new Map()),
    isSettled: findCondition(status?.conditions, 'PodsReady')?.status === 'True',
  }
}

/** Of each pod set, in order; declared pods are pod sets of their own. */
function replicasOf(components: readonly AppWrapperComponent[]): readonly number[] {
  return components.flatMap(({ pods = [], template, podSets }) => {
    if (pods.length > 0) return pods.map(({ replicas }) => replicas)
    return orNone(() => podSetsOf(wrapped(template), podSets, true).map(({ replicas }) => replicas))
  })
}

function groupsOf(components: readonly AppWrapperComponent[]): readonly PodGroup[] {
  return orNone(() =>
    demandOf(
      components.map(({ template, podSets, podSetInfos, pods }) => ({
        template: wrapped(template),
        podSets,
        placements: podSetInfos,
        pods,
        isLenient: true,
      })),
    ),
  )
}

function wrapped(template: AppWrapperComponent['template']): UntypedObject {
  return { apiVersion: '', kind: '', metadata: {}, ...template }
}

/** What is wrong with pod sets is said by the queue: nothing is added for them. */
function orNone<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read()
  } catch {
    return []
  }
}
