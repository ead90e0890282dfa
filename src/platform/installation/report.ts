/** The status of an Installation: what follows from the objects of its active revision. */
import { cutText } from '../../kube/text/hidden-text.ts'
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import type { ReportContext, StatusReport } from '../../operator/controller.ts'
import type { EmbeddedReport, EmbeddedState } from '../../operator/embedded/embedded-set.ts'
import { fail, failureOf, isAuthFailure } from '../../operator/failure.ts'
import { hookOf } from '../phase/hook.ts'
import { type Choice, concludeAttempt, type KnownRevision, type AttemptResult } from './attempt.ts'
import { breakGlassReport, type OpenedObject } from './break-glass.ts'
import { objectPlace } from './holder.ts'
import { hasRollbackHooks } from './installed-objects.ts'
import type { InstallationObject, InstallationSpec, InstallationStatus } from './installation.ts'
import { isCreatedOnce } from './object-annotations.ts'
import type { RevisionContent, RevisionObject } from './revision.ts'
import { fetchCondition, fetchFailed, type ResolvedSource } from './source-interval.ts'
import { kindsIn } from './stored-revisions.ts'

/** What one reconcile has decided. */
export interface Decision {
  readonly choice: Choice
  /** The content of the active revision; undefined if none is. */
  readonly content: RevisionContent | undefined
  readonly revision: KnownRevision
  readonly revisions: readonly RevisionObject[]
  /** Why the wanted revision could not be made: the active one stays. */
  readonly problem?: unknown
  /** The API versions that the chart asked about. @default as they were */
  readonly apis?: InstallationStatus['apis']
  /** With an interval: what the source was resolved to. */
  readonly resolved?: ResolvedSource
}

type Reported = StatusReport<InstallationObject>
type ReportedCondition = NonNullable<Reported['conditions']>[number]

/** The longest message: a chart may fail with a text of any length. */
const mostMessage = 4096

/** The most entries of a list in the status. */
const mostListed = 50

export function installationReport(
  context: ReportContext<InstallationObject>,
  decision: Decision,
  opened: readonly OpenedObject[],
): Reported {
  const { cr, embedded, now } = context
  const { spec, status = {} } = cr
  const { choice, revision, revisions, content, problem, resolved, apis = status.apis ?? {} } = decision
  const { attempt, lastGood, history, hasChanged, afterMs } = concludeAttempt(
    { ...choice, isRemedying: isRemedying(choice, content) },
    problem === undefined ? resultOf(embedded) : { what: 'waiting' },
    status,
    revision,
    limitsOf(spec),
    now,
  )
  if (hasChanged) context.requeueAfter(0)
  else if (afterMs !== undefined) context.requeueAfter(afterMs)
  const objects = embedded?.phases.flatMap((phase) => phase.objects) ?? []
  const drifted = objects.flatMap((one) => one.drifted.map((field) => `${objectPlace(one)}: ${field}`))
  if (spec.drift.mode === 'warn') warnOfDrift(context, drifted)
  const leaving = (embedded?.leaving ?? []).map(objectPlace)
  const { conditions: ofBreakGlass, ...broken } = breakGlassReport(context, opened)
  const isGood = problem === undefined && spec.revision === undefined && lastGood === attempt.revision
  const createdOnce = createdObjects(content, objects, status)
  const releaseVersion = isGood ? spec.releaseVersion : status.releaseVersion
  return {
    revision: choice.active,
    ...(lastGood !== undefined && { lastGood }),
    ...(releaseVersion !== undefined && { releaseVersion }),
    ...(revision.version !== undefined && { version: revision.version }),
    ...(revision.digest !== '' && { digest: revision.digest }),
    ...artifactOf(spec, resolved?.artifact ?? status.artifact),
    objects: content?.items.filter(({ object }) => hookOf(object) === undefined).length ?? 0,
    attempt,
    kinds: kindsIn(status, revisions, content),
    ...(Object.keys(apis).length > 0 && { apis }),
    ...(drifted.length > 0 && { drifted: drifted.slice(0, mostListed) }),
    ...broken,
    ...(createdOnce.length > 0 && { createdOnce }),
    ...(leaving.length > 0 && { leaving: leaving.slice(0, mostListed) }),
    ...(history.length > 0 && { history }),
    ...(content && content.notes !== '' && { notes: cutText(content.notes, 4096) }),
    conditions: withEnded(status.conditions, [
      ...(drifted.length > 0 ? [driftedCondition(drifted)] : []),
      ...ofBreakGlass,
      // What keeps the next attempt from being made says more than how the last one ended.
      ...firstOfType([...problemConditions(problem, choice), ...failedConditions(choice, attempt, spec)]),
      ...(resolved?.problem === undefined ? [] : [fetchCondition(resolved.problem)]),
    ]),
  }
}

/** Of the policy `create-once`: what the content leaves out belongs to users, and what it has later is created anew. */
function createdObjects(
  content: RevisionContent | undefined,
  objects: readonly EmbeddedState[],
  { createdOnce = [] }: InstallationStatus,
): readonly string[] {
  const once = (content?.items ?? []).filter(({ object }) => isCreatedOnce(object)).map(({ object }) => object)
  const isOnce = ({ kind, name }: EmbeddedState): boolean =>
    once.some((object) => object.kind === kind && object.metadata.name === name)
  return objects
    .filter(isOnce)
    .filter((one) => createdOnce.includes(objectPlace(one)) || (!one.isPending && exists(one)))
    .map(objectPlace)
    .slice(0, mostListed)
}

/** One that is being deleted is not there to stay: a removal that was called off creates it again. */
function exists({ health, problem }: EmbeddedState): boolean {
  return problem === undefined && health.status !== 'NotFound' && health.status !== 'Terminating'
}

/** The status of an Installation that is being deleted: what is left of it. */
export function deletionReport({ cr, embedded }: ReportContext<InstallationObject>): Reported | undefined {
  // What is deleted now is created again, should it be installed again.
  const { conditions: _, observedGeneration: __, leaving: ___, createdOnce: ____, ...rest } = cr.status ?? {}
  if (!embedded) return undefined
  return { ...rest, leaving: embedded.leaving.map(objectPlace).slice(0, mostListed) }
}

/** The status while `uninstall` is set: what remains, then nothing. A later install begins anew, with its hooks. */
export function uninstalledReport(context: ReportContext<InstallationObject>): Reported | undefined {
  const { cr, embedded } = context
  const { status = {} } = cr
  if (embedded && !embedded.isComplete) return deletionReport(context)
  // It waits, for objects of users.
  if (!embedded) return undefined
  const { history } = status
  const message = 'It is uninstalled; spec.uninstall: false installs it again.'
  return {
    objects: 0,
    ...(history && { history }),
    conditions: [{ type: 'Ready', status: 'False', reason: uninstalledReason, message }],
  }
}

/** The reason of the condition Ready once all objects are gone. */
export const uninstalledReason = 'Uninstalled'
/** What was reported and is over. */
const ends: Readonly<Record<string, { readonly reason: string; readonly message: string }>> = {
  Drifted: { reason: 'AsDeclared', message: 'All objects are as declared.' },
  Remediated: { reason: 'Recovered', message: 'No attempt has failed since.' },
  [fetchFailed]: { reason: 'Fetched', message: 'The source was resolved.' },
}

function withEnded(
  before: InstallationStatus['conditions'] = [],
  reported: readonly ReportedCondition[],
): readonly ReportedCondition[] {
  const ended = before.flatMap(({ type }): readonly ReportedCondition[] => {
    const isOver = Object.hasOwn(ends, type) && !reported.some((one) => one.type === type)
    return isOver ? [{ type, status: 'False', ...ends[type]! }] : []
  })
  return [...reported, ...ended]
}

function artifactOf({ source }: InstallationSpec, artifact: InstallationStatus['artifact']): Partial<Reported> {
  return source.interval === undefined || !artifact ? {} : { artifact }
}

/** Their pattern allows durations that are too long to be counted. @throws InvalidDuration */
export function checkDurations({ spec: { timeout, remediation } }: InstallationObject): void {
  checkDuration('spec.timeout', timeout)
  checkDuration('spec.remediation.retryInterval', remediation.retryInterval)
}

/** @throws InvalidDuration */
export function checkDuration(field: string, text: string): void {
  try {
    parseDuration(text)
  } catch (error) {
    fail('InvalidDuration', `${field}: ${error instanceof Error ? error.message : String(error)}`, error)
  }
}

function limitsOf({ timeout, remediation, historyLimit }: InstallationSpec): Parameters<typeof concludeAttempt>[4] {
  return {
    timeoutMs: durationToMs(parseDuration(timeout)),
    retryMs: durationToMs(parseDuration(remediation.retryInterval)),
    retries: remediation.retries,
    historyLimit,
  }
}

/** Whether the hooks of a rollback after a failure are to run. */
export function isRemedying({ active, attempt }: Choice, content: RevisionContent | undefined): boolean {
  if (active === attempt.revision || attempt.failures === 0 || attempt.isRemedied === true) return false
  return content !== undefined && hasRollbackHooks(content)
}

function resultOf(embedded: EmbeddedReport | undefined): AttemptResult {
  if (!embedded) return { what: 'waiting' }
  if (embedded.isComplete) return { what: 'healthy' }
  for (const object of embedded.phases.flatMap((phase) => phase.objects)) {
    const { health, problem } = object
    const failure = problem === undefined ? undefined : failureOf(problem, '', '')
    // A missing right may be granted, and a server that cannot be reached may come back.
    const isFinal = failure
      ? failure.retry === 'terminal' && !isAuthFailure(failure.reason)
      : health.status === 'Failed'
    if (isFinal) return { what: 'failed', message: `${objectPlace(object)}: ${failure?.message ?? health.message}` }
  }
  return { what: 'waiting' }
}

/** Once for each: what the status has already is known. */
function warnOfDrift({ cr, event }: ReportContext<InstallationObject>, drifted: readonly string[]): void {
  const known = cr.status?.drifted ?? []
  for (const one of drifted.slice(0, mostListed)) {
    const message = `Another client changed ${one}. It is left as it is.`
    if (!known.includes(one)) event({ type: 'Warning', reason: 'Drifted', message })
  }
}

function driftedCondition(drifted: readonly string[]): ReportedCondition {
  return { type: 'Drifted', status: 'True', reason: 'ChangedByOthers', message: drifted.slice(0, 5).join('; ') }
}

function failedConditions(
  { active }: Choice,
  { revision, failures, message = '', retryAt }: Choice['attempt'],
  { remediation }: InstallationSpec,
): readonly ReportedCondition[] {
  if (failures === 0) return []
  const remedy =
    active === revision ? '' : active === 0 ? ' Its objects were removed.' : ` Revision ${active} is active again.`
  const isExhausted = failures > remediation.retries
  const attempts = `Attempt ${failures + 1} of ${remediation.retries + 1}`
  const next = isExhausted
    ? ` It failed ${failures === 1 ? 'once' : `${failures} times`}; a change of the spec or the values starts again.`
    : retryAt === undefined
      ? ` ${attempts} is under way.`
      : ` ${attempts} follows at ${retryAt}.`
  const whole = {
    reason: isExhausted ? 'RetriesExhausted' : 'AttemptFailed',
    message: `Revision ${revision} failed: ${message}${remedy}${next}`,
  }
  return [
    // The active revision may be healthy: it is not what is wanted.
    { type: 'Ready', status: 'False', ...whole },
    { type: 'Remediated', status: 'True', ...whole },
    ...(isExhausted ? [{ type: 'Stalled', status: 'True', ...whole } as const] : []),
  ]
}

function firstOfType(conditions: readonly ReportedCondition[]): readonly ReportedCondition[] {
  return [...new Map(conditions.toReversed().map((one) => [one.type, one])).values()]
}

/** The active revision may be healthy: it is not what is wanted. */
function problemConditions(problem: unknown, { active }: Choice): readonly ReportedCondition[] {
  if (problem === undefined) return []
  const { reason, message, retry } = failureOf(problem, '', '')
  const whole = { reason, message: `${cutText(message, mostMessage)} Revision ${active} stays active.` }
  return [
    { type: 'Ready', status: 'False', ...whole },
    ...(retry === 'terminal' ? [{ type: 'Stalled', status: 'True', ...whole } as const] : []),
  ]
}
