/**
 * Runs one controller: decides which of its CRs a watch event concerns, and runs each reconcile from reading the CR to
 * requeueing it. Holds the state that lives between reconciles.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import { isMusterError, MusterError } from '../../kube/errors.ts'
import type { Log } from '../logging/log-line.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, ObjectMeta } from '../../kube/object.ts'
import type { Controller } from '../../operator/controller.ts'
import { type Coverage, coverageOf, selects } from '../../operator/coverage.ts'
import { kindText } from '../../operator/entry.ts'
import { describeInput, type Reference } from '../../operator/input.ts'
import { type EventDraft, eventsOf, isWrite, type Ledger, logLine } from '../../operator/ledger.ts'
import type { Live } from '../../operator/live.ts'
import { type Mutation, mutationName, type MutationOutcome, type Wave } from '../../operator/plan.ts'
import { type Memory, noMemory, type Situation } from '../../operator/reconcile.ts'
import { watchSecrets } from '../../operator/secrecy.ts'
import {
  type InputChange,
  readConcerns,
  type ObjectName,
  openView,
  type ViewRead,
  type RecordedView,
} from '../../operator/view.ts'
import { createDispatchTable, type DispatchTable } from './dispatch-table.ts'
import type { RunReconcile } from './run-reconcile.ts'
import { type Execute, openRun, type WriteRun, type WriteFinding } from './executor.ts'
import { type ConflictFinding, describeFinding } from '../findings/finding.ts'
import type { CausalityTracker } from '../findings/causality-tracker.ts'
import {
  defaultRepetition,
  noRepetition,
  noteLedger,
  writtenObjectKey,
  type Repetition,
} from '../findings/repetition.ts'
import { findRivals } from '../findings/rival-search.ts'
import type { FindingSubject, ReportedFinding, FindingReporter } from '../findings/finding-reporter.ts'
import type { InputTracker } from '../inputs/input-tracker.ts'
import { beginTerm, fencedLive, type Term } from '../leases/term.ts'
import type { Metrics } from '../observability/metrics.ts'
import { isPausedObject } from './paused.ts'
import type { SchedulerLane } from '../schedule/scheduler.ts'

interface ReconcilerOptions {
  /** Name of the operator. */
  readonly operator: string
  readonly controller: Controller
  readonly client: Client
  readonly inputs: Pick<InputTracker, 'source' | 'peek' | 'references' | 'isPending' | 'pending'>
  readonly clock: Clock
  /** The current configuration of the operator. */
  readonly config: () => unknown
  readonly live: Live
  readonly runReconcile: RunReconcile
  /** Fencing; without it, writes are always allowed. */
  readonly term?: Term | undefined
  readonly execute: Execute
  readonly lane: SchedulerLane
  readonly reporter: FindingReporter
  /** Shared by all operators of one cluster. */
  readonly history: CausalityTracker
  readonly recordEvent: (about: KubeObject, event: EventDraft) => void
  readonly log: Log
  readonly metrics?: Metrics | undefined
  readonly onLedger?: ((ledger: Ledger) => void) | undefined
  /** Called for each write, since the cache does not notify the operator of its own writes. */
  readonly onWritten: (change: InputChange, by: Reconciler, key: string) => void
}

export interface Reconciler {
  readonly name: string
  /** Enqueues every CR. */
  start(): void
  /** Enqueues every CR again: the configuration has changed. */
  restart(): void
  work(key: string): Promise<void>
  /** `except`: the key whose reconcile made the change. */
  onChange(change: InputChange, except?: string): void
  /** A reference names this object now, or does so no longer. */
  onNamed(reference: Reference, name: ObjectName, object: KubeObject | undefined): void
  onKind(resource: Resource): void
  /** Inputs that were pending are loaded. */
  onLoaded(): void
  /** A finding about a write of this reconcile. */
  onWriteFinding(finding: WriteFinding, run: WriteRun): void
}

/** A throttled key runs once in this time. */
const throttleMs = 60_000

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { operator, controller, client, inputs, clock, execute, recordEvent, lane, reporter, history, log } = options
  const { kind, own, declaredInputs } = controller
  const { source, references } = inputs
  const kindName = formatResource(kind)
  const coverage: Coverage = coverageOf(declaredInputs)
  const declared = declaredInputs.filter((input): input is Reference => input.select === 'reference')
  const table: DispatchTable = createDispatchTable()
  const memories = new Map<string, Memory>()
  /** Views of the reconciles in progress: the dispatch table does not have their reads yet. */
  const reading = new Map<string, RecordedView>()
  /** Redacts values of Secrets that the reconcile has read from its messages. */
  const redactions = new Map<string, (text: string) => string>()
  const repetitions = new Map<string, Repetition>()
  /**
   * By key: the newest origin that a reconcile has handled, and (`due`) the newest since. See `causality-tracker.ts`.
   */
  const handled = new Map<string, number>()
  const due = new Map<string, number>()
  /** Throttled keys, with the objects they write in a loop: changes of those do not release the key. */
  const throttled = new Map<string, ReadonlySet<string>>()
  /** Keys that wait for pending inputs. */
  const waiting = new Set<string>()
  /** Findings of the reconciles in progress. */
  const found = new Map<string, ReportedFinding[]>()
  let isStarted = false

  /** All controllers of an operator share its lane. */
  const idOf = (key: string): string => `${controller.name} ${key}`

  function find(key: string): KubeObject | undefined {
    const cr = inputs.peek(kind, parseKey(key))
    return cr && selects(own, cr, references) ? cr : undefined
  }

  async function work(key: string): Promise<void> {
    const cr = find(key)
    if (!cr) {
      forget(key)
      return
    }
    // Not even the status is written. Removing the label enqueues the CR.
    if (isPausedObject(cr)) return
    if (mustWait(key, cr)) {
      waiting.add(key)
      return
    }
    found.set(key, [])
    const view = openView({
      source,
      reader: `${operator}, controller ${controller.name}`,
      inputs: declaredInputs,
      coverage,
      references,
      given: { resource: kind, object: cr },
      onRefused: (message) => note({ kind: 'undeclaredRead', message, ...about(key) }),
    })
    reading.set(key, view)
    const secrets = watchSecrets(view)
    redactions.set(key, secrets.hide)
    const isHeld = options.term && beginTerm(options.term)
    const run = openRun(controller.name, key, isHeld)
    const { origin, hasReason } = takeOrigin(key)
    const { resourceVersion: version, generation } = cr.metadata
    const known: Known = { cr, version, generation, origin }
    try {
      const situation = {
        operator,
        controller,
        cr,
        view: secrets.view,
        clock,
        config: options.config(),
        live: isHeld ? fencedLive(options.live, isHeld) : options.live,
        memory: memories.get(key) ?? noMemory,
      } as unknown as Situation<KubeObject>
      const { ledger, memory } = await options.runReconcile(situation, (wave) => executeWave(wave, key, run, known))
      memories.set(key, memory)
      conclude(key, cr, ledger, hasReason)
    } catch (error) {
      // The kit catches errors of author code; this is an error of the kit itself, and must not stop the queue.
      log({ operator, controller: controller.name, key, error: describe(error) })
      lane.addAfter(idOf(key), controller.backOff.mostMs)
    } finally {
      table.record(key, view.reads)
      reading.delete(key)
      redactions.delete(key)
      found.delete(key)
      // The reconcile may have removed the last finalizer: its own write causes no watch event here.
      if (!find(key)) forget(key)
    }
  }

  /** The origin that a reconcile handles, and whether it is newer than the last one handled. */
  function takeOrigin(key: string): { readonly origin: number; readonly hasReason: boolean } {
    const before = handled.get(key) ?? -1
    const origin = Math.max(due.get(key) ?? 0, before)
    due.delete(key)
    handled.set(key, origin)
    return { origin, hasReason: origin > before }
  }

  /** Enqueues a key because of this origin. */
  function enqueue(key: string, origin: number): void {
    due.set(key, Math.max(origin, due.get(key) ?? 0))
    lane.add(idOf(key))
  }

  function forget(key: string): void {
    memories.delete(key)
    repetitions.delete(key)
    handled.delete(key)
    due.delete(key)
    throttled.delete(key)
    waiting.delete(key)
    reporter.forget(idOf(key))
    table.forget(key)
  }

  /** Whether an input is pending that the CR refers to, or that its last reconcile asked for. */
  function mustWait(key: string, cr: KubeObject): boolean {
    if (inputs.isPending(declared, own, cr)) return true
    for (const { resource, name } of inputs.pending()) if (table.askedByName(resource, name).has(key)) return true
    return false
  }

  async function executeWave(
    wave: Wave,
    key: string,
    run: WriteRun,
    known: Known,
  ): Promise<readonly MutationOutcome[]> {
    // A delete cannot be undone: it must be decided on the newest CR, and the reconcile may have begun long ago.
    const isOvertaken = (): boolean => inputs.peek(kind, parseKey(key))?.metadata.resourceVersion !== known.version
    if (wave.some(({ verb }) => verb === 'delete') && isOvertaken()) {
      const error = new MusterError('Conflict', `${kind.kind} ${key} has changed since this run began.`)
      return wave.map(() => ({ result: 'failed', error }))
    }
    if (wave.some((mutation) => isRecreated(key, mutation)) && (await isDeletedUnseen(known.cr))) {
      const error = new MusterError(
        'Conflict',
        `${kind.kind} ${key} is being deleted, which the cache does not show yet.`,
      )
      return wave.map(() => ({ result: 'failed', error }))
    }
    const before = wave.map((mutation) => inputs.peek(mutation.resource, mutationName(mutation)))
    const outcomes = await withOrigin(wave, known.origin, () => execute(wave, run))
    for (const [index, mutation] of wave.entries()) {
      const outcome = outcomes[index]
      if (outcome?.result !== 'done') continue
      if (mutation.verb === 'status' || mutation.verb === 'finalizers') {
        known.version = outcome.object?.metadata.resourceVersion
        // The spec has changed meanwhile: the watch event of that change may look like the echo of this write.
        if (outcome.object && outcome.object.metadata.generation !== known.generation) lane.add(idOf(key))
      }
      const change = { resource: mutation.resource, before: before[index], after: outcome.object }
      const isSame = change.before?.metadata.resourceVersion === change.after?.metadata.resourceVersion
      if (!isSame) options.onWritten(change, reconciler, key)
    }
    return outcomes
  }

  /** The object was written recently and is missing. */
  function isRecreated(key: string, mutation: Mutation): boolean {
    if (mutation.verb !== 'apply' || mutation.why !== 'missing') return false
    const place = writtenObjectKey({ kind: kindText(mutation.resource), name: mutationName(mutation), subject: '' })
    return repetitions.get(key)?.writes.has(place) === true
  }

  /**
   * A dependent that keeps vanishing may be garbage-collected with an owner whose deletion our cache has not seen yet.
   * Creating it again would fight the garbage collector, so the API server is asked.
   */
  async function isDeletedUnseen(cr: KubeObject): Promise<boolean> {
    if (cr.metadata.deletionTimestamp !== undefined) return false
    try {
      const { metadata } = await client.get(kind, parseKey(formatKey(cr)))
      return metadata.uid !== cr.metadata.uid || metadata.deletionTimestamp !== undefined
    } catch (error) {
      return isMusterError(error, 'NotFound')
    }
  }

  /** Records that the writes of this wave have the origin of the reconcile. */
  async function withOrigin(
    wave: Wave,
    origin: number,
    send: () => Promise<readonly MutationOutcome[]>,
  ): Promise<readonly MutationOutcome[]> {
    const ends = wave.map((mutation) => history.writing(mutation.resource, mutationName(mutation), origin))
    let outcomes: readonly MutationOutcome[] = []
    try {
      outcomes = await send()
      return outcomes
    } finally {
      for (const [index, end] of ends.entries()) {
        const outcome = outcomes[index]
        end(outcome?.result === 'done' ? outcome.object : undefined)
      }
    }
  }

  function conclude(key: string, cr: KubeObject, ledger: Ledger, hasReason: boolean): void {
    const { requeueAfterMs, failure } = ledger
    options.onLedger?.(ledger)
    options.metrics?.count(ledger, clock.now() - ledger.startedAt)
    const line = logLine(ledger)
    if (failure?.retry !== 'conflict' && (failure || 'done' in line)) log(line)
    for (const event of eventsOf(ledger)) recordEvent(cr, event)
    lookForRepetition(key, ledger, hasReason)
    // Refused by the kit before it became part of a plan.
    if (
      failure?.reason === 'UndeclaredOutput' &&
      !found.get(key)?.some(({ kind: what }) => what === 'undeclaredWrite')
    ) {
      note({ kind: 'undeclaredWrite', message: failure.message, ...about(key) })
    }
    if (failure?.reason === 'NotOurs') note({ kind: 'contested', message: failure.message, ...about(key) })
    const findings = found.get(key) ?? []
    reporter.ended(subjectOf(key), {
      found: findings.filter((finding) => finding.kind !== 'conflict'),
      isAtRest: !failure && !ledger.entries.some(isWrite),
    })
    for (const finding of findings) if (finding.kind === 'conflict') void report(finding)
    if (requeueAfterMs === undefined) return
    const isResync = !failure && requeueAfterMs === controller.options.resyncMs
    lane.addAfter(idOf(key), requeueAfterMs, isResync ? 'resync' : 'retry')
  }

  // ── findings ───────────────────────────────────────────────────────────────────────────────────────────────

  function about(key: string): Pick<ReportedFinding, 'operator' | 'controller' | 'key' | 'at'> {
    return { operator, controller: controller.name, key, at: clock.now() }
  }

  /** Reported once, at the end of the reconcile. */
  function note(finding: ReportedFinding): void {
    const known = found.get(finding.key)
    if (!known?.some((other) => describeFinding(other) === describeFinding(finding))) known?.push(finding)
  }

  /** Throttles a key that writes the same object repeatedly, until one of its inputs changes. */
  function lookForRepetition(key: string, ledger: Ledger, hasReason: boolean): void {
    const before = repetitions.get(key) ?? noRepetition
    const { repetition, findings } = noteLedger(before, ledger, defaultRepetition, hasReason)
    if (repetition.writes.size > 0) repetitions.set(key, repetition)
    else repetitions.delete(key)
    for (const finding of findings) {
      lane.hold(idOf(key), throttleMs)
      if (finding.kind === 'conflict') history.quarrel(finding)
      const isReleasedByInputs = finding.kind === 'conflict' || !finding.isFollowing
      if (isReleasedByInputs) throttled.set(key, new Set(ledger.entries.map(writtenObjectKey)))
      note(finding)
    }
  }

  /**
   * An input of the key has changed. A change of an object that the key itself writes does not release its throttle, no
   * matter which client made it.
   */
  function noteInputChange(key: string, change: InputChange, origin: number): void {
    if (isOutput(key, change)) {
      lane.add(idOf(key))
      return
    }
    if (throttled.has(key) && origin > (handled.get(key) ?? -1)) release(key)
    enqueue(key, origin)
  }

  /** Whether the object is an output of the key: the status of its CR, or an object that it has written recently. */
  function isOutput(key: string, { resource, before, after }: InputChange): boolean {
    const { name = '', namespace } = (after ?? before)!.metadata
    if (formatResource(resource) === kindName && formatKey((after ?? before)!) === key)
      return !isSpecChange(before, after)
    const place = writtenObjectKey({ kind: kindText(resource), name: { name, namespace }, subject: '' })
    return repetitions.get(key)?.writes.has(place) === true || throttled.get(key)?.has(place) === true
  }

  function release(key: string): void {
    throttled.delete(key)
    lane.release(idOf(key))
    reporter.released(idOf(key))
  }

  /** Delayed: the other field manager shows in `managedFields` only after it has written again. */
  async function report(conflict: ConflictFinding): Promise<void> {
    const resource = controller.outputs.find((output) => conflict.object.kind.endsWith(` ${output.kind}`))
    const others = await findRivals(conflict, { client, clock, operator, resource, history })
    reporter.report(subjectOf(conflict.key), [{ ...conflict, with: others }])
  }

  function subjectOf(key: string): FindingSubject {
    return {
      id: idOf(key),
      kind,
      read: () => find(key),
      written: (change) => options.onWritten(change, reconciler, key),
    }
  }

  // ── dispatch ───────────────────────────────────────────────────────────────────────────────────────────────

  /** The part of a change that this controller's declared inputs cover; inputs of other controllers are hidden. */
  function seen(change: InputChange): InputChange {
    const { resource, before, after } = change
    if (coverage.isWhole(resource)) return change
    const shown = (object: KubeObject | undefined): KubeObject | undefined =>
      object && coverage.shows(resource, object, references) ? object : undefined
    return { resource, before: shown(before), after: shown(after) }
  }

  function readersOf(change: InputChange): Set<string> {
    const keys = new Set(table.concerned(change))
    for (const [key, { reads }] of reading) if (reads.some((read) => readConcerns(read, change))) keys.add(key)
    return keys
  }

  /** Keys that asked for the object by its name: for a missing object, only those can tell the difference. */
  function keysAskingFor(resource: Resource, name: ObjectName): ReadonlySet<string> {
    const kindAsked = formatResource(resource)
    const asks = (read: ViewRead): boolean =>
      read.what === 'object' &&
      formatResource(read.resource) === kindAsked &&
      read.name.name === name.name &&
      (read.name.namespace ?? '') === (name.namespace ?? '')
    const asking = [...reading].filter(([, { reads }]) => reads.some(asks)).map(([key]) => key)
    return new Set([...table.askedByName(resource, name), ...asking])
  }

  /** Enqueues every CR; watch events take precedence. */
  function enqueueAll(cause: 'resync' | 'change'): void {
    const origin = history.newOrigin()
    for (const cr of source.list(kind)) {
      if (!selects(own, cr, references)) continue
      due.set(formatKey(cr), origin)
      lane.add(idOf(formatKey(cr)), cause)
    }
  }

  const reconciler: Reconciler = {
    name: controller.name,
    work,
    start() {
      isStarted = true
      enqueueAll('resync')
    },
    restart: () => enqueueAll('change'),
    onChange(reported, except) {
      // `start` enqueues every CR once the caches are filled.
      if (!isStarted) return
      const change = seen(reported)
      const { before, after } = change
      const object = after ?? before
      if (!object) return
      const keys = readersOf(change)
      if (formatResource(change.resource) === kindName) {
        const isOwn = [before, after].some((each) => each && selects(own, each, references))
        const key = formatKey(object)
        if (isOwn && after && isSpecChange(before, after)) release(key)
        if (isOwn) keys.add(key)
      }
      if (except !== undefined) keys.delete(except)
      if (keys.size === 0) return
      const origin = history.originOf(change)
      for (const key of keys) noteInputChange(key, change, origin)
    },
    onNamed(reference, name, object) {
      if (!isStarted || !declared.some((other) => describeInput(other) === describeInput(reference))) return
      const { resource } = reference
      // The other inputs of the controller cover the object anyway.
      const isSeenAnyway = object
        ? coverage.shows(resource, object, references, reference)
        : coverage.mayGet(resource, name, references, reference)
      if (isSeenAnyway) return
      const change: InputChange = { resource, before: undefined, after: object }
      const origin = object ? history.originOf(change) : history.newOrigin()
      for (const key of object ? readersOf(change) : keysAskingFor(resource, name)) enqueue(key, origin)
    },
    onKind(resource) {
      const name = formatResource(resource)
      const isAsked = (read: ViewRead): boolean => read.what === 'kind' && formatResource(read.resource) === name
      const asking = [...reading].filter(([, { reads }]) => reads.some(isAsked)).map(([key]) => key)
      // When the controller's own kind is no longer served, its CRs are gone.
      const known = name === kindName ? memories.keys() : []
      const origin = history.newOrigin()
      for (const key of [...table.askedFor(resource), ...asking, ...known]) enqueue(key, origin)
    },
    onLoaded() {
      const loaded = [...waiting]
      waiting.clear()
      for (const key of loaded) enqueue(key, history.newOrigin())
    },
    onWriteFinding: ({ kind: what, message }, { key }) =>
      note({ kind: what, message: redactions.get(key)?.(message) ?? message, ...about(key) }),
  }
  return reconciler
}

/** The CR as a reconcile knows it: as read, and as its own writes left it. */
interface Known {
  readonly cr: KubeObject
  version: string | undefined
  readonly generation: number | undefined
  /** The origin that the reconcile handles. */
  readonly origin: number
}

/** Whether spec, labels or annotations have changed; a status update alone does not count. */
function isSpecChange(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  const [old, now] = [before?.metadata, after?.metadata]
  if (!old || !now || old.generation !== now.generation) return true
  const text = ({ labels, annotations }: ObjectMeta): string => JSON.stringify([labels, annotations])
  return text(old) !== text(now)
}

function formatKey({ metadata: { namespace = '', name = '' } }: KubeObject): string {
  return `${namespace}/${name}`
}

function parseKey(key: string): ObjectName {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash) || undefined, name: key.slice(slash + 1) }
}

function describe(error: unknown): string {
  return error instanceof MusterError || error instanceof Error ? error.message : String(error)
}
