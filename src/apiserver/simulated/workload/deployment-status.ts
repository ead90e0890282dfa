/** The status of a Deployment: counts, and the conditions Available, Progressing and ReplicaFailure. */
import { formatTime, parseTime } from '../../../kube/units/duration.ts'
import type { DeploymentCondition, DeploymentStatus } from '../../../kube/types/apps/v1.ts'
import type { Tools } from '../controller/controller.ts'
import {
  byAge,
  type DeploymentFacts,
  hasDeadline,
  isComplete,
  isSameTemplate,
  type ReplicaSet,
  unavailableOf,
} from './deployment-facts.ts'
import { omitZero } from './replica-set.ts'
import { oldReplicasOf } from './rollout.ts'

/** Pausing a Deployment suspends its progress deadline. */
export async function setPausedCondition(
  { writer, cluster }: Tools,
  deployment: DeploymentFacts,
): Promise<DeploymentFacts> {
  if (!hasDeadline(deployment)) return deployment
  const { conditions = [] } = deployment.status ?? {}
  const known = conditions.find(({ type }) => type === 'Progressing')
  if (known?.reason === 'ProgressDeadlineExceeded') return deployment
  const isNoted = known?.reason === 'DeploymentPaused'
  const isPaused = deployment.spec.paused === true
  if (isPaused === isNoted) return deployment
  const update = isPaused
    ? { reason: 'DeploymentPaused', message: 'Deployment is paused' }
    : { reason: 'DeploymentResumed', message: 'Deployment is resumed' }
  const noted = setDeploymentCondition(conditions, { type: 'Progressing', status: 'Unknown', ...update }, cluster.now())
  return await writer.updateStatus('deployments.apps', deployment, { ...deployment.status, conditions: noted })
}

export async function reportDeployment(
  tools: Tools,
  deployment: DeploymentFacts,
  sets: readonly ReplicaSet[],
): Promise<number | undefined> {
  const { cluster, writer } = tools
  const all = sets.map((set) => cluster.get('replicasets.apps', set.metadata.namespace, set.metadata.name) ?? set)
  const present = byAge(all).find((set) => isSameTemplate(set.spec.template, deployment.spec.template))
  const status = statusOf(deployment, all, present, cluster.now())
  await writer.updateStatus('deployments.apps', deployment, status)
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing')
  const isOver = progressing?.status === 'False' || progressing?.reason === 'NewReplicaSetAvailable'
  if (!hasDeadline(deployment) || deployment.spec.paused || !progressing || isOver) return undefined
  const due = (parseTime(progressing.lastUpdateTime ?? '') ?? 0) + deployment.spec.progressDeadlineSeconds! * 1000
  return Math.max(due - cluster.now(), 1000)
}

function statusOf(
  deployment: DeploymentFacts,
  sets: readonly ReplicaSet[],
  present: ReplicaSet | undefined,
  now: number,
): DeploymentStatus {
  const { replicas = 1 } = deployment.spec
  const before = deployment.status ?? {}
  const sum = (count: (set: ReplicaSet) => number | undefined): number =>
    sets.reduce((total, set) => total + (count(set) ?? 0), 0)
  const available = sum(({ status }) => status?.availableReplicas)
  const counts: DeploymentStatus = {
    observedGeneration: deployment.metadata.generation ?? 0,
    ...omitZero(
      'replicas',
      sum(({ status }) => status?.replicas),
    ),
    ...omitZero('updatedReplicas', present?.status?.replicas ?? 0),
    ...omitZero(
      'readyReplicas',
      sum(({ status }) => status?.readyReplicas),
    ),
    ...omitZero('availableReplicas', available),
    ...omitZero('unavailableReplicas', Math.max(oldReplicasOf(sets) - available, 0)),
    terminatingReplicas: sum(({ status }) => status?.terminatingReplicas),
    ...(before.collisionCount !== undefined && { collisionCount: before.collisionCount }),
  }
  const isAvailable = available >= replicas - unavailableOf(deployment)
  const availability: Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'> = {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: `Deployment ${isAvailable ? 'has' : 'does not have'} minimum availability.`,
  }
  const conditions = withFailure(
    withProgress(deployment, counts, present, setDeploymentCondition(before.conditions ?? [], availability, now), now),
    sets,
    present,
  )
  return { ...counts, conditions }
}

function withProgress(
  deployment: DeploymentFacts,
  status: DeploymentStatus,
  present: ReplicaSet | undefined,
  conditions: readonly DeploymentCondition[],
  now: number,
): readonly DeploymentCondition[] {
  if (!hasDeadline(deployment)) return conditions.filter(({ type }) => type !== 'Progressing')
  const known = conditions.find(({ type }) => type === 'Progressing')
  const isDone = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && known?.reason === 'NewReplicaSetAvailable'
  if (isDone || deployment.spec.paused || deployment.metadata.deletionTimestamp) return conditions
  const who = present ? `ReplicaSet "${present.metadata.name}"` : `Deployment "${deployment.metadata.name}"`
  if (isComplete(deployment, status)) {
    const message = `${who} has successfully progressed.`
    const reason = 'NewReplicaSetAvailable'
    return setDeploymentCondition(conditions, { type: 'Progressing', status: 'True', reason, message }, now)
  }
  if (isProgress(deployment.status ?? {}, status)) {
    const progress: DeploymentCondition = {
      type: 'Progressing',
      status: 'True',
      lastUpdateTime: formatTime(now),
      lastTransitionTime: (known?.status === 'True' && known.lastTransitionTime) || formatTime(now),
      reason: 'ReplicaSetUpdated',
      message: `${who} is progressing.`,
    }
    return [...conditions.filter(({ type }) => type !== 'Progressing'), progress]
  }
  const isSettled = known?.reason === 'NewReplicaSetAvailable' || known?.reason === 'ProgressDeadlineExceeded'
  if (!known || isSettled) return conditions
  const since = parseTime(known.lastUpdateTime ?? '') ?? now
  if (now < since + deployment.spec.progressDeadlineSeconds! * 1000) return conditions
  const message = `${who} has timed out progressing.`
  return setDeploymentCondition(
    conditions,
    { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message },
    now,
  )
}

function isProgress(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

/** A ReplicaSet's ReplicaFailure becomes a condition of the Deployment. */
function withFailure(
  conditions: readonly DeploymentCondition[],
  sets: readonly ReplicaSet[],
  present: ReplicaSet | undefined,
): readonly DeploymentCondition[] {
  const others = conditions.filter(({ type }) => type !== 'ReplicaFailure')
  const failure = [...(present ? [present] : []), ...sets]
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type }) => type === 'ReplicaFailure')
  if (!failure) return others
  return [...others, { ...failure, lastUpdateTime: failure.lastTransitionTime! }]
}

/** A condition with the same status and reason is not changed. */
export function setDeploymentCondition(
  conditions: readonly DeploymentCondition[],
  update: Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>,
  now: number,
): readonly DeploymentCondition[] {
  const known = conditions.find(({ type }) => type === update.type)
  const isSame = known !== undefined && known.status === update.status
  if (isSame && known.reason === update.reason) return conditions
  const time = formatTime(now)
  const lastTransitionTime = (isSame && known.lastTransitionTime) || time
  return [
    ...conditions.filter(({ type }) => type !== update.type),
    { ...update, lastUpdateTime: time, lastTransitionTime },
  ]
}
