/**
 * Is the live object in its desired state? One function for every kind, by the rules of kstatus, which Flux and kpt use,
 * too.
 *
 * General rules come first: an object that is being deleted, a controller that has not observed the latest generation, the
 * conditions `Reconciling` and `Stalled`. Then the rule of its kind, for kinds with their own status. Every other kind is
 * judged by its `Ready` condition; without one it is considered current.
 */
import { parseTime } from '../units/duration.ts'
import { isJsonObject } from '../json.ts'
import { kindOf } from '../kind.ts'
import type { KubeObject } from '../object.ts'

export type HealthStatus =
  /** In progress; it may succeed by itself. */
  | 'InProgress'
  /** Failed: it will not succeed without a change. */
  | 'Failed'
  /** In the desired state. */
  | 'Current'
  /** Being deleted. */
  | 'Terminating'
  | 'NotFound'
  /** Its status matches no rule. */
  | 'Unknown'

export interface Health {
  readonly status: HealthStatus
  /** Machine-readable. */
  readonly reason: string
  readonly message: string
}

export function healthOf(object: KubeObject | undefined, now: number): Health {
  if (!object) return { status: 'NotFound', reason: 'NotFound', message: 'It does not exist.' }
  const { group, kind } = kindOf(object)
  const ofKind = kindRules.get(group === '' ? kind : `${group}/${kind}`)
  return generalRule(object) ?? ofKind?.(object, now) ?? readyRule(object)
}

/** How long a Pod may be unschedulable before that counts as failure: the scheduler may still find a node. */
const schedulingMs = 15_000

/** The value that means: the Deployment has no progress deadline. */
const noDeadline = 2 ** 31 - 1

function generalRule(object: KubeObject): Health | undefined {
  const { deletionTimestamp, generation } = object.metadata
  if (deletionTimestamp) return { status: 'Terminating', reason: 'Deleting', message: 'It is being deleted.' }
  const observed = numberAt(object, 'status.observedGeneration')
  if (generation !== undefined && observed !== undefined && observed !== generation) {
    return inProgress('LatestGenerationNotObserved', `Its controller has seen generation ${observed} of ${generation}.`)
  }
  const telling = conditionsOf(object).find(
    ({ type, status }) => (type === 'Reconciling' || type === 'Stalled') && status === 'True',
  )
  if (!telling) return undefined
  const { type, reason, message } = telling
  return type === 'Stalled' ? failed(reason || type, message) : inProgress(reason || type, message)
}

/** The reason of an object that reports no condition. */
export const nothingToWaitFor = 'NothingToWaitFor'

function readyRule(object: KubeObject): Health {
  const ready = conditionsOf(object).find(({ type }) => type === 'Ready')
  if (ready?.status === 'True') return current(ready.reason || 'Ready', ready.message || 'It is ready.')
  if (ready?.status === 'False' || ready?.status === 'Unknown')
    return inProgress(ready.reason || 'NotReady', ready.message)
  return current(nothingToWaitFor, 'It reports nothing that could be waited for.')
}

type Rule = (object: KubeObject, now: number) => Health

const always: Rule = () => current('AlwaysCurrent', 'An object of this kind is current once it exists.')

const deployment: Rule = (object) => {
  const conditions = conditionsOf(object)
  const progressing = conditions.find(({ type }) => type === 'Progressing')
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    return failed(progressing.reason, progressing.message || 'It made no progress before its deadline.')
  }
  const { wanted, replicas, updated, available, ready } = replicasOf(object)
  if (wanted > replicas) return lacking('LessReplicas', 'created', replicas, wanted)
  if (wanted > updated) return lacking('LessUpdated', 'updated', updated, wanted)
  if (replicas > wanted) return surplus(replicas - wanted)
  if (updated > available) return lacking('LessAvailable', 'available', available, updated)
  if (wanted > ready) return lacking('LessReady', 'ready', ready, wanted)
  const hasDeadline = (numberAt(object, 'spec.progressDeadlineSeconds') ?? noDeadline) !== noDeadline
  const isRolledOut = progressing?.status === 'True' && progressing.reason === 'NewReplicaSetAvailable'
  // Without a deadline the controller does not report progress.
  if (hasDeadline && !isRolledOut)
    return inProgress('ReplicaSetNotAvailable', 'Its newest ReplicaSet is not rolled out.')
  if (!conditions.some(({ type, status }) => type === 'Available' && status === 'True')) {
    return inProgress('DeploymentNotAvailable', 'It does not report to be available.')
  }
  return current('Available', `All ${replicas} replicas are available.`)
}

const replicaSet: Rule = (object) => {
  if (conditionsOf(object).some(({ type, status }) => type === 'ReplicaFailure' && status === 'True')) {
    return inProgress('ReplicaFailure', 'Pods could not be created or deleted.')
  }
  const { wanted, replicas, labelled, available, ready } = replicasOf(object)
  if (wanted > labelled) return lacking('LessLabelled', 'labelled', labelled, wanted)
  if (wanted > available) return lacking('LessAvailable', 'available', available, wanted)
  if (wanted > ready) return lacking('LessReady', 'ready', ready, wanted)
  if (replicas > wanted) return surplus(replicas - wanted)
  return current('Available', `All ${replicas} replicas are available.`)
}

const statefulSet: Rule = (object) => {
  if (textAt(object, 'spec.updateStrategy.type') === 'OnDelete') {
    return current('OnDelete', 'Pods are updated when they are deleted (updateStrategy OnDelete).')
  }
  const { wanted, replicas, updated, ready } = replicasOf(object)
  if (wanted > replicas) return lacking('LessReplicas', 'created', replicas, wanted)
  if (wanted > ready) return lacking('LessReady', 'ready', ready, wanted)
  if (replicas > wanted) return surplus(replicas - wanted)
  const partition = numberAt(object, 'spec.updateStrategy.rollingUpdate.partition')
  if (partition !== undefined) {
    if (updated < wanted - partition) return lacking('PartitionRollout', 'updated', updated, wanted - partition)
    return current('PartitionRolledOut', `The ${updated} replicas beyond the partition are updated.`)
  }
  const atCurrent = numberAt(object, 'status.currentReplicas') ?? 0
  if (wanted > atCurrent) return lacking('LessCurrent', 'at the current revision', atCurrent, wanted)
  if (textAt(object, 'status.currentRevision') !== textAt(object, 'status.updateRevision')) {
    return inProgress('RevisionMismatch', 'The update revision has not become the current one.')
  }
  return current('Ready', `All ${replicas} replicas are ready.`)
}

const daemonSet: Rule = (object) => {
  // Its controller always sets both: if they are missing it has not observed the object.
  if (object.metadata.generation === undefined) return inProgress('NoGeneration', 'It has no generation.')
  if (numberAt(object, 'status.observedGeneration') === undefined) {
    return inProgress('NoObservedGeneration', 'Its controller has not seen it.')
  }
  const desired = numberAt(object, 'status.desiredNumberScheduled')
  if (desired === undefined) return inProgress('NoDesiredNumber', 'How many Pods it needs is not known.')
  const counters = [
    ['LessCurrent', 'scheduled', 'status.currentNumberScheduled'],
    ['LessUpdated', 'updated', 'status.updatedNumberScheduled'],
    ['LessAvailable', 'available', 'status.numberAvailable'],
    ['LessReady', 'ready', 'status.numberReady'],
  ] as const
  for (const [reason, what, path] of counters) {
    const count = numberAt(object, path) ?? 0
    if (desired > count) return lacking(reason, what, count, desired)
  }
  return current('Ready', `All ${desired} replicas are ready.`)
}

const pod: Rule = (object, now) => {
  const conditions = conditionsOf(object)
  const phase = textAt(object, 'status.phase')
  switch (phase) {
    case 'Succeeded':
      return current('Succeeded', 'It ran to its end.')
    case 'Failed':
      return current('Failed', 'It ended with a failure.')
    case 'Running': {
      if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) {
        return current('Ready', 'It is ready.')
      }
      const crashing = crashingContainers(object)
      if (crashing.length > 0)
        return failed('ContainerCrashLooping', `Crashing again and again: ${crashing.join(', ')}.`)
      return inProgress('PodRunningNotReady', 'It is running but not ready.')
    }
    case 'Pending': {
      const scheduled = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
      if (scheduled?.reason !== 'Unschedulable') return inProgress('PodPending', 'It is pending.')
      const created = parseTime(object.metadata.creationTimestamp ?? '') ?? 0
      if (now - created < schedulingMs) return inProgress('PodNotScheduled', 'No node was found for it so far.')
      return failed('PodUnschedulable', scheduled.message || 'No node was found for it.')
    }
    case '':
      return inProgress('PodNotObserved', 'It has no phase yet.')
    default:
      return { status: 'Unknown', reason: 'UnknownPhase', message: `Its phase is ${phase}.` }
  }
}

/** A started Job counts as current. Callers that need its result wait for `Complete`. */
const job: Rule = (object) => {
  const succeeded = numberAt(object, 'status.succeeded') ?? 0
  const failures = numberAt(object, 'status.failed') ?? 0
  for (const { type, status, message } of conditionsOf(object)) {
    if (status !== 'True') continue
    if (type === 'Complete') return current('Complete', `It is complete: ${succeeded} Pods succeeded.`)
    if (type === 'Failed') return failed('JobFailed', message || `It failed: ${failures} Pods failed.`)
    if (type === 'Suspended') return current('Suspended', 'It is suspended.')
  }
  if (textAt(object, 'status.startTime') === '') return inProgress('JobNotStarted', 'It has not started.')
  const active = numberAt(object, 'status.active') ?? 0
  return current('Running', `It is running: ${active} Pods active, ${succeeded} succeeded, ${failures} failed.`)
}

const persistentVolumeClaim: Rule = (object) => {
  const phase = textAt(object, 'status.phase') || 'unknown'
  return phase === 'Bound'
    ? current('Bound', 'It is bound.')
    : inProgress('NotBound', `It is not bound: its phase is ${phase}.`)
}

const service: Rule = (object) => {
  const isUnassigned = textAt(object, 'spec.type') === 'LoadBalancer' && textAt(object, 'spec.clusterIP') === ''
  return isUnassigned ? inProgress('NoIPAssigned', 'It has no cluster address.') : current('Ready', 'It is ready.')
}

const customResourceDefinition: Rule = (object) => {
  const conditions = conditionsOf(object)
  const names = conditions.find(({ type }) => type === 'NamesAccepted')
  if (names?.status === 'False') return failed(names.reason || 'NamesNotAccepted', names.message)
  const established = conditions.find(({ type }) => type === 'Established')
  if (established?.status === 'True') return current('Established', 'It is established.')
  if (established?.status === 'False' && established.reason !== 'Installing') {
    return failed(established.reason || 'NotEstablished', established.message)
  }
  return inProgress('Installing', 'It is being installed.')
}

/** By group and kind, for kinds that do not report a `Ready` condition. */
const kindRules: ReadonlyMap<string, Rule> = new Map([
  ['ConfigMap', always],
  ['Secret', always],
  ['Pod', pod],
  ['PersistentVolumeClaim', persistentVolumeClaim],
  ['Service', service],
  ['apps/Deployment', deployment],
  ['apps/ReplicaSet', replicaSet],
  ['apps/StatefulSet', statefulSet],
  ['apps/DaemonSet', daemonSet],
  ['batch/CronJob', always],
  ['batch/Job', job],
  ['policy/PodDisruptionBudget', always],
  ['apiextensions.k8s.io/CustomResourceDefinition', customResourceDefinition],
])

function current(reason: string, message: string): Health {
  return { status: 'Current', reason, message }
}

function inProgress(reason: string, message: string): Health {
  return { status: 'InProgress', reason, message }
}

function failed(reason: string, message: string): Health {
  return { status: 'Failed', reason, message }
}

function lacking(reason: string, what: string, count: number, wanted: number): Health {
  return inProgress(reason, `${count} of ${wanted} replicas are ${what}.`)
}

function surplus(count: number): Health {
  return inProgress('ExtraPods', `${count} replicas too many are still there.`)
}

interface Replicas {
  readonly wanted: number
  readonly replicas: number
  readonly updated: number
  readonly ready: number
  readonly available: number
  readonly labelled: number
}

function replicasOf(object: KubeObject): Replicas {
  return {
    wanted: numberAt(object, 'spec.replicas') ?? 1,
    replicas: numberAt(object, 'status.replicas') ?? 0,
    updated: numberAt(object, 'status.updatedReplicas') ?? 0,
    ready: numberAt(object, 'status.readyReplicas') ?? 0,
    available: numberAt(object, 'status.availableReplicas') ?? 0,
    labelled: numberAt(object, 'status.fullyLabeledReplicas') ?? 0,
  }
}

function crashingContainers(object: KubeObject): readonly string[] {
  return listAt(object, 'status.containerStatuses')
    .filter((container) => textAt(container, 'state.waiting.reason') === 'CrashLoopBackOff')
    .map((container) => textAt(container, 'name'))
}

/** A condition of any kind: older ones lack members that `metav1.Condition` requires. */
interface LooseCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export function conditionsOf(object: KubeObject): readonly LooseCondition[] {
  return listAt(object, 'status.conditions').map((condition) => ({
    type: textAt(condition, 'type'),
    status: textAt(condition, 'status'),
    reason: textAt(condition, 'reason'),
    message: textAt(condition, 'message'),
  }))
}

function valueAt(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, member) => (isJsonObject(value) ? value[member] : undefined), object)
}

function textAt(object: unknown, path: string): string {
  const value = valueAt(object, path)
  return typeof value === 'string' ? value : ''
}

function numberAt(object: unknown, path: string): number | undefined {
  const value = valueAt(object, path)
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined
}

function listAt(object: unknown, path: string): readonly unknown[] {
  const value = valueAt(object, path)
  return Array.isArray(value) ? value : []
}
