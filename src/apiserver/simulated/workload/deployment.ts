/**
 * The Deployment controller: each version of the template is a ReplicaSet, and a change of the template shifts replicas
 * from the old ones to the new one, as fast as `maxSurge` and `maxUnavailable` allow.
 *
 * A reconcile finds or creates the ReplicaSet of the current template, scales or shifts by one step, and updates the
 * status. Each step changes a ReplicaSet, and that change triggers the next reconcile.
 */
import { controllerOf } from '../../../kube/meta/owner.ts'
import { type SimulatedState, splitKey } from '../controller/cluster.ts'
import {
  claim,
  type SimulatedController,
  ownerOf,
  ownerOrAdopters,
  selectorOf,
  type Tools,
} from '../controller/controller.ts'
import {
  byAge,
  type DeploymentFacts,
  isComplete,
  isSameTemplate,
  type ReplicaSet,
  revisionOf,
  deploymentSize,
  surgeOf,
  unavailableOf,
} from './deployment-facts.ts'
import { desiredAnnotation, maximumAnnotation, currentReplicaSet, resize } from './deployment-sets.ts'
import { setPausedCondition, reportDeployment } from './deployment-status.ts'
import { isFinished } from '../controller/pod-facts.ts'
import { oldReplicasOf, proportions, shiftOf, type Sizes } from './rollout.ts'

export function deploymentController(tools: Tools): SimulatedController {
  const { cluster } = tools
  return {
    own: { 'deployments.apps': ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] },
    others: {
      'replicasets.apps': ownerOrAdopters(cluster, 'Deployment', 'deployments.apps'),
      // Strategy Recreate waits for the removal of the last old pod.
      pods: (pod) => {
        const [owner] = ownerOf('ReplicaSet')(pod)
        const set = owner && cluster.get('replicasets.apps', splitKey(owner).namespace, splitKey(owner).name)
        return set && isRecreated(cluster, set) ? ownerOf('Deployment')(set) : []
      },
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const found = cluster.get('deployments.apps', namespace, name)
      if (!found) return undefined
      const sets = await claim(tools, 'replicasets.apps', found, selectorOf(found))
      if (found.metadata.deletionTimestamp) return await reportDeployment(tools, found, sets)
      const deployment = await setPausedCondition(tools, found)
      const isPaused = deployment.spec.paused === true
      const present = await currentReplicaSet(tools, deployment, sets, !isPaused && !mustWait(tools, deployment, sets))
      const live = cluster.get('deployments.apps', namespace, name) ?? deployment
      const all = cluster.controlled('replicasets.apps', live)
      const old = all.filter((one) => one.metadata.uid !== present?.metadata.uid)
      if (isPaused || isScaled(live, all)) await scale(tools, live, present, old)
      else if (live.spec.strategy?.type === 'Recreate') await recreate(tools, live, present, old)
      else if (present) await roll(tools, live, present, old)
      await forgetOld(tools, live, old)
      return await reportDeployment(tools, cluster.get('deployments.apps', namespace, name) ?? live, all)
    },
  }
}

function isRecreated(cluster: SimulatedState, set: ReplicaSet): boolean {
  const owner = controllerOf(set)
  const deployment = owner && cluster.get('deployments.apps', set.metadata.namespace, owner.name)
  return deployment?.spec.strategy?.type === 'Recreate'
}

/** Whether the replicas or the surge changed since the ReplicaSets were last scaled. */
function isScaled(deployment: DeploymentFacts, sets: readonly ReplicaSet[]): boolean {
  const { replicas = 1 } = deployment.spec
  return sets.some(({ spec, metadata }) => {
    const desired = metadata.annotations?.[desiredAnnotation]
    return (spec.replicas ?? 1) > 0 && desired !== undefined && desired !== String(replicas)
  })
}

async function scale(
  tools: Tools,
  deployment: DeploymentFacts,
  present: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Promise<void> {
  const { replicas = 1 } = deployment.spec
  const all = [...old, ...(present ? [present] : [])]
  const active = all.filter(({ spec }) => (spec.replicas ?? 1) > 0)
  const only = active.length > 1 ? undefined : (active[0] ?? present ?? byAge(old).at(-1))
  if (only) return await resize(tools, deployment, only, replicas)
  if (active.length === 0) return
  const isSaturated = present?.spec.replicas === replicas && (present.status?.availableReplicas ?? 0) === replicas
  if (isSaturated) {
    for (const set of active) if (set !== present) await resize(tools, deployment, set, 0)
    return
  }
  if (deployment.spec.strategy?.type === 'Recreate') return
  const allowed = replicas > 0 ? replicas + surgeOf(deployment) : 0
  const members = active.map((set) => ({
    name: set.metadata.name,
    created: set.metadata.creationTimestamp ?? '',
    replicas: set.spec.replicas ?? 1,
    maximum: Number(set.metadata.annotations?.[maximumAnnotation]) || deployment.status?.replicas || replicas,
  }))
  const sizes = proportions(members, allowed)
  for (const set of active) await resize(tools, deployment, set, sizes.get(set.metadata.name)!)
}

async function roll(
  tools: Tools,
  deployment: DeploymentFacts,
  present: ReplicaSet,
  old: readonly ReplicaSet[],
): Promise<void> {
  const sizes: Sizes = {
    desired: deployment.spec.replicas ?? 1,
    surge: surgeOf(deployment),
    unavailable: unavailableOf(deployment),
  }
  const aged = byAge(old)
  const shift = shiftOf(sizes, deploymentSize(present), aged.map(deploymentSize))
  if (shift.present !== (present.spec.replicas ?? 1)) await resize(tools, deployment, present, shift.present)
  else {
    for (const [index, set] of aged.entries()) {
      if (shift.old[index] !== (set.spec.replicas ?? 1)) await resize(tools, deployment, set, shift.old[index]!)
    }
  }
}

/** With strategy Recreate, no new pod is created before the last old one is removed. */
function mustWait({ cluster }: Tools, deployment: DeploymentFacts, sets: readonly ReplicaSet[]): boolean {
  if (deployment.spec.strategy?.type !== 'Recreate') return false
  const old = sets.filter((set) => !isSameTemplate(set.spec.template, deployment.spec.template))
  return oldReplicasOf(old) > 0 || old.some((set) => cluster.controlled('pods', set).some((pod) => !isFinished(pod)))
}

async function recreate(
  tools: Tools,
  deployment: DeploymentFacts,
  present: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Promise<void> {
  for (const set of old) if ((set.spec.replicas ?? 1) > 0) await resize(tools, deployment, set, 0)
  if (present && !mustWait(tools, deployment, old))
    await resize(tools, deployment, present, deployment.spec.replicas ?? 1)
}

async function forgetOld({ writer }: Tools, deployment: DeploymentFacts, old: readonly ReplicaSet[]): Promise<void> {
  // During a rollout an old ReplicaSet may be needed for a rollback.
  if (!isComplete(deployment, deployment.status ?? {})) return
  const limit = deployment.spec.revisionHistoryLimit ?? 10
  const kept = old.filter(({ metadata }) => !metadata.deletionTimestamp)
  const oldest = kept
    .toSorted((a, b) => Number(revisionOf(a) - revisionOf(b)))
    .slice(0, Math.max(kept.length - limit, 0))
  for (const set of oldest) {
    const isEmpty = (set.status?.replicas ?? 0) === 0 && (set.spec.replicas ?? 1) === 0
    const isSeen = (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0)
    if (isEmpty && isSeen) await writer.remove('replicasets.apps', set)
  }
}
