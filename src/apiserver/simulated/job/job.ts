/**
 * The Job controller: runs pods until enough have succeeded. Each finished pod is counted once: a pod has a finalizer
 * until its result is recorded in the Job's status, so no result is lost if a client deletes the pod, or if the
 * simulation stops in between.
 */
import { formatTime, parseTime } from '../../../kube/units/duration.ts'
import type { JobCondition, JobStatus } from '../../../kube/types/batch/v1.ts'
import type { PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import { type SimulatedState, splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { earliest } from '../node/container-machine.ts'
import { claim, type SimulatedController, ownerOrAdopters, selectorOf, type Tools } from '../controller/controller.ts'
import { formatIndexes, parseIndexes } from './index-set.ts'
import { finishOf, isManagedElsewhere } from './job-facts.ts'
import { isTracked, releasePod, trackingFinalizer } from './job-tracking.ts'
import { isActive, isFinished, isPodReady, isPodTerminating, podOf, restartsOf } from '../controller/pod-facts.ts'
import { type FailureVerdict, applyFailurePolicy } from './pod-failure-policy.ts'

type Job = StoredIn<'jobs.batch'>

const indexAnnotation = 'batch.kubernetes.io/job-completion-index'
const initialBackOffMs = 10_000
const maxBackOffMs = 600_000

export function jobController(tools: Tools): SimulatedController {
  const { cluster } = tools
  return {
    own: { 'jobs.batch': ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] },
    others: { pods: ownerOrAdopters(cluster, 'Job', 'jobs.batch') },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const found = cluster.get('jobs.batch', namespace, name)
      if (!found) return undefined
      if (isManagedElsewhere(found)) return undefined
      if (finishOf(found)) return await cleanUp(tools, found)
      await claim(tools, 'pods', found, selectorOf(found), trackingFinalizer)
      const job = await count(tools, found)
      if (job && !job.metadata.deletionTimestamp) return await work(tools, job)
      // A Job that is being deleted counts no more pods, so it releases them.
      for (const pod of cluster.controlled('pods', found)) await releasePod(tools, pod)
      return undefined
    },
  }
}

function isIndexed({ spec }: Job): boolean {
  return spec?.completionMode === 'Indexed'
}

function indexOf({ metadata }: StoredPod): number {
  return Number(metadata.annotations?.[indexAnnotation] ?? -1)
}

/**
 * A pod that is deleted before it finishes counts as failed at once, unless its replacement must wait until it has
 * stopped.
 */
function hasFailed({ spec }: Job, pod: StoredPod): boolean {
  if (pod.status?.phase === 'Failed') return true
  return spec?.podReplacementPolicy !== 'Failed' && isPodTerminating(pod) && !isFinished(pod)
}

/**
 * Records finished pods in `uncountedTerminatedPods`, removes their finalizers, and counts them: in this order, so that
 * each counts once.
 */
async function count(tools: Tools, job: Job): Promise<Job | undefined> {
  const { cluster, writer } = tools
  const ended = cluster
    .controlled('pods', job)
    .filter((pod) => isTracked(pod) && (isFinished(pod) || hasFailed(job, pod)))
  const before = job.status?.uncountedTerminatedPods ?? {}
  const isKnown = new Set([...(before.succeeded ?? []), ...(before.failed ?? [])])
  const fresh = ended.filter(({ metadata }) => !isKnown.has(metadata.uid))
  const counted = fresh.filter((pod) => verdictOf(job, pod).action !== 'Ignore')
  const uidsOf = (hasSucceeded: boolean): readonly string[] =>
    counted.filter(({ status }) => (status?.phase === 'Succeeded') === hasSucceeded).map(({ metadata }) => metadata.uid)
  const succeeded = [...(before.succeeded ?? []), ...(isIndexed(job) ? [] : uidsOf(true))]
  const failed = [...(before.failed ?? []), ...uidsOf(false)]
  const done = new Set([
    ...parseIndexes(job.status?.completedIndexes),
    ...ended.filter(({ status }) => status?.phase === 'Succeeded').map(indexOf),
  ])
  const indexes = isIndexed(job) ? formatIndexes([...done].filter((index) => index >= 0)) : ''
  const noted = await writer.updateStatus('jobs.batch', job, {
    ...job.status,
    ...(indexes !== '' && { completedIndexes: indexes, succeeded: parseIndexes(indexes).size }),
    uncountedTerminatedPods: {
      ...(succeeded.length > 0 && { succeeded }),
      ...(failed.length > 0 && { failed }),
    },
  })
  for (const pod of ended) await releasePod(tools, pod)
  const status = noted.status ?? {}
  if (succeeded.length + failed.length === 0) return noted
  const live = cluster.get('jobs.batch', job.metadata.namespace, job.metadata.name)
  if (live?.metadata.uid !== job.metadata.uid) return undefined
  return await writer.updateStatus('jobs.batch', live, {
    ...status,
    ...(succeeded.length > 0 && { succeeded: (status.succeeded ?? 0) + succeeded.length }),
    ...(failed.length > 0 && { failed: (status.failed ?? 0) + failed.length }),
    uncountedTerminatedPods: {},
  })
}

function verdictOf(job: Job, pod: StoredPod): FailureVerdict {
  return hasFailed(job, pod) ? applyFailurePolicy(job.spec?.podFailurePolicy, pod) : { action: 'Count', message: '' }
}

interface End {
  readonly type: 'Complete' | 'Failed'
  readonly reason: string
  readonly message: string
}

async function work(tools: Tools, job: Job): Promise<number | undefined> {
  const { cluster } = tools
  const now = cluster.now()
  const pods = cluster.controlled('pods', job)
  const active = pods.filter(isActive)
  const end = endOf(job, pods, now)
  if (end) return await finish(tools, job, active, end)
  if (job.spec?.suspend) {
    for (const pod of active) await tools.writer.remove('pods', pod)
    return await report(tools, job, suspended(job, true, now))
  }
  const started = job.status?.startTime && !isSuspended(job) ? job.status : suspended(job, false, now)
  const backOffMs = await syncPods(tools, job, active)
  const deadline = job.spec?.activeDeadlineSeconds
  const dueAt = deadline === undefined ? undefined : (parseTime(started.startTime ?? '') ?? now) + deadline * 1000
  await report(tools, job, started)
  const wakeAt = earliest([dueAt, backOffMs === undefined ? undefined : now + backOffMs])
  return wakeAt === undefined ? undefined : Math.max(wakeAt - now, 0)
}

/** Why the Job is finished, if it is. */
function endOf(job: Job, pods: readonly StoredPod[], now: number): End | undefined {
  const { spec, status = {} } = job
  const known = status.conditions?.find(({ type, status: value }) => type === 'FailureTarget' && value === 'True')
  if (known) return { type: 'Failed', reason: known.reason ?? '', message: known.message ?? '' }
  const fatal = pods.map((pod) => verdictOf(job, pod)).find(({ action }) => action === 'FailJob')
  if (fatal) return { type: 'Failed', reason: 'PodFailurePolicy', message: fatal.message }
  const { backoffLimit = 6, activeDeadlineSeconds: deadline, completions } = spec!
  const isOnFailure = spec?.template.spec?.restartPolicy === 'OnFailure'
  const restarts = isOnFailure ? pods.filter(isActive).reduce((sum, pod) => sum + restartsOf(pod), 0) : 0
  const isBackoffLimitExceeded =
    (status.failed ?? 0) > backoffLimit || (restarts > 0 && restarts >= Math.max(backoffLimit, 1))
  if (isBackoffLimitExceeded) {
    return { type: 'Failed', reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' }
  }
  const since = parseTime(status.startTime ?? '')
  if (deadline !== undefined && since !== undefined && !spec?.suspend && now >= since + deadline * 1000) {
    return { type: 'Failed', reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' }
  }
  const succeeded = status.succeeded ?? 0
  const isComplete =
    completions === undefined ? succeeded > 0 && !pods.some((pod) => !isFinished(pod)) : succeeded >= completions
  const message = 'Reached expected number of succeeded pods'
  return isComplete ? { type: 'Complete', reason: 'CompletionsReached', message } : undefined
}

/**
 * The Job first gets the condition SuccessCriteriaMet or FailureTarget; when its last pod has stopped, Complete or
 * Failed.
 */
async function finish(tools: Tools, job: Job, active: readonly StoredPod[], end: End): Promise<undefined> {
  const { cluster, writer, record } = tools
  for (const pod of active) await writer.remove('pods', pod)
  const live = cluster.get('jobs.batch', job.metadata.namespace, job.metadata.name)
  if (!live) return undefined
  const now = formatTime(cluster.now())
  const conditionOf = (type: string): JobCondition => ({
    type,
    status: 'True',
    lastProbeTime: now,
    lastTransitionTime: now,
    reason: end.reason,
    message: end.message,
  })
  const pods = cluster.controlled('pods', live)
  const isStill = pods.every(isFinished)
  const first = end.type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
  const known = live.status?.conditions ?? []
  const conditions = [
    ...known,
    ...(known.some(({ type }) => type === first) ? [] : [conditionOf(first)]),
    ...(isStill ? [conditionOf(end.type)] : []),
  ]
  const status = countsOf(pods, live.status ?? {})
  const uncountedTerminatedPods = isStill ? {} : status.uncountedTerminatedPods
  await writer.updateStatus('jobs.batch', live, {
    ...status,
    ...(uncountedTerminatedPods && { uncountedTerminatedPods }),
    ...(isStill && end.type === 'Complete' && { completionTime: now }),
    conditions,
  })
  if (isStill && end.type === 'Complete') record(live, 'Normal', 'Completed', 'Job completed')
  else if (isStill) record(live, 'Warning', end.reason, end.message)
  return undefined
}

function isSuspended({ status }: Job): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Suspended' && value === 'True') ?? false
}

function suspended(job: Job, isSuspending: boolean, now: number): JobStatus {
  const time = formatTime(now)
  const { startTime: _start, ...status } = job.status ?? {}
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'Suspended')
  const known = status.conditions?.find(({ type }) => type === 'Suspended')
  if (isSuspending && known?.status === 'True') return status
  const condition: JobCondition = {
    type: 'Suspended',
    status: isSuspending ? 'True' : 'False',
    lastProbeTime: time,
    lastTransitionTime: time,
    reason: isSuspending ? 'JobSuspended' : 'JobResumed',
    message: isSuspending ? 'Job suspended' : 'Job resumed',
  }
  return {
    ...status,
    ...(!isSuspending && { startTime: time }),
    // A Job that was never suspended needs no condition that it is not.
    ...((isSuspending || known) && { conditions: [...others, condition] }),
  }
}

/** Creates missing pods, deletes surplus ones. Returns the back-off before more may be created. */
async function syncPods(tools: Tools, job: Job, active: readonly StoredPod[]): Promise<number | undefined> {
  const { cluster, writer, record } = tools
  const { parallelism = 1, completions } = job.spec!
  const succeeded = job.status?.succeeded ?? 0
  const isEnding = completions === undefined && succeeded > 0
  const desired = isEnding ? active.length : Math.min(parallelism, (completions ?? Infinity) - succeeded)
  for (const pod of active.slice(Math.max(desired, 0))) await writer.remove('pods', pod)
  const missing = desired - active.length
  if (missing <= 0) return undefined
  // With `podReplacementPolicy: Failed`, a pod that is still stopping counts as active.
  const stopping = cluster.controlled('pods', job).filter((pod) => isPodTerminating(pod) && !isFinished(pod)).length
  const waitsFor = job.spec?.podReplacementPolicy === 'Failed' || job.spec?.podFailurePolicy ? stopping : 0
  const delay = backOffMsOf(cluster, job)
  if (delay > 0) return delay
  const indexes = isIndexed(job) ? freeIndexes(job, active) : undefined
  const most = Math.min(missing - waitsFor, indexes?.length ?? Infinity, 500)
  for (let made = 0; made < most; made++) {
    const pod = await writer.create('pods', podFor(job, indexes?.[made]))
    record(job, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`)
  }
  return undefined
}

/** The back-off before the next pod: it doubles with each failed pod. */
function backOffMsOf(cluster: SimulatedState, job: Job): number {
  const failures = job.status?.failed ?? 0
  const ends = cluster
    .controlled('pods', job)
    .filter(({ status }) => status?.phase === 'Failed')
    .map(endedAt)
  if (failures === 0 || ends.length === 0) return 0
  const last = ends.reduce((latest, end) => Math.max(latest, end))
  const delay = Math.min(initialBackOffMs * 2 ** (failures - 1), maxBackOffMs)
  return Math.max(last + delay - cluster.now(), 0)
}

function endedAt({ status, metadata }: StoredPod): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) => parseTime(state?.terminated?.finishedAt ?? '') ?? 0)
  return ends.reduce((latest, end) => Math.max(latest, end), parseTime(metadata.creationTimestamp ?? '') ?? 0)
}

function freeIndexes(job: Job, active: readonly StoredPod[]): readonly number[] {
  const done = parseIndexes(job.status?.completedIndexes)
  const taken = new Set(active.map(indexOf))
  const all = Array.from({ length: job.spec?.completions ?? 0 }, (_, index) => index)
  return all.filter((index) => !done.has(index) && !taken.has(index))
}

function podFor(job: Job, index: number | undefined): ReturnType<typeof podOf> {
  const template = index === undefined ? job.spec!.template : indexed(job, index)
  const finalizers = [...(template.metadata?.finalizers ?? []), trackingFinalizer]
  const prefix = index === undefined ? {} : { generateName: `${job.metadata.name}-${index}-` }
  return podOf(job, template, { finalizers, ...prefix })
}

function indexed(job: Job, index: number): PodTemplateSpec {
  const { metadata, spec } = job.spec!.template
  const fieldPath = `metadata.annotations['${indexAnnotation}']`
  const env = { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } }
  const withIndex = <C extends { readonly env?: readonly { readonly name: string }[] }>(container: C): C =>
    container.env?.some(({ name }) => name === env.name)
      ? container
      : { ...container, env: [...(container.env ?? []), env] }
  return {
    metadata: {
      ...metadata,
      labels: { ...metadata?.labels, [indexAnnotation]: String(index) },
      annotations: { ...metadata?.annotations, [indexAnnotation]: String(index) },
    },
    spec: {
      ...spec!,
      hostname: `${job.metadata.name}-${index}`,
      containers: spec!.containers.map(withIndex),
      ...(spec!.initContainers && { initContainers: spec!.initContainers.map(withIndex) }),
    },
  }
}

function countsOf(pods: readonly StoredPod[], status: JobStatus): JobStatus {
  const { active: _active, ready: _ready, terminating: _terminating, ...rest } = status
  const active = pods.filter(isActive)
  return {
    ...rest,
    ...(active.length > 0 && { active: active.length }),
    ready: active.filter(isPodReady).length,
    terminating: pods.filter((pod) => isPodTerminating(pod) && !isFinished(pod)).length,
  }
}

async function report({ cluster, writer }: Tools, job: Job, status: JobStatus): Promise<undefined> {
  const live = cluster.get('jobs.batch', job.metadata.namespace, job.metadata.name)
  if (!live) return undefined
  const pods = cluster.controlled('pods', live)
  await writer.updateStatus('jobs.batch', live, {
    ...countsOf(pods, status),
    uncountedTerminatedPods: status.uncountedTerminatedPods ?? {},
  })
  return undefined
}

/** Cleans up after a finished Job: releases its pods, and deletes the Job when its TTL expires. */
async function cleanUp(tools: Tools, job: Job): Promise<number | undefined> {
  const { cluster, writer } = tools
  for (const pod of cluster.controlled('pods', job)) await releasePod(tools, pod)
  const { ttlSecondsAfterFinished: ttl } = job.spec ?? {}
  if (ttl === undefined || job.metadata.deletionTimestamp) return undefined
  const endedMs = parseTime(finishOf(job)?.lastTransitionTime ?? '') ?? 0
  const left = endedMs + ttl * 1000 - cluster.now()
  if (left > 0) return left
  await writer.remove('jobs.batch', job, { propagation: 'Foreground' })
  return undefined
}
