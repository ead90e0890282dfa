/**
 * The disruption controller: computes for each PodDisruptionBudget how many pods are healthy, and how many disruptions
 * are allowed.
 */
import { parseTime } from '../../../kube/units/duration.ts'
import { type Condition, setCondition } from '../../../kube/meta/condition.ts'
import { controllerOf } from '../../../kube/meta/owner.ts'
import { matchLabels } from '../../../kube/selector/selector.ts'
import { type SimulatedState, simulatedKey, splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { type SimulatedController, selectorOf, type Tools } from '../controller/controller.ts'
import { isFinished, isPodReady, isPodTerminating } from '../controller/pod-facts.ts'
import { shareOf } from '../controller/share.ts'

type Budget = StoredIn<'poddisruptionbudgets.policy'>

const table = 'poddisruptionbudgets.policy'
/** An allowed eviction that did not delete its pod within this time is forgotten. */
const spentMs = 120_000

export function disruptionBudgetController(tools: Tools): SimulatedController {
  const { cluster, writer } = tools
  return {
    own: { [table]: (budget: Budget) => [simulatedKey(budget)] },
    others: {
      pods: ({ metadata }) =>
        cluster
          .list(table, metadata.namespace)
          .filter((budget) => matchLabels(selectorOf(budget), metadata.labels))
          .map(simulatedKey),
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const budget = cluster.get(table, namespace, name)
      if (!budget) return undefined
      const pods = cluster
        .list('pods', namespace)
        .filter((pod) => !isFinished(pod) && matchLabels(selectorOf(budget), pod.metadata.labels))
      const disrupted = stillDisrupted(cluster, budget)
      await writer.updateStatus(table, budget, statusOf(cluster, budget, pods, disrupted))
      const moments = [...disrupted.values()].map((time) => (parseTime(time) ?? 0) + spentMs - cluster.now())
      return moments.length === 0
        ? undefined
        : Math.max(
            moments.reduce((first, at) => Math.min(first, at)),
            0,
          )
    },
  }
}

function stillDisrupted(cluster: SimulatedState, { status, metadata }: Budget): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(status?.disruptedPods ?? {}).filter(([name, time]) => {
      const pod = cluster.get('pods', metadata.namespace, name)
      return pod && !isPodTerminating(pod) && cluster.now() < (parseTime(time) ?? 0) + spentMs
    }),
  )
}

function statusOf(
  cluster: SimulatedState,
  budget: Budget,
  pods: readonly StoredPod[],
  disrupted: ReadonlyMap<string, string>,
): object {
  const { minAvailable, maxUnavailable } = budget.spec ?? {}
  const isCount = minAvailable !== undefined && typeof minAvailable === 'number'
  const expectedPods = isCount ? pods.length : replicasOf(cluster, pods)
  const desiredHealthy =
    maxUnavailable === undefined
      ? shareOf(minAvailable, expectedPods, 'up')
      : Math.max(0, expectedPods - shareOf(maxUnavailable, expectedPods, 'up'))
  const currentHealthy = pods.filter(
    (pod) => isPodReady(pod) && !isPodTerminating(pod) && !disrupted.has(pod.metadata.name),
  ).length
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
  const observedGeneration = budget.metadata.generation ?? 0
  const allowed = {
    type: 'DisruptionAllowed',
    status: disruptionsAllowed > 0 ? 'True' : 'False',
    reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    observedGeneration,
  } as const
  const known = (budget.status?.conditions ?? []) as readonly Condition[]
  return {
    ...(disrupted.size > 0 && { disruptedPods: Object.fromEntries(disrupted) }),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    observedGeneration,
    conditions: setCondition(known, allowed, cluster.now()),
  }
}

/** A percentage refers to the desired replicas of the controllers of the pods. */
function replicasOf(cluster: SimulatedState, pods: readonly StoredPod[]): number {
  const owners = new Map<string, number>()
  for (const pod of pods) {
    const owner = controllerOf(pod)
    if (!owner || owners.has(owner.uid)) continue
    owners.set(owner.uid, sizeOf(cluster, pod.metadata.namespace, owner.kind, owner.name))
  }
  return [...owners.values()].reduce((sum, count) => sum + count, 0)
}

function sizeOf(cluster: SimulatedState, namespace: string | undefined, kind: string, name: string): number {
  if (kind === 'ReplicaSet') {
    const set = cluster.get('replicasets.apps', namespace, name)
    const owner = set && controllerOf(set)
    const deployment = owner && cluster.get('deployments.apps', namespace, owner.name)
    return (deployment ?? set)?.spec.replicas ?? 0
  }
  if (kind === 'StatefulSet') return cluster.get('statefulsets.apps', namespace, name)?.spec?.replicas ?? 0
  if (kind === 'ReplicationController')
    return cluster.get('replicationcontrollers', namespace, name)?.spec?.replicas ?? 0
  return 0
}
