/**
 * Updater: brings the live objects to the desired state, in waves. An object is written when everything that it depends
 * on exists and is healthy; what waits for it is written in the next wave, or in a later run if that takes longer than
 * a write. Obsolete objects are deleted last.
 */
import type { KubeObject } from '../../kube/object.ts'
import { asJson } from '../../kube/json-object.ts'
import { typingOf } from '../dependent/desired.ts'
import { differences } from '../dependent/difference.ts'
import { decide, type DependentEntry, healthOfEntry } from '../dependent/entry.ts'
import { isAuthFailure } from '../failure.ts'
import type { Operation } from '../ledger.ts'
import type { Apply, MutationOutcome } from '../plan.ts'
import type { Details } from './journal.ts'
import { carryOutEdits } from './edit-updater.ts'
import { updateEmbedded } from './embedded-updater.ts'
import { actOnLife, isEnding } from './life.ts'
import { pruneDependents } from './pruning.ts'
import type { ReconcileRun, Waves } from './run.ts'
import type { Refused } from './situation.ts'

/** The most waves of one reconcile; further ones follow in the next. */
const mostWaves = 32
const creationDelayMs = 1000

/** One wave after the other, as long as there is something to write. */
export async function* updateDependents(run: ReconcileRun): Waves {
  if (isEnding(run)) return
  for (let wave = 0; wave < mostWaves; wave++) {
    const planned = run.entries.flatMap((entry) => plan(run, entry) ?? [])
    if (planned.length === 0) break
    const outcomes = yield planned.map(({ mutation }) => mutation)
    for (const [index, write] of planned.entries()) settle(run, write, outcomes[index])
  }
  for (const entry of run.entries) noteWaiting(run, entry)
  yield* pruneDependents(run)
  if (!run.journal.failure) yield* updateEmbedded(run)
  if (!run.journal.failure) yield* carryOutEdits(run)
  await actOnLife(run)
}

interface PlannedWrite {
  readonly entry: DependentEntry<KubeObject>
  readonly mutation: Apply
  /** The operation to record on success. */
  readonly operation: Operation
}

const operations = { missing: 'created', changed: 'updated', drifted: 'corrected' } as const

/** Undefined when nothing is written, now or at all. */
function plan(run: ReconcileRun, entry: DependentEntry<KubeObject>): PlannedWrite | undefined {
  try {
    if (entry.state !== 'open' || blockerOf(run, entry) !== undefined) return undefined
    const decision = decide(entry, run.owner, run.settled.get(entry.subject))
    if (decision.what === 'nothing') {
      entry.state = 'settled'
      run.journal.note(entry.subject, decision.operation, about(entry))
      return undefined
    }
    const { mutation, isAdoption } = decision
    rethrowRefusal(run, entry)
    if (mutation.why === 'missing' && !mayCreate(run, entry)) return undefined
    return { entry, mutation, operation: isAdoption ? 'adopted' : operations[mutation.why] }
  } catch (error) {
    entry.state = 'failed'
    run.journal.fail(error, entry.subject)
    return undefined
  }
}

/** What an entry waits for before it is written. */
function blockerOf(run: ReconcileRun, { dependent, context }: DependentEntry<KubeObject>): string | undefined {
  for (const id of dependent.dependsOn) {
    for (const other of run.entries) {
      if (other.dependent.id !== id) continue
      if (other.state === 'failed') return `${other.subject}, which failed`
      const { status, message } = healthOfEntry(other)
      if (other.state === 'open') return `${other.subject}, which is still to be written`
      if (status !== 'Current') return `${other.subject}: ${message}`
    }
  }
  const verdict = dependent.mayWrite(context)
  return verdict === true ? undefined : verdict
}

/**
 * The API server rejected the same write with a terminal error, and nothing has changed since: a resync is no reason to
 * repeat it.
 *
 * @throws the error of that write
 */
function rethrowRefusal(run: ReconcileRun, entry: DependentEntry<KubeObject>): void {
  const refused = run.situation.memory.refused.get(entry.subject)
  if (!refused) return
  const { hash, resourceVersion, crVersion } = versionsOf(run, entry)
  const isSame = refused.hash === hash && refused.resourceVersion === resourceVersion && refused.crVersion === crVersion
  if (!isSame) return
  run.refused.set(entry.subject, refused)
  throw refused.error
}

/** A rejection holds for these versions. */
function versionsOf(
  { situation }: ReconcileRun,
  { desired, live }: DependentEntry<KubeObject>,
): Omit<Refused, 'error'> {
  return {
    hash: desired?.hash ?? '',
    resourceVersion: live?.metadata.resourceVersion ?? '',
    crVersion: situation.cr.metadata.resourceVersion ?? '',
  }
}

function mayCreate(run: ReconcileRun, entry: DependentEntry<KubeObject>): boolean {
  const { situation, journal } = run
  const { maxCreations = Infinity } = situation.controller.options
  if (run.creations < maxCreations) {
    run.creations++
    return true
  }
  entry.state = 'settled'
  journal.note(entry.subject, 'delayed', about(entry))
  journal.waiting ??= `${entry.subject} is delayed: a reconcile creates at most ${maxCreations} objects.`
  journal.requeue(creationDelayMs)
  return false
}

function settle(
  run: ReconcileRun,
  { entry, mutation, operation }: PlannedWrite,
  outcome: MutationOutcome | undefined,
): void {
  const { subject } = entry
  if (outcome?.result === 'exists') {
    // Not watched: it has another owner, or it lost its label. The next wave decides, as if it had been in the view.
    entry.live = outcome.object
    return
  }
  if (outcome?.result === 'failed') {
    entry.state = 'failed'
    const { retry, reason } = run.journal.fail(outcome.error, subject)
    if (retry === 'terminal' && !isAuthFailure(reason)) {
      run.refused.set(subject, { ...versionsOf(run, entry), error: outcome.error })
    }
    return
  }
  const before = entry.live?.metadata.resourceVersion
  const { object, hash } = entry.desired!
  entry.live = outcome?.object ?? object
  entry.state = 'settled'
  const { fields = [] } = mutation
  run.journal.note(subject, operation, about(entry, fields.length > 0 ? { fields } : {}))
  const { resourceVersion } = entry.live.metadata
  // The API server normalized the object, or changed nothing: another apply would have no effect.
  const hasAnswer = outcome?.object !== undefined && resourceVersion !== undefined
  const isSettled = hasAnswer && (resourceVersion === before || isNormalized(entry))
  if (isSettled) run.settled.set(subject, { hash, resourceVersion })
  else run.settled.delete(subject)
}

function isNormalized({ dependent, live, desired }: DependentEntry<KubeObject>): boolean {
  return differences(asJson(live!), asJson(desired!.object), typingOf(dependent.kind)).length > 0
}

function noteWaiting(run: ReconcileRun, entry: DependentEntry<KubeObject>): void {
  if (entry.state !== 'open') return
  const { journal } = run
  const blocker = blockerOf(run, entry)
  // Only the number of waves delays it, so no event will requeue it.
  if (blocker === undefined) journal.requeue(0)
  const obstacle = blocker ?? 'its turn'
  journal.waiting ??= `${entry.subject} waits for ${obstacle}`
  journal.note(entry.subject, 'waiting', about(entry, { message: obstacle }))
}

function about({ dependent, name }: DependentEntry<KubeObject>, more: Omit<Details, 'object'> = {}): Details {
  return { object: { kind: dependent.kind, name }, ...more }
}
