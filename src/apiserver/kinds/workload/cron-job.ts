/** CronJobs create Jobs on a schedule. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { CronJob, CronJobSpec } from '../../../kube/types/batch/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { scheduleProblem, zoneProblem } from './cron-schedule.ts'
import { draftOf, fillAbsent, fillZeros, finished, ensurePart } from '../strategy/draft.ts'
import { withFirstStatus } from '../strategy/first-status.ts'
import { checkJobSpec } from './job-validation.ts'
import { defaultJobTemplate } from './job.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { templateWarnings } from '../pod/pod-warnings.ts'
import {
  noErrors,
  invalidField,
  unsupportedField,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkNotNegative } from '../values/value-validation.ts'

export const cronJob: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    fillZeros(spec, { concurrencyPolicy: 'Allow' })
    fillAbsent(spec, { suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 })
    const template = ensurePart(spec, 'jobTemplate')
    ensurePart(template, 'metadata')
    defaultJobTemplate(ensurePart(template, 'spec'))
    return finished(draft)
  },
  prepareCreate: withFirstStatus,
  validateCreate: (object) => [
    ...checkSpec(specOf(object), undefined),
    ...checkName(object.metadata.name ?? ''),
    ...checkPresence(specOf(object)),
  ],
  validateUpdate: (object, live) => [...checkSpec(specOf(object), specOf(live)), ...checkPresence(specOf(object))],
  warnings: (object, live) => templateWarnings(object, live, { naming: true, field: 'spec.jobTemplate.spec.template' }),
}

function specOf(object: UntypedObject): CronJobSpec {
  return (object as unknown as CronJob).spec
}

/** Names of Jobs append a dash and ten digits. */
const longestName = 52

function checkName(name: string): readonly Cause[] {
  return name.length > longestName
    ? [invalidField('metadata.name', name, `must be no more than ${longestName} characters`)]
    : noErrors
}

function* checkSpec(spec: CronJobSpec, live: CronJobSpec | undefined): Iterable<Cause> {
  const { schedule, timeZone, jobTemplate } = spec
  if (schedule) yield* checkSchedule(spec, live?.schedule.includes('TZ') === true)
  yield* checkNotNegative(spec.startingDeadlineSeconds, 'spec.startingDeadlineSeconds')
  if (timeZone !== undefined && timeZone !== live?.timeZone) {
    const why = zoneProblem(timeZone)
    if (why !== undefined) yield invalidField('spec.timeZone', timeZone, why)
  }
  yield* unsupportedField('spec.concurrencyPolicy', spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace'])
  const at = 'spec.jobTemplate.spec'
  const { spec: job } = jobTemplate
  if (job) {
    yield* checkJobSpec(job, at)
    if (job.selector) yield invalidField(`${at}.selector`, job.selector, '`selector` will be auto-generated')
    if (job.manualSelector) yield unsupported(`${at}.manualSelector`, true, ['nil', 'false'])
  }
  yield* checkNotNegative(spec.successfulJobsHistoryLimit, 'spec.successfulJobsHistoryLimit')
  yield* checkNotNegative(spec.failedJobsHistoryLimit, 'spec.failedJobsHistoryLimit')
}

/** Time zones used to be part of the schedule; stored objects may keep such a schedule. */
function* checkSchedule({ schedule, timeZone }: CronJobSpec, mayNameZone: boolean): Iterable<Cause> {
  const at = 'spec.schedule'
  const why = scheduleProblem(schedule)
  if (why !== undefined) yield invalidField(at, schedule, why)
  if (!schedule.includes('TZ')) return
  if (!mayNameZone) yield invalidField(at, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead')
  else if (timeZone !== undefined) {
    yield invalidField(at, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule')
  }
}

/** Reported after everything else. */
function checkPresence({ schedule }: CronJobSpec): readonly Cause[] {
  return schedule ? noErrors : [requiredField('spec.schedule')]
}
