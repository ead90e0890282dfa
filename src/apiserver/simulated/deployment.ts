/**
 * Deployments: each version of the template is a ReplicaSet, and a change of the template is a shift of replicas from
 * the old ones to the new one, as fast as `maxSurge` and `maxUnavailable` allow.
 *
 * A look goes like this: find or make the ReplicaSet of the present template; scale, or shift by one step; say how far
 * it is. Each step changes a ReplicaSet, and that change is the reason for the next look.
 */
import { formatTime, parseTime } from '../../kube/duration.ts'
import { describeError } from '../../kube/errors.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import { controllerOf, ownerReference } from '../../kube/owner.ts'
import type { DeploymentCondition, DeploymentStatus } from '../../kube/types/apps/v1.ts'
import type { PodTemplateSpec } from '../../kube/types/core/v1.ts'
import { Refusal } from '../refusal.ts'
import { type Cluster, splitKey, type StoredIn } from './cluster.ts'
import { claim, type Controller, ownerOf, ownerOrAdopters, selectorOf, type Tools } from './controller.ts'
import { isFinished } from './pod-facts.ts'
import { oldReplicasOf, proportions, type SetSize, type Sizes, shiftOf } from './rollout.ts'
import { positive } from './replica-set.ts'
import { shareOf } from './share.ts'
import { templateHash } from './template-hash.ts'

type Deployment = StoredIn<'deployments.apps'>
type ReplicaSet = StoredIn<'replicasets.apps'>

const hashLabel = 'pod-template-hash'
const revisionAnnotation = 'deployment.kubernetes.io/revision'
const historyAnnotation = 'deployment.kubernetes.io/revision-history'
const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas'
const maximumAnnotation = 'deployment.kubernetes.io/max-replicas'
const notCopied = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maximumAnnotation,
  'deprecated.deployment.rollback.to',
])

export function deploymentController(tools: Tools): Controller {
  const { cluster } = tools
  return {
    own: { 'deployments.apps': ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] },
    others: {
      'replicasets.apps': ownerOrAdopters(cluster, 'Deployment', 'deployments.apps'),
      // Whoever recreates waits for the last old pod to go.
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
      if (found.metadata.deletionTimestamp) return await report(tools, found, sets)
      const deployment = await notePause(tools, found)
      const isPaused = deployment.spec.paused === true
      const present = await presentSet(tools, deployment, sets, !isPaused && !mustWait(tools, deployment, sets))
      const live = cluster.get('deployments.apps', namespace, name) ?? deployment
      const all = cluster.controlled('replicasets.apps', live)
      const old = all.filter((one) => one.metadata.uid !== present?.metadata.uid)
      if (isPaused || isScaled(live, all)) await scale(tools, live, present, old)
      else if (live.spec.strategy?.type === 'Recreate') await recreate(tools, live, present, old)
      else if (present) await roll(tools, live, present, old)
      await forgetOld(tools, live, old)
      return await report(tools, cluster.get('deployments.apps', namespace, name) ?? live, all)
    },
  }
}

function isRecreated(cluster: Cluster, set: ReplicaSet): boolean {
  const owner = controllerOf(set)
  const deployment = owner && cluster.get('deployments.apps', set.metadata.namespace, owner.name)
  return deployment?.spec.strategy?.type === 'Recreate'
}

function surgeOf({ spec }: Deployment): number {
  return spec.strategy?.type === 'Recreate'
    ? 0
    : shareOf(spec.strategy?.rollingUpdate?.maxSurge, spec.replicas ?? 1, 'up')
}

function unavailableOf(deployment: Deployment): number {
  const { replicas = 1, strategy } = deployment.spec
  if (strategy?.type === 'Recreate' || replicas === 0) return 0
  const unavailable = shareOf(strategy?.rollingUpdate?.maxUnavailable, replicas, 'down')
  // Rounded down to nothing on both sides, nothing could move.
  if (unavailable === 0 && surgeOf(deployment) === 0) return 1
  return Math.min(unavailable, replicas)
}

export function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  const { labels: _labels, ...metadata } = template.metadata ?? {}
  return { ...template, metadata: { ...metadata, labels } }
}

function isSameTemplate(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return equalJson(withoutHash(a ?? {}) as unknown as Json, withoutHash(b ?? {}) as unknown as Json)
}

function byAge(sets: readonly ReplicaSet[]): readonly ReplicaSet[] {
  const at = ({ metadata }: ReplicaSet): string => `${metadata.creationTimestamp}/${metadata.name}`
  return sets.toSorted((a, b) => (at(a) < at(b) ? -1 : 1))
}

function revisionOf({ metadata }: ReplicaSet | Deployment): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0) || 0
}

/** The ReplicaSet of the template as it is now; made, if it may be. */
async function presentSet(
  tools: Tools,
  deployment: Deployment,
  sets: readonly ReplicaSet[],
  mayCreate: boolean,
): Promise<ReplicaSet | undefined> {
  const { hand } = tools
  const known = byAge(sets).find((set) => isSameTemplate(set.spec.template, deployment.spec.template))
  const old = sets.filter((set) => set !== known)
  const revision = Math.max(0, ...old.map(revisionOf)) + 1
  if (known) {
    const annotations = annotationsOf(deployment, known, revision)
    const { minReadySeconds: ready = 0 } = deployment.spec
    const isSame =
      equalJson(known.metadata.annotations ?? {}, annotations) && (known.spec.minReadySeconds ?? 0) === ready
    const { minReadySeconds: _ready, ...spec } = known.spec
    const present = isSame
      ? known
      : await hand.update('replicasets.apps', {
          ...known,
          metadata: { ...known.metadata, annotations },
          spec: { ...spec, ...(ready > 0 && { minReadySeconds: ready }) },
        })
    await noteRevision(tools, deployment, present, { reason: 'FoundNewReplicaSet', text: 'Found new replica set' })
    return present
  }
  return mayCreate ? await createSet(tools, deployment, sets, revision) : undefined
}

async function createSet(
  tools: Tools,
  deployment: Deployment,
  old: readonly ReplicaSet[],
  revision: number,
): Promise<ReplicaSet> {
  const { hand, record, cluster } = tools
  const { name, namespace = '' } = deployment.metadata
  const { template, selector } = deployment.spec
  const collisions = deployment.status?.collisionCount ?? 0
  const hash = templateHash(template, collisions)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  const sizes: Sizes = { desired: deployment.spec.replicas ?? 1, surge: surgeOf(deployment), unavailable: 0 }
  const replicas =
    deployment.spec.strategy?.type === 'Recreate'
      ? sizes.desired
      : shiftOf(sizes, { spec: 0, available: 0 }, old.map(sizeOf)).present
  try {
    const made = await hand.create('replicasets.apps', {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels,
        annotations: annotationsOf(deployment, undefined, revision),
        ownerReferences: [ownerReference(deployment, { controller: true })],
      },
      spec: {
        replicas,
        ...(deployment.spec.minReadySeconds && { minReadySeconds: deployment.spec.minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    })
    if (replicas > 0) {
      record(
        deployment,
        'Normal',
        'ScalingReplicaSet',
        `Scaled up replica set ${made.metadata.name} from 0 to ${replicas}`,
      )
    }
    await noteRevision(tools, deployment, made, { reason: 'NewReplicaSetCreated', text: 'Created new replica set' })
    return made
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.status.reason === 'AlreadyExists') {
      // Somebody else's: another hash for the same template.
      const status = { ...deployment.status, collisionCount: collisions + 1 }
      await hand.updateStatus('deployments.apps', deployment, status)
    } else {
      const message = `Failed to create new replica set "${name}-${hash}": ${describeError(error)}`
      record(deployment, 'Warning', 'ReplicaSetCreateError', message)
      const failed = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message } as const
      const conditions = setCondition(deployment.status?.conditions ?? [], failed, cluster.now())
      await hand.updateStatus('deployments.apps', deployment, { ...deployment.status, conditions })
    }
    throw error
  }
}

/** What a ReplicaSet tells of its Deployment. A set that is used again becomes the newest revision. */
function annotationsOf(
  deployment: Deployment,
  set: ReplicaSet | undefined,
  revision: number,
): Readonly<Record<string, string>> {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => !notCopied.has(name))
  const before = set?.metadata.annotations ?? {}
  const isNewer = !set || revisionOf(set) < revision
  const past = [before[historyAnnotation], before[revisionAnnotation]].filter(Boolean).join(',')
  return {
    ...before,
    ...Object.fromEntries(copied),
    ...(isNewer && { [revisionAnnotation]: String(revision) }),
    ...(isNewer && past !== '' && { [historyAnnotation]: past }),
    ...sizeAnnotations(deployment),
  }
}

function sizeAnnotations(deployment: Deployment): Readonly<Record<string, string>> {
  const { replicas = 1 } = deployment.spec
  return { [desiredAnnotation]: String(replicas), [maximumAnnotation]: String(replicas + surgeOf(deployment)) }
}

async function noteRevision(
  { hand, cluster }: Tools,
  deployment: Deployment,
  set: ReplicaSet,
  { reason, text }: { readonly reason: string; readonly text: string },
): Promise<void> {
  const { conditions = [] } = deployment.status ?? {}
  const isFirst = reason === 'NewReplicaSetCreated' || !conditions.some(({ type }) => type === 'Progressing')
  const message = `${text} "${set.metadata.name}"`
  const noted =
    hasDeadline(deployment) && isFirst
      ? setCondition(conditions, { type: 'Progressing', status: 'True', reason, message }, cluster.now())
      : conditions
  const revision = set.metadata.annotations?.[revisionAnnotation] ?? ''
  const isKnown = deployment.metadata.annotations?.[revisionAnnotation] === revision
  if (isKnown && noted === conditions) return
  const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: revision }
  const status = { ...deployment.status, ...(noted.length > 0 && { conditions: noted }) }
  await hand.updateStatus(
    'deployments.apps',
    { ...deployment, metadata: { ...deployment.metadata, annotations } },
    status,
  )
}

/** Somebody changed the number of replicas, or how many there may be besides, since the sets were last scaled. */
function isScaled(deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  const { replicas = 1 } = deployment.spec
  return sets.some(({ spec, metadata }) => {
    const desired = metadata.annotations?.[desiredAnnotation]
    return (spec.replicas ?? 1) > 0 && desired !== undefined && desired !== String(replicas)
  })
}

async function scale(
  tools: Tools,
  deployment: Deployment,
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

async function resize(
  { hand, record }: Tools,
  deployment: Deployment,
  set: ReplicaSet,
  replicas: number,
): Promise<void> {
  const before = set.spec.replicas ?? 1
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) }
  if (before === replicas && equalJson(set.metadata.annotations ?? {}, annotations)) return
  await hand.update('replicasets.apps', {
    ...set,
    metadata: { ...set.metadata, annotations },
    spec: { ...set.spec, replicas },
  })
  if (before === replicas) return
  const word = replicas > before ? 'up' : 'down'
  const message = `Scaled ${word} replica set ${set.metadata.name} from ${before} to ${replicas}`
  record(deployment, 'Normal', 'ScalingReplicaSet', message)
}

/** Its pods, as far as the spec leaves them: those that are to go do not count as available any more. */
function sizeOf({ spec, status }: ReplicaSet): SetSize {
  const { replicas = 1 } = spec
  return { spec: replicas, available: Math.min(replicas, status?.availableReplicas ?? 0) }
}

async function roll(
  tools: Tools,
  deployment: Deployment,
  present: ReplicaSet,
  old: readonly ReplicaSet[],
): Promise<void> {
  const sizes: Sizes = {
    desired: deployment.spec.replicas ?? 1,
    surge: surgeOf(deployment),
    unavailable: unavailableOf(deployment),
  }
  const aged = byAge(old)
  const shift = shiftOf(sizes, sizeOf(present), aged.map(sizeOf))
  if (shift.present !== (present.spec.replicas ?? 1)) await resize(tools, deployment, present, shift.present)
  else {
    for (const [index, set] of aged.entries()) {
      if (shift.old[index] !== (set.spec.replicas ?? 1)) await resize(tools, deployment, set, shift.old[index]!)
    }
  }
}

/** Recreating, nothing new comes before the last old pod is gone. */
function mustWait({ cluster }: Tools, deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  if (deployment.spec.strategy?.type !== 'Recreate') return false
  const old = sets.filter((set) => !isSameTemplate(set.spec.template, deployment.spec.template))
  return oldReplicasOf(old) > 0 || old.some((set) => cluster.controlled('pods', set).some((pod) => !isFinished(pod)))
}

async function recreate(
  tools: Tools,
  deployment: Deployment,
  present: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Promise<void> {
  for (const set of old) if ((set.spec.replicas ?? 1) > 0) await resize(tools, deployment, set, 0)
  if (present && !mustWait(tools, deployment, old))
    await resize(tools, deployment, present, deployment.spec.replicas ?? 1)
}

async function forgetOld({ hand }: Tools, deployment: Deployment, old: readonly ReplicaSet[]): Promise<void> {
  // While a change is under way, an old set may be needed for the way back.
  if (!isComplete(deployment, deployment.status ?? {})) return
  const limit = deployment.spec.revisionHistoryLimit ?? 10
  const kept = old.filter(({ metadata }) => !metadata.deletionTimestamp)
  const oldest = kept.toSorted((a, b) => revisionOf(a) - revisionOf(b)).slice(0, Math.max(kept.length - limit, 0))
  for (const set of oldest) {
    const isEmpty = (set.status?.replicas ?? 0) === 0 && (set.spec.replicas ?? 1) === 0
    const isSeen = (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0)
    if (isEmpty && isSeen) await hand.remove('replicasets.apps', set)
  }
}

function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== 2 ** 31 - 1
}

/** A pause stops the clock of the deadline. */
async function notePause({ hand, cluster }: Tools, deployment: Deployment): Promise<Deployment> {
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
  const noted = setCondition(conditions, { type: 'Progressing', status: 'Unknown', ...update }, cluster.now())
  return await hand.updateStatus('deployments.apps', deployment, { ...deployment.status, conditions: noted })
}

function isComplete({ spec, metadata }: Deployment, status: DeploymentStatus): boolean {
  const { replicas = 1 } = spec
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  )
}

async function report(tools: Tools, deployment: Deployment, sets: readonly ReplicaSet[]): Promise<number | undefined> {
  const { cluster, hand } = tools
  const all = sets.map((set) => cluster.get('replicasets.apps', set.metadata.namespace, set.metadata.name) ?? set)
  const present = byAge(all).find((set) => isSameTemplate(set.spec.template, deployment.spec.template))
  const status = statusOf(deployment, all, present, cluster.now())
  await hand.updateStatus('deployments.apps', deployment, status)
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing')
  const isOver = progressing?.status === 'False' || progressing?.reason === 'NewReplicaSetAvailable'
  if (!hasDeadline(deployment) || deployment.spec.paused || !progressing || isOver) return undefined
  const due = (parseTime(progressing.lastUpdateTime ?? '') ?? 0) + deployment.spec.progressDeadlineSeconds! * 1000
  return Math.max(due - cluster.now(), 1000)
}

function statusOf(
  deployment: Deployment,
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
    ...positive(
      'replicas',
      sum(({ status }) => status?.replicas),
    ),
    ...positive('updatedReplicas', present?.status?.replicas ?? 0),
    ...positive(
      'readyReplicas',
      sum(({ status }) => status?.readyReplicas),
    ),
    ...positive('availableReplicas', available),
    ...positive('unavailableReplicas', Math.max(oldReplicasOf(sets) - available, 0)),
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
    withProgress(deployment, counts, present, setCondition(before.conditions ?? [], availability, now), now),
    sets,
    present,
  )
  return { ...counts, conditions }
}

function withProgress(
  deployment: Deployment,
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
    return setCondition(conditions, { type: 'Progressing', status: 'True', reason, message }, now)
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
  return setCondition(
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

/** A set that cannot make pods is the Deployment's trouble too. */
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

/** The same status for the same reason is no news. */
function setCondition(
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
