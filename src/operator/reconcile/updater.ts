/**
 * Updater: brings what is there to what is wanted, in waves. An entry is written when all that it depends on is there and
 * healthy; what waits for it comes in the next wave, or in a later run, when it takes longer than a write. What is not
 * wanted any more goes last.
 */
import type { KubeObject } from '../../kube/object.ts'
import type { JsonObject } from '../../kube/json.ts'
import { typingOf } from '../desired.ts'
import { differences } from '../difference.ts'
import { decide, type DependentEntry, healthOfEntry } from '../entry.ts'
import { isMendedElsewhere } from '../failure.ts'
import type { Operation } from '../ledger.ts'
import type { Apply, MutationOutcome } from '../plan.ts'
import type { Details } from './journal.ts'
import { actOnLife, isEnding } from './life.ts'
import { pruneDependents } from './pruning.ts'
import type { ReconcileRun, Waves } from './run.ts'
import type { Refused } from './situation.ts'

/** The longest number of waves in one reconcile: what needs more goes on in the next. */
const mostWaves = 32
const creationDelayMs = 1000

/** Wave after wave: what depends on nothing open, then what waited for it, as long as something moves. */
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
  await actOnLife(run)
}

interface PlannedWrite {
  readonly entry: DependentEntry<KubeObject>
  readonly mutation: Apply
  /** What it will have been. */
  readonly operation: Operation
}

const operations = { missing: 'created', changed: 'updated', drifted: 'corrected' } as const

/** Undefined when nothing is to be written, now or at all. */
function plan(run: ReconcileRun, entry: DependentEntry<KubeObject>): PlannedWrite | undefined {
  try {
    if (entry.state !== 'open' || obstacleTo(run, entry) !== undefined) return undefined
    const decision = decide(entry, run.owner, run.settled.get(entry.subject))
    if (decision.what === 'nothing') {
      entry.state = 'settled'
      run.journal.note(entry.subject, decision.operation, about(entry))
      return undefined
    }
    const { mutation, isAdoption } = decision
    heedRefusal(run, entry)
    if (mutation.why === 'missing' && !mayCreate(run, entry)) return undefined
    return { entry, mutation, operation: isAdoption ? 'adopted' : operations[mutation.why] }
  } catch (error) {
    entry.state = 'failed'
    run.journal.fail(error, entry.subject)
    return undefined
  }
}

/** What keeps an entry from being written. */
function obstacleTo(run: ReconcileRun, { resource, context }: DependentEntry<KubeObject>): string | undefined {
  for (const id of resource.dependsOn) {
    for (const other of run.entries) {
      if (other.resource.id !== id) continue
      if (other.state === 'failed') return `${other.subject}, which failed`
      const { status, message } = healthOfEntry(other)
      if (other.state === 'open') return `${other.subject}, which is still to be written`
      if (status !== 'Current') return `${other.subject}: ${message}`
    }
  }
  const verdict = resource.mayWrite(context)
  return verdict === true ? undefined : verdict
}

/**
 * The same was refused for good, and nothing has changed since: looking again is no reason to ask again.
 *
 * @throws what the server said then
 */
function heedRefusal(run: ReconcileRun, entry: DependentEntry<KubeObject>): void {
  const refused = run.situation.memory.refused.get(entry.subject)
  if (!refused) return
  const { hash, resourceVersion, crVersion } = standingOf(run, entry)
  const isSame = refused.hash === hash && refused.resourceVersion === resourceVersion && refused.crVersion === crVersion
  if (!isSame) return
  run.refused.set(entry.subject, refused)
  throw refused.error
}

/** What a refusal goes by. */
function standingOf(
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
  journal.waiting ??= `${entry.subject} comes later: no more than ${maxCreations} objects are created at once.`
  journal.requeue(creationDelayMs)
  return false
}

function settle(
  run: ReconcileRun,
  { entry, mutation, operation }: PlannedWrite,
  outcome: MutationOutcome | undefined,
): void {
  const { subject } = entry
  if (outcome?.result === 'failed') {
    entry.state = 'failed'
    const { retry, reason } = run.journal.fail(outcome.error, subject)
    if (retry === 'terminal' && !isMendedElsewhere(reason)) {
      run.refused.set(subject, { ...standingOf(run, entry), error: outcome.error })
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
  // The server keeps it in words of its own, or says that nothing has changed: asking again would bring no more.
  const isAnswered = outcome?.object !== undefined && resourceVersion !== undefined
  const isOdd = isAnswered && (resourceVersion === before || isKeptOtherwise(entry))
  if (isOdd) run.settled.set(subject, { hash, resourceVersion })
  else run.settled.delete(subject)
}

function isKeptOtherwise({ resource, live, desired }: DependentEntry<KubeObject>): boolean {
  const [is, wanted] = [live, desired!.object] as unknown as readonly [JsonObject, JsonObject]
  return differences(is, wanted, typingOf(resource.kind)).length > 0
}

function noteWaiting(run: ReconcileRun, entry: DependentEntry<KubeObject>): void {
  if (entry.state !== 'open') return
  const { journal } = run
  const told = obstacleTo(run, entry)
  // Nothing but the number of waves keeps it: no event will tell of that.
  if (told === undefined) journal.requeue(0)
  const obstacle = told ?? 'its turn'
  journal.waiting ??= `${entry.subject} waits for ${obstacle}`
  journal.note(entry.subject, 'waiting', about(entry, { message: obstacle }))
}

function about({ resource, name }: DependentEntry<KubeObject>, more: Omit<Details, 'object'> = {}): Details {
  return { object: { kind: resource.kind, name }, ...more }
}
