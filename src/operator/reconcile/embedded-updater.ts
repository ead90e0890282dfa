/**
 * Updater, for embedded objects: phase after phase, each when the one before it is healthy; objects that are embedded no longer
 * are deleted last. A problem with one object does not fail the step: the author's status is asked first, since it may decide
 * what follows from it (`conclusion.ts`).
 */
import { formatApiVersion, type GroupVersionKind, kindOf, type Resource } from '../../kube/kind.ts'
import type { Health } from '../../kube/meta/health.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import {
  decideEmbedded,
  type EmbeddedEntry,
  embeddedEntry,
  healthOfEmbedded,
  type Holder,
  isOptional,
} from '../embedded/embedded-entry.ts'
import type { EmbeddedReference, EmbeddedSet, EmbeddedState } from '../embedded/embedded-set.ts'
import type { HeldObjects } from '../embedded/held-objects.ts'
import { neededFields } from '../embedded/needed-fields.ts'
import { operatorErrors } from '../errors.ts'
import { failureOf, isAuthFailure, OperatorError } from '../failure.ts'
import type { Apply, Delete, MutationOutcome, SetMarks } from '../plan.ts'
import { embeddedKey, prune, release } from './embedded-removal.ts'
import type { ReconcileRun, Waves } from './run.ts'

/** How long a kind may take from its CRD to being served, before it is looked for again without an event. */
const lookAgainMs = 1000
/** Of one phase: an object that exists without our label takes a second one. */
const mostWaves = 4

const operations = { missing: 'created', changed: 'updated', drifted: 'corrected' } as const

/** A phase with its resolved objects; those of later phases are resolved when their turn comes. */
interface OpenPhase {
  readonly name: string
  readonly entries: readonly EmbeddedEntry[]
}

/** Undefined when the author embeds nothing now. */
export async function* updateEmbedded(run: ReconcileRun): Waves<boolean> {
  const { embeds } = run.situation.controller.options
  if (!embeds) return true
  const held = heldBy(run)
  const set = await run.author(() => embeds.objects({ ...run.context, held, isFinalizing: run.isFinalizing }))
  if (!set) return !run.isFinalizing
  if (set.waitsFor !== undefined) {
    run.journal.waiting ??= set.waitsFor
    return false
  }
  const { label, releasedAnnotation } = embeds
  const holder: Holder = { ...set, label, releasedAnnotation, owner: run.owner }
  const { afterwards = [], waits = true } = set
  const first = yield* writePhases(run, set.phases, holder, held, set)
  const mayPrune = first.isWritten && (first.isReady || !waits)
  // Those of the end may be there already, from an earlier run.
  const last = mayPrune && afterwards.length > 0 ? await openAll(run, afterwards, holder, held, set) : []
  const wanted = [...first.opened.flatMap(({ entries }) => entries), ...last]
  const leaving = set.prune && mayPrune ? yield* prune(run, wanted, holder, held, set.prune) : []
  const isPruned = first.isReady && first.isWritten && leaving.length === 0
  const second = isPruned ? yield* writePhases(run, afterwards, holder, held, set) : nothingWritten
  const isReady = first.isReady && (!isPruned || second.isReady)
  const isEmpty = isPruned && second.isReady && second.isWritten
  const isReleased = set.release && run.isFinalizing && isEmpty ? yield* release(run, holder, held, set) : true
  report(run, { ...set, phases: [...set.phases, ...(isPruned ? afterwards : [])] }, first, second, leaving, isReady)
  return isEmpty && isReleased
}

interface WrittenPhases {
  readonly opened: readonly OpenPhase[]
  readonly isReady: boolean
  readonly isWritten: boolean
}

const nothingWritten: WrittenPhases = { opened: [], isReady: false, isWritten: false }

/** Phase after phase, each when the one before it is healthy. */
async function* writePhases(
  run: ReconcileRun,
  phases: EmbeddedSet['phases'],
  holder: Holder,
  held: HeldObjects,
  set: EmbeddedSet,
): Waves<WrittenPhases> {
  const opened: OpenPhase[] = []
  let isReady = true
  for (const { name, objects } of phases) {
    const entries = await open(run, objects, holder, held, set)
    if (!entries) {
      isReady = false
      break
    }
    checkUnique([...opened.flatMap((phase) => phase.entries), ...entries])
    opened.push({ name, entries })
    yield* writePhase(run, entries, holder)
    isReady &&= entries.every((entry) => isHealthy(run, entry, name))
    if (!isReady && (set.waits ?? true)) break
  }
  const isWritten = opened.length === phases.length && opened.every(({ entries }) => entries.every(isSettled))
  return { opened, isReady, isWritten }
}

async function openAll(
  run: ReconcileRun,
  phases: EmbeddedSet['phases'],
  holder: Holder,
  held: HeldObjects,
  set: EmbeddedSet,
): Promise<readonly EmbeddedEntry[]> {
  const all: EmbeddedEntry[] = []
  for (const { objects } of phases) all.push(...((await open(run, objects, holder, held, set)) ?? []))
  return all
}

function heldBy({ situation, journal }: ReconcileRun): HeldObjects {
  if (situation.held) return situation.held
  throw new MusterError(
    operatorErrors.NeedsCluster,
    `${journal.place} embeds objects of any kind: which kinds there are only a cluster can tell.`,
  )
}

const isSettled = ({ state }: EmbeddedEntry): boolean => state === 'settled'

/** The entries of a phase; undefined while a kind is not served. */
async function open(
  run: ReconcileRun,
  objects: EmbeddedSet['phases'][number]['objects'],
  holder: Holder,
  held: HeldObjects,
  set: EmbeddedSet,
): Promise<readonly EmbeddedEntry[] | undefined> {
  const kinds = new Map(objects.map(({ object }) => [`${object.apiVersion} ${object.kind}`, kindOf(object)]))
  const resources = new Map<string, Resource>()
  const live = new Map<string, UntypedObject>()
  for (const [text, kind] of kinds) {
    const resource = await held.resourceOf(kind)
    if (!resource) {
      noteUnserved(run, kind, set)
      return undefined
    }
    resources.set(text, resource)
    for (const object of await held.list(resource, holder.holder, neededFields(kind)))
      live.set(embeddedKey(resource, object.metadata), object)
  }
  return objects.map((embedded) => {
    const { apiVersion, kind } = embedded.object
    const entry = embeddedEntry(embedded, resources.get(`${apiVersion} ${kind}`)!, holder)
    entry.live = live.get(embeddedKey(entry.resource, entry.name))
    return entry
  })
}

function noteUnserved(run: ReconcileRun, kind: GroupVersionKind, { phases }: EmbeddedSet): void {
  const name = `${kind.kind} of ${formatApiVersion(kind)}`
  if (phases.some(({ objects }) => objects.some(({ object }) => definesKind(object, kind)))) {
    run.journal.waiting ??= `${name} is not served yet.`
    run.journal.requeue(lookAgainMs)
    return
  }
  run.embeddedFailure ??= {
    subject: 'embedded',
    error: new OperatorError(
      'KindNotServed',
      `The cluster does not serve ${name}. Install its CRD first; the objects are written when it is there.`,
      { retry: 'terminal' },
    ),
  }
}

function definesKind(object: UntypedObject, { group, kind }: GroupVersionKind): boolean {
  if (object.kind !== 'CustomResourceDefinition') return false
  const { group: own, names } = (object['spec'] ?? {}) as {
    readonly group?: string
    readonly names?: { kind?: string }
  }
  return own === group && names?.kind === kind
}

function checkUnique(entries: readonly EmbeddedEntry[]): void {
  const keys = new Set<string>()
  for (const { resource, name, subject } of entries) {
    const key = embeddedKey(resource, name)
    if (keys.has(key)) {
      throw new MusterError(operatorErrors.InvalidDependent, `${subject} is embedded twice. Leave one of them out.`)
    }
    keys.add(key)
  }
}

async function* writePhase(run: ReconcileRun, entries: readonly EmbeddedEntry[], holder: Holder): Waves {
  for (let wave = 0; wave < mostWaves; wave++) {
    const planned = entries.flatMap((entry) => plan(run, entry, holder) ?? [])
    if (planned.length === 0) return
    const outcomes = yield planned.map(({ mutation }) => mutation)
    for (const [index, write] of planned.entries()) settle(run, write, outcomes[index])
  }
}

interface PlannedWrite {
  readonly entry: EmbeddedEntry
  readonly mutation: Apply | Delete | SetMarks
  readonly isAdoption: boolean
}

function plan(run: ReconcileRun, entry: EmbeddedEntry, holder: Holder): PlannedWrite | undefined {
  if (entry.state !== 'open') return undefined
  try {
    const decision = decideEmbedded(entry, holder, run.settled.get(entry.subject))
    if (decision.what === 'nothing') {
      entry.state = 'settled'
      run.journal.note(entry.subject, decision.operation, about(entry))
      return undefined
    }
    if (decision.what === 'delete') return planReplacement(entry, decision.mutation)
    if (decision.what === 'retake') return { entry, mutation: decision.mutation, isAdoption: false }
    const refused = run.situation.memory.refused.get(entry.subject)
    const isSame =
      refused?.hash === entry.hash &&
      refused.resourceVersion === (entry.live?.metadata.resourceVersion ?? '') &&
      refused.crVersion === String(run.cr.metadata.generation)
    if (isSame) {
      run.refused.set(entry.subject, refused)
      throw refused.error
    }
    return { entry, mutation: decision.mutation, isAdoption: decision.isAdoption }
  } catch (error) {
    noteProblem(run, entry, error)
    return undefined
  }
}

/** An object that is being deleted takes its time: its deletion is not asked for again. */
function planReplacement(entry: EmbeddedEntry, mutation: Delete): PlannedWrite | undefined {
  const isLeaving = entry.live?.metadata.deletionTimestamp !== undefined
  return isLeaving ? undefined : { entry, mutation, isAdoption: false }
}

function noteProblem(run: ReconcileRun, entry: EmbeddedEntry, error: unknown): void {
  entry.state = 'failed'
  entry.problem = error
  run.embeddedFailure ??= { subject: entry.subject, error }
}

function settle(
  run: ReconcileRun,
  { entry, mutation, isAdoption }: PlannedWrite,
  outcome: MutationOutcome | undefined,
): void {
  const { subject, hash } = entry
  if (outcome?.result === 'exists') {
    // Not watched, since it has another owner or lost its label; or the cache is behind. The next wave decides.
    entry.live = outcome.object
    entry.isUnseen = true
    return
  }
  if (outcome?.result === 'failed') {
    noteProblem(run, entry, outcome.error)
    const { retry, reason } = failureOf(outcome.error, '', subject)
    // A missing right may be granted, a missing namespace created: neither shows in the object.
    if (retry !== 'terminal' || isAuthFailure(reason) || reason === 'NotFound') return
    const { resourceVersion = '' } = entry.live?.metadata ?? {}
    const crVersion = String(run.cr.metadata.generation)
    run.refused.set(subject, { hash, resourceVersion, crVersion, error: outcome.error })
    return
  }
  if (mutation.verb === 'delete') {
    entry.live = outcome?.object
    run.journal.note(subject, 'deleted', about(entry))
    return
  }
  if (mutation.verb === 'marks') {
    // The next wave writes the rest of it.
    entry.live = outcome?.object ?? entry.live
    run.journal.note(subject, 'adopted', about(entry))
    return
  }
  const before = entry.live?.metadata.resourceVersion
  entry.live = outcome?.object ?? entry.desired
  entry.isUnseen = false
  entry.state = 'settled'
  const { fields = [] } = mutation
  const operation = isAdoption ? 'adopted' : operations[mutation.why]
  run.journal.note(subject, operation, { ...about(entry), ...(fields.length > 0 && { fields }) })
  const { resourceVersion } = entry.live.metadata
  // The API server changed nothing: another apply would have no effect either.
  if (resourceVersion !== undefined && resourceVersion === before) run.settled.set(subject, { hash, resourceVersion })
  else run.settled.delete(subject)
}

function isHealthy(run: ReconcileRun, entry: EmbeddedEntry, phase: string): boolean {
  const { embedded, subject, state } = entry
  if (isOptional(embedded.policy) && !entry.live) return true
  const health = healthOfEmbedded(entry, run.context.now)
  if (health.status === 'Current') return state === 'settled'
  run.journal.waiting ??= `phase ${phase}: ${subject}: ${health.message}`
  return false
}

function report(
  run: ReconcileRun,
  { phases }: EmbeddedSet,
  first: WrittenPhases,
  second: WrittenPhases,
  leaving: readonly EmbeddedReference[],
  isReady: boolean,
): void {
  const { now } = run.context
  const opened = [...first.opened, ...second.opened]
  const reports = phases.map(({ name, objects }, at) => {
    const entries = opened[at]?.entries
    return {
      name,
      objects: entries
        ? entries.map((entry) => stateOf(entry, now))
        : objects.map(({ object }) => pendingState(object)),
    }
  })
  run.embedded = { phases: reports, leaving, isComplete: isReady && leaving.length === 0 && !run.embeddedFailure }
}

const notNeeded: Health = { status: 'Current', reason: 'NotNeeded', message: 'It need not exist.' }

function stateOf(entry: EmbeddedEntry, now: number): EmbeddedState {
  const { kind, name, state, drifted, problem } = entry
  const { group, version } = kind
  const isAbsent = isOptional(entry.embedded.policy) && !entry.live
  const health = isAbsent ? notNeeded : healthOfEmbedded(entry, now)
  return { group, version, kind: kind.kind, ...name, health, isPending: state === 'open', drifted, problem }
}

function pendingState(object: UntypedObject): EmbeddedState {
  const { name = '', namespace } = object.metadata
  const health = { status: 'NotFound', reason: 'Pending', message: 'An earlier phase is not ready.' } as const
  return { ...kindOf(object), name, namespace, health, isPending: true, drifted: [], problem: undefined }
}

function about({ resource: kind, name }: EmbeddedEntry): { readonly object: { kind: Resource; name: typeof name } } {
  return { object: { kind, name } }
}
