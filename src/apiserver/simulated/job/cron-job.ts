/** CronJobs: creates a Job at each scheduled time, and deletes finished Jobs beyond the history limits. */
import { formatTime, parseTime } from '../../../kube/units/duration.ts'
import { ownerReference } from '../../../kube/meta/owner.ts'
import { splitKey, type StoredIn } from '../controller/cluster.ts'
import { type SimulatedController, ownerOf, type Tools } from '../controller/controller.ts'
import { parseSchedule, type Schedule } from './cron-time.ts'
import { isOvertaken } from '../controller/object-writer.ts'
import { finishOf } from './job-facts.ts'

type CronJob = StoredIn<'cronjobs.batch'>
type Job = StoredIn<'jobs.batch'>

/** After this many missed starts the search for the latest one skips to the last 24 hours. */
const maxMissed = 100

export function cronJobController(tools: Tools): SimulatedController {
  const { cluster } = tools
  return {
    own: { 'cronjobs.batch': ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] },
    others: { 'jobs.batch': ownerOf('CronJob') },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const cron = cluster.get('cronjobs.batch', namespace, name)
      if (!cron || cron.metadata.deletionTimestamp) return undefined
      await forgetOld(tools, cron)
      const schedule = parseSchedule(cron.spec.schedule, cron.spec?.timeZone ?? 'UTC')
      const isDue = cron.spec?.suspend ? undefined : latestMissed(cron, schedule, cluster.now())
      const started = isDue === undefined ? undefined : await start(tools, cron, isDue)
      await report(tools, cron, started)
      const next = cron.spec?.suspend ? undefined : schedule(cluster.now())
      return next === undefined ? undefined : next - cluster.now()
    },
  }
}

/** The latest scheduled time that has passed without a Job. */
function latestMissed(cron: CronJob, schedule: Schedule, now: number): number | undefined {
  const { startingDeadlineSeconds: deadline } = cron.spec
  const since = parseTime(cron.status?.lastScheduleTime ?? cron.metadata.creationTimestamp ?? '') ?? now
  const from = deadline === undefined ? since : Math.max(since, now - deadline * 1000)
  let latest: number | undefined
  let at = schedule(from)
  for (let count = 0; at !== undefined && at <= now; count++) {
    latest = at
    // After many missed starts only the latest one matters.
    at = count < maxMissed ? schedule(at) : schedule(Math.max(at, now - 86_400_000))
  }
  return latest
}

async function start(tools: Tools, cron: CronJob, at: number): Promise<Job | 'skipped' | undefined> {
  const { cluster, writer, record } = tools
  const running = cluster.controlled('jobs.batch', cron).filter((job) => !finishOf(job))
  if (cron.spec?.concurrencyPolicy === 'Forbid' && running.length > 0) {
    record(
      cron,
      'Normal',
      'JobAlreadyActive',
      'Not starting job because prior execution is running and concurrency policy is Forbid',
    )
    return undefined
  }
  if (cron.spec?.concurrencyPolicy === 'Replace') {
    for (const job of running) {
      await writer.remove('jobs.batch', job, { propagation: 'Background' })
      record(cron, 'Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
    }
  }
  const { metadata, spec } = cron.spec.jobTemplate
  const { namespace = '' } = cron.metadata
  const name = `${cron.metadata.name}-${Math.floor(at / 60_000)}`
  try {
    const job = await writer.create('jobs.batch', {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name,
        namespace,
        ...(metadata?.labels && { labels: metadata.labels }),
        annotations: { ...metadata?.annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': formatTime(at) },
        ownerReferences: [ownerReference(cron, { controller: true })],
      },
      ...(spec && { spec }),
    })
    record(cron, 'Normal', 'SuccessfulCreate', `Created job ${name}`)
    return job
  } catch (error) {
    if (!isOvertaken(error)) throw error
    // A former run created the Job, but stopped before it wrote the status.
    return cluster.get('jobs.batch', namespace, name) ?? 'skipped'
  }
}

async function report({ cluster, writer }: Tools, cron: CronJob, started: Job | 'skipped' | undefined): Promise<void> {
  const live = cluster.get('cronjobs.batch', cron.metadata.namespace, cron.metadata.name)
  if (!live) return
  const jobs = cluster.controlled('jobs.batch', live)
  const active = jobs
    .filter((job) => !finishOf(job))
    .map(({ metadata, ...job }) => ({
      apiVersion: job.apiVersion,
      kind: job.kind,
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    }))
  // A reference contains the resourceVersion of when it was created, and is kept as it is.
  const known = new Map((live.status?.active ?? []).map((one) => [one.uid, one]))
  const successes = jobs
    .filter((job) => finishOf(job)?.type === 'Complete')
    .map(({ status }) => status?.completionTime ?? '')
    .toSorted()
  const lastSuccessfulTime = [live.status?.lastSuccessfulTime ?? '', ...successes].toSorted().at(-1)
  const scheduled =
    started && started !== 'skipped'
      ? started.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp']
      : undefined
  const lastScheduleTime = scheduled ?? live.status?.lastScheduleTime
  await writer.updateStatus('cronjobs.batch', live, {
    ...(active.length > 0 && { active: active.map((one) => known.get(one.uid) ?? one) }),
    ...(lastScheduleTime && { lastScheduleTime }),
    ...(lastSuccessfulTime && { lastSuccessfulTime }),
  })
}

async function forgetOld({ cluster, writer, record }: Tools, cron: CronJob): Promise<void> {
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = cron.spec
  for (const [type, limit] of [
    ['Complete', successfulJobsHistoryLimit],
    ['Failed', failedJobsHistoryLimit],
  ] as const) {
    const jobs = cluster
      .controlled('jobs.batch', cron)
      .filter((job) => finishOf(job)?.type === type && !job.metadata.deletionTimestamp)
      .toSorted((a, b) => ((a.status?.startTime ?? '') < (b.status?.startTime ?? '') ? -1 : 1))
    for (const job of jobs.slice(0, Math.max(0, jobs.length - limit))) {
      await writer.remove('jobs.batch', job, { propagation: 'Background' })
      record(cron, 'Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
    }
  }
}
