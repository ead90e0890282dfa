/**
 * The phase machine of an AppWrapper: (what is stored, what is asked for, what exists, what the queue decided, the time) → what is
 * stored next, and when to look again. The stored life says what happens to the objects (`intentOf`), and the next look sees the
 * effect: a process that ends in between loses nothing.
 *
 * Quota is reserved from the dispatch until nothing of it remains, or it has succeeded.
 */
import { terminalCodes } from './phase-settings.ts'
import type { Intent, Life, Phase, PhaseInput, PodCounts, Reason, WrappedState } from './phases.ts'
import { firstTry, nextTry } from './requeuing.ts'

export interface PhaseStep {
  readonly life: Life
  /** Phases that were entered, in order. */
  readonly entered: readonly Life[]
  /** Look again then, if nothing changes before. */
  readonly lookAt?: number | undefined
}

/** How long the phase stays `Resuming` while pods start: it is `Running` with its first ready pods, or after this time. */
const runningAfterMs = 10_000
const retryMs = 1000
const isFinal = (phase: Phase): boolean => phase === 'Succeeded' || phase === 'Failed'

/** What happens to the objects now. `isForced` is asked for by the stored beginning of the deletion. */
export function intentOf(
  life: Life,
  { settings, wishes, now }: Pick<PhaseInput, 'settings' | 'wishes' | 'now'>,
): Intent {
  switch (life.phase) {
    case 'Suspended':
      return { what: 'nothing' }
    case 'Resuming':
      return { what: 'create' }
    case 'Running':
      return { what: 'watch' }
    default: {
      const start = deletionStart(life, settings, wishes.isSuspended, now)
      if (!life.isDeployed || start === undefined || now < start) return { what: 'nothing' }
      return { what: 'delete', isForced: now >= start + settings.forcefulDeletionGraceMs }
    }
  }
}

/** When its objects begin to be deleted; undefined: they are not. */
function deletionStart(
  { phase, since, deletingSince }: Life,
  { deletionOnFailureGraceMs, successTtlMs }: PhaseInput['settings'],
  isSuspended: boolean,
  now: number,
): number | undefined {
  if (deletingSince !== undefined) return deletingSince
  if (phase === 'Resetting' || phase === 'Suspending') return since
  if (phase === 'Succeeded') return since + successTtlMs
  if (phase !== 'Failed') return undefined
  // A person who suspends it does not want to look at what is left of it.
  const due = since + deletionOnFailureGraceMs
  return isSuspended ? Math.min(due, now) : due
}

const looks: Readonly<Record<Phase, (life: Life, input: PhaseInput) => Look>> = {
  Suspended: suspended,
  Resuming: resuming,
  Running: running,
  Resetting: resetting,
  Suspending: suspending,
  Succeeded: ended,
  Failed: ended,
}

export function stepPhase(life: Life, input: PhaseInput): PhaseStep {
  const entered: Life[] = []
  let step = look(life, input)
  // A step that enters a phase is judged by that phase at once, as far as nothing has to happen in between.
  while (step.life.phase !== (entered.at(-1) ?? life).phase) {
    entered.push(step.life)
    if (step.life.phase !== 'Running') break
    step = look(step.life, input)
  }
  return { ...step, entered }
}

interface Look {
  readonly life: Life
  readonly lookAt?: number | undefined
}

function look(life: Life, input: PhaseInput): Look {
  return looks[life.phase](life, input)
}

function suspended(life: Life, { wishes, decision, now }: PhaseInput): Look {
  if (wishes.isSuspended) return waiting(life, { reason: 'Suspended', message: 'spec.suspend is true.' })
  if (decision?.what === 'start') {
    const dispatched: Life = {
      ...enter(life, 'Resuming', { reason: 'Dispatched', message: 'It fits: its objects are created.' }, now),
      isReserved: true,
      isDeployed: true,
      deployedAt: now,
      firstDispatchAt: life.firstDispatchAt ?? now,
      unhealthy: undefined,
      pods: undefined,
      deletingSince: undefined,
      placements: decision.placements,
    }
    return { life: dispatched, lookAt: now }
  }
  return decision?.what === 'wait' ? waiting(life, decision) : { life }
}

/** Only another reason is news: amounts change all the time. */
function waiting(life: Life, { reason, message }: Reason): Look {
  return { life: life.why.reason === reason ? life : { ...life, why: { reason, message } } }
}

function resuming(life: Life, input: PhaseInput): Look {
  const { objects, settings, now } = input
  const back = wayBack(life, input)
  if (back) return back
  const fatal = objects.find(({ problem }) => problem?.isFatal)
  if (fatal) return { life: fail(life, 'CreateFailed', problemOf(fatal), now) }
  const missing = objects.find(({ exists }) => !exists)
  if (missing) {
    const due = life.since + settings.admissionGraceMs
    if (now >= due) return { life: resetOrFail(life, 'CreateFailed', problemOf(missing), input) }
    return { life, lookAt: Math.min(now + retryMs, due) }
  }
  const seen = life.since + Math.min(runningAfterMs, settings.admissionGraceMs, settings.warmupGraceMs)
  const { pods, wishes } = input
  const isTelling =
    now >= seen ||
    areReady(input) ||
    pods.failed > 0 ||
    (wishes.expectedPods === 0 && wishes.minAvailable === 0 && pods.pending === 0) ||
    objects.some(({ isComplete, failure, isLeaving }) => isComplete === true || failure !== undefined || isLeaving)
  const due = Math.min(seen, limitAt(life, input) ?? Infinity)
  if (!isTelling) return { life, lookAt: due }
  const message = 'All of its objects exist.'
  return { life: enter(life, 'Running', { reason: 'Deployed', message }, now) }
}

function problemOf({ subject, problem }: WrappedState): string {
  return `${subject}: ${problem?.message ?? 'it could not be created yet.'}`
}

/** The ways out of Resuming and Running that do not depend on what exists. */
function wayBack(life: Life, input: PhaseInput): Look | undefined {
  const { wishes, decision, now } = input
  if (wishes.isSuspended)
    return {
      life: enter(life, 'Suspending', { reason: 'Suspended', message: 'spec.suspend is true.' }, now),
      lookAt: now,
    }
  if (decision?.what === 'evict') return { life: enter(life, 'Suspending', decision, now), lookAt: now }
  const limit = limitAt(life, input)
  if (limit === undefined || now < limit) return undefined
  const message = `It was dispatched more than ${wishes.limitSeconds} seconds ago, which is its limit.`
  return { life: fail(life, 'DispatchDeadlineExceeded', message, now), lookAt: now }
}

function limitAt({ firstDispatchAt }: Life, { wishes: { limitSeconds } }: PhaseInput): number | undefined {
  return limitSeconds !== undefined && limitSeconds > 0 && firstDispatchAt !== undefined
    ? firstDispatchAt + limitSeconds * 1000
    : undefined
}

function running(life: Life, input: PhaseInput): Look {
  const { objects, pods, wishes, now } = input
  const back = wayBack(life, input)
  if (back) return back
  const missing = objects.find(({ exists, isLeaving }) => !exists || isLeaving)
  if (missing) return { life: fail(life, 'MissingComponent', `${missing.subject} was deleted.`, now), lookAt: now }
  if (pods.onSickNode !== undefined) {
    return { life: reset(life, 'AutopilotNoExecute', pods.onSickNode, 0, now), lookAt: now }
  }
  if (wishes.lifeCycle === 'requeue') return runningToRequeue(life, input)
  const failed = objects.find(({ failure }) => failure !== undefined)
  if (failed) {
    return { life: resetOrFail(life, 'FailedComponent', `${failed.subject}: ${failed.failure}`, input), lookAt: now }
  }
  const end = completion(input)
  if (end) return { life: succeed(life, end, now) }
  if (pods.failed > 0) return withFailedPods(life, input)
  const counted = countPods({ ...life, unhealthy: undefined }, input)
  if (counted.pods!.areReady) return { life: counted, lookAt: limitAt(life, input) }
  const { warmupGraceMs, admissionGraceMs } = input.settings
  const existing = pods.pending + pods.running + pods.succeeded
  const grace = existing >= wishes.expectedPods ? warmupGraceMs : admissionGraceMs
  const due = shortSince(counted) + grace
  if (now >= due)
    return { life: resetOrFail(counted, 'InsufficientPodsReady', counted.pods!.message, input), lookAt: now }
  return { life: counted, lookAt: Math.min(due, limitAt(life, input) ?? Infinity) }
}

/** Since when it is deployed and has too few pods. */
function shortSince({ deployedAt, pods, since: entered }: Life): number {
  const deployed = deployedAt ?? entered
  return pods?.areReady === false ? Math.max(deployed, pods.since) : deployed
}

function withFailedPods(life: Life, input: PhaseInput): Look {
  const { pods, settings, now } = input
  const codes = terminalCodes(pods.exitCodes, settings)
  // Always the same words: they stay while the grace period runs.
  const reason = { reason: 'FoundFailedPods', message: 'Some of its pods have failed.' }
  if (codes.length > 0) {
    const message = `A container ended with exit code ${codes[0]}, which is not retried.`
    return { life: fail(life, 'TerminalExitCode', message, now), lookAt: now }
  }
  const known = life.unhealthy?.reason === reason.reason ? life.unhealthy : { ...reason, since: now }
  const due = known.since + settings.failureGraceMs
  const unhealthy: Life = { ...countPods(life, input), unhealthy: known }
  if (now >= due) return { life: resetOrFail(unhealthy, reason.reason, reason.message, input), lookAt: now }
  return { life: unhealthy, lookAt: Math.min(due, limitAt(life, input) ?? Infinity) }
}

function runningToRequeue(life: Life, input: PhaseInput): Look {
  const { objects, pods, wishes, now } = input
  const watched = objects.filter(({ isComplete }) => isComplete !== undefined)
  const isDone = watched.length > 0 && watched.every(({ isComplete }) => isComplete)
  if (isDone && pods.pending + pods.running === 0) {
    return { life: succeed(life, { reason: 'PodsCompleted', message: 'All of its items are complete.' }, now) }
  }
  const counted: Life = { ...countPods(life, input), isHolding: isDone }
  const limit = limitAt(life, input)
  if (wishes.minAvailable === 0 || counted.pods!.areReady || isDone) return { life: counted, lookAt: limit }
  const current = life.requeuing ?? firstTry(wishes.requeuing)
  const due = shortSince(counted) + current.seconds * 1000
  if (now < due) return { life: counted, lookAt: Math.min(due, limit ?? Infinity) }
  const next = nextTry(wishes.requeuing, current)
  const reason = pods.unschedulable === undefined ? 'MinPodsNotRunning' : 'PodsFailedScheduling'
  const message = `${counted.pods!.message}${pods.unschedulable === undefined ? '' : ` ${pods.unschedulable}`}`
  if (!next) {
    const text = `${message} It went back to the queue ${current.count} times, which is its limit.`
    return { life: fail(counted, 'MaximumRequeuings', text, now), lookAt: now }
  }
  return { life: { ...enter(counted, 'Suspending', { reason, message }, now), requeuing: next }, lookAt: now }
}

/** Whether it has succeeded, and why that is known. */
function completion({ objects, pods, wishes }: PhaseInput): Reason | undefined {
  if (pods.pending + pods.running > 0) return undefined
  const finite = objects.filter(({ isComplete }) => isComplete !== undefined)
  if (finite.length > 0) {
    // A Job of which no pod runs at the moment may have more to come.
    const isComplete = finite.every((object) => object.isComplete)
    return isComplete ? { reason: 'Completed', message: 'All of its objects are complete.' } : undefined
  }
  const { expectedPods } = wishes
  const isDone = expectedPods > 0 && pods.succeeded >= expectedPods && pods.failed === 0
  return isDone ? { reason: 'PodsSucceeded', message: `${countOf(expectedPods)} succeeded.` } : undefined
}

const countOf = (pods: number): string => (pods === 1 ? '1 pod' : `${pods} pods`)

function areReady({ pods, wishes }: PhaseInput): boolean {
  const needed = wishes.lifeCycle === 'requeue' ? Math.max(wishes.minAvailable, 1) : wishes.expectedPods
  return needed > 0 && pods.running + pods.succeeded >= needed
}

function countPods(life: Life, { pods, wishes, now }: PhaseInput): Life {
  const needed = wishes.lifeCycle === 'requeue' ? wishes.minAvailable : wishes.expectedPods
  const isReady = enough(pods, needed)
  if (life.pods?.areReady === isReady) return life
  const message = isReady
    ? `${countOf(needed)} run or have succeeded, as many as are needed.`
    : `Fewer pods than the ${needed} that are needed run or have succeeded.`
  // Those that were never ready are late since it was deployed.
  const since = isReady || life.pods ? now : (life.deployedAt ?? now)
  return { ...life, pods: { areReady: isReady, since, message } }
}

function enough({ running: run, succeeded }: PodCounts, needed: number): boolean {
  return run + succeeded >= needed
}

function resetting(life: Life, input: PhaseInput): Look {
  const { wishes, decision, settings, hasLeftovers, now } = input
  if (wishes.isSuspended || decision?.what === 'evict') {
    const why = wishes.isSuspended ? { reason: 'Suspended', message: 'spec.suspend is true.' } : (decision as Reason)
    return { life: { ...enter(life, 'Suspending', why, now), deletingSince: life.since }, lookAt: now }
  }
  if (hasLeftovers) return { life, lookAt: forceAt(life.since, settings.forcefulDeletionGraceMs, now) }
  const due = Math.max(life.since, life.unhealthy?.since ?? 0) + settings.retryPauseMs
  if (now < due) return { life, lookAt: due }
  const why = { reason: 'Retried', message: 'Its objects are created again.' }
  const next = enter(life, 'Resuming', why, now)
  return { life: { ...next, deployedAt: now, unhealthy: undefined, pods: undefined }, lookAt: now }
}

function forceAt(start: number, graceMs: number, now: number): number {
  const due = start + graceMs
  // By force: it is asked for again until it is done.
  return now < due ? due : now + retryMs * 5
}

function suspending(life: Life, { settings, hasLeftovers, now }: PhaseInput): Look {
  if (hasLeftovers)
    return { life, lookAt: forceAt(life.deletingSince ?? life.since, settings.forcefulDeletionGraceMs, now) }
  const { reason, message } = life.why
  return {
    life: {
      ...enter(life, 'Suspended', { reason, message }, now),
      isReserved: false,
      isDeployed: false,
      deployedAt: undefined,
      placements: undefined,
      unhealthy: undefined,
      pods: undefined,
    },
  }
}

function ended(life: Life, { settings, wishes, hasLeftovers, now }: PhaseInput): Look {
  if (!life.isDeployed) return { life }
  const start = deletionStart(life, settings, wishes.isSuspended, now)
  if (start === undefined || now < start) return { life, lookAt: start }
  if (hasLeftovers) {
    // A deletion that a person brought forward is remembered.
    const isEarly = life.phase === 'Failed' && start < life.since + settings.deletionOnFailureGraceMs
    const begun = isEarly ? { ...life, deletingSince: start } : life
    return { life: begun, lookAt: forceAt(start, settings.forcefulDeletionGraceMs, now) }
  }
  return { life: { ...life, isDeployed: false, isReserved: false } }
}

function succeed(life: Life, why: Reason, now: number): Life {
  return { ...enter(life, 'Succeeded', why, now), isReserved: false, unhealthy: undefined }
}

function fail(life: Life, reason: string, message: string, now: number): Life {
  const next = enter(life, 'Failed', { reason, message }, now)
  return { ...next, unhealthy: { reason, message, since: life.unhealthy?.since ?? now } }
}

function resetOrFail(life: Life, reason: string, message: string, { settings, now }: PhaseInput): Life {
  if (life.retries >= settings.retryLimit) return fail(life, reason, message, now)
  return reset(life, reason, message, 1, now)
}

function reset(life: Life, reason: string, message: string, count: number, now: number): Life {
  const next = enter(life, 'Resetting', { reason, message }, now)
  const since = life.unhealthy?.since ?? now
  return { ...next, retries: life.retries + count, unhealthy: { reason, message, since } }
}

function enter(life: Life, phase: Phase, { reason, message }: Reason, now: number): Life {
  if (isFinal(life.phase)) throw new RangeError(`${life.phase} is the end: ${phase} cannot follow.`)
  return {
    ...life,
    phase,
    since: Math.max(now, life.since),
    why: { reason, message },
    isHolding: false,
    deletingSince: undefined,
  }
}
