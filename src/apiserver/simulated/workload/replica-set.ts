/**
 * The ReplicaSet and ReplicationController controllers: create missing pods, delete surplus ones, the least useful
 * first.
 */
import { formatTime } from '../../../kube/units/duration.ts'
import { describeError } from '../../../kube/muster-error.ts'
import type { LabelSelector } from '../../../kube/selector/selector.ts'
import { matchLabels } from '../../../kube/selector/selector.ts'
import type { ReplicaSetCondition, ReplicaSetStatus } from '../../../kube/types/apps/v1.ts'
import type { PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import { StatusError } from '../../errors/status-error.ts'
import { splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import {
  claim,
  type SimulatedController,
  ownerOrAdopters,
  selectorOf,
  selectorOfMap,
  type Tools,
} from '../controller/controller.ts'
import {
  inDeletionOrder,
  isActive,
  isAvailable,
  isFinished,
  isPodReady,
  isPodTerminating,
  podOf,
  untilAvailable,
} from '../controller/pod-facts.ts'

type ReplicaTable = 'replicasets.apps' | 'replicationcontrollers'
type Replicated = StoredIn<ReplicaTable>

/** Maximum number of pods created or deleted in one reconcile. */
const burst = 500

export function replicaController(tools: Tools, table: ReplicaTable): SimulatedController {
  const { cluster, writer } = tools
  const kind = table === 'replicasets.apps' ? 'ReplicaSet' : 'ReplicationController'
  return {
    own: { [table]: (object: Replicated) => [`${object.metadata.namespace}/${object.metadata.name}`] },
    others: { pods: ownerOrAdopters(cluster, kind, table) },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const owner = cluster.get(table, namespace, name)
      if (!owner) return undefined
      const selector = podSelector(owner)
      const pods = await claim(tools, 'pods', owner, selector)
      const failure = owner.metadata.deletionTimestamp ? undefined : await fill(tools, owner, pods.filter(isActive))
      const live = cluster.get(table, namespace, name)
      if (!live) return undefined
      const now = cluster.controlled('pods', live).filter(({ metadata }) => matchLabels(selector, metadata.labels))
      await writer.updateStatus(table, live, statusOf(live, now, failure, cluster.now()))
      if (failure) throw failure.error
      return untilAvailable(now, live.spec?.minReadySeconds, cluster.now())
    },
  }
}

function podSelector(owner: Replicated): LabelSelector {
  return owner.kind === 'ReplicaSet' ? selectorOf(owner) : selectorOfMap(owner.spec?.selector)
}

interface Failure {
  readonly reason: 'FailedCreate' | 'FailedDelete'
  readonly error: unknown
}

async function fill(tools: Tools, owner: Replicated, active: readonly StoredPod[]): Promise<Failure | undefined> {
  const { cluster, writer, record } = tools
  const missing = (owner.spec?.replicas ?? 1) - active.length
  if (missing > 0) {
    const pod = podOf(owner, owner.spec?.template as PodTemplateSpec)
    for (let made = 0; made < Math.min(missing, burst); made++) {
      try {
        const { metadata } = await writer.create('pods', pod)
        record(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${metadata.name}`)
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        record(owner, 'Warning', 'FailedCreate', `Error creating: ${describeError(error)}`)
        return { reason: 'FailedCreate', error }
      }
    }
  }
  for (const pod of inDeletionOrder(active, cluster.now()).slice(0, Math.min(Math.max(-missing, 0), burst))) {
    await writer.remove('pods', pod)
    record(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
  }
  return undefined
}

function statusOf(
  owner: Replicated,
  pods: readonly StoredPod[],
  failure: Failure | undefined,
  now: number,
): ReplicaSetStatus {
  const active = pods.filter(isActive)
  const template = owner.spec?.template?.metadata?.labels ?? {}
  const isFullyLabeled = ({ metadata }: StoredPod): boolean =>
    Object.entries(template).every(([name, value]) => metadata.labels?.[name] === value)
  const ready = active.filter(isPodReady)
  const conditions = conditionsOf(owner, failure, now)
  return {
    replicas: active.length,
    ...omitZero('fullyLabeledReplicas', active.filter(isFullyLabeled).length),
    ...omitZero('readyReplicas', ready.length),
    ...omitZero('availableReplicas', ready.filter((pod) => isAvailable(pod, owner.spec?.minReadySeconds, now)).length),
    // ReplicationControllers do not report this.
    ...(owner.kind === 'ReplicaSet' && {
      terminatingReplicas: pods.filter((pod) => isPodTerminating(pod) && !isFinished(pod)).length,
    }),
    observedGeneration: owner.metadata.generation ?? 0,
    ...(conditions.length > 0 && { conditions }),
  }
}

/** Go omits a count of zero. */
export function omitZero<Name extends string>(name: Name, count: number): { readonly [N in Name]?: number } {
  return count === 0 ? {} : ({ [name]: count } as { readonly [N in Name]: number })
}

function conditionsOf(owner: Replicated, failure: Failure | undefined, now: number): readonly ReplicaSetCondition[] {
  const known = owner.status?.conditions ?? []
  const others = known.filter(({ type }) => type !== 'ReplicaFailure')
  if (!failure) return others
  const before = known.find(({ type }) => type === 'ReplicaFailure')
  if (before?.reason === failure.reason) return known
  const message = describeError(failure.error)
  const lastTransitionTime = formatTime(now)
  return [...others, { type: 'ReplicaFailure', status: 'True', reason: failure.reason, message, lastTransitionTime }]
}
