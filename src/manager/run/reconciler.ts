/**
 * Runs one controller: decides which of its CRs a watch event concerns, and runs each reconcile from reading the CR to
 * requeueing it. Holds the state that lives between reconciles; `run-context.ts` is the state of one reconcile.
 */
import { EchoFilter } from '../../cache/echo-filter.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Log } from '../logging/log-line.ts'
import type { JsonObject } from '../../kube/json.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Controller } from '../../operator/controller.ts'
import { type Coverage, coverageOf, selects } from '../../operator/view/coverage.ts'
import { describeInput, type Reference } from '../../operator/view/input.ts'
import { type EventDraft, eventsOf, isWrite, type Ledger, logLine } from '../../operator/ledger.ts'
import type { Live } from '../../operator/live.ts'
import { type Mutation, mutationName, type Wave } from '../../operator/plan.ts'
import { type Memory, noMemory } from '../../operator/reconcile.ts'
import { type InputChange, type ObjectName, openView } from '../../operator/view/view.ts'
import type { ConflictFinding, Finding } from '../findings/finding.ts'
import type { CausalityTracker } from '../findings/causality-tracker.ts'
import { findRivals } from '../findings/rival-search.ts'
import type { FindingSubject, FindingReporter } from '../findings/finding-reporter.ts'
import type { RunCause } from '../gates/priority.ts'
import type { HeldTracker } from '../inputs/held-tracker.ts'
import type { InputTracker } from '../inputs/input-tracker.ts'
import type { DecisionCause, DecisionReader } from '../coordinators/coordinators.ts'
import { beginTerm, type Term } from '../leases/term.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { SchedulerLane } from '../schedule/lane.ts'
import type { TaskCaller, TaskRunner } from '../tasks/task-runner.ts'
import { crKey, isSpecChange, crName } from './cr-key.ts'
import { createDispatchTable, type DispatchTable } from './dispatch-table.ts'
import type { Execute } from './executor.ts'
import { isPausedObject } from './paused.ts'
import { RunContext } from './run-context.ts'
import { noObserver, type Outcomes, type RunObserver } from './run-observer.ts'
import type { RunReconcile } from './run-reconcile.ts'
import { createThrottle } from './throttle.ts'
import { createWaveGuard } from './wave-guard.ts'
import { versionsOf, writtenVersion } from './written-version.ts'

interface ReconcilerOptions {
  /** Name of the operator. */
  readonly operator: string
  readonly controller: Controller
  readonly client: Client
  readonly inputs: Pick<InputTracker, 'source' | 'peek' | 'references' | 'isPending' | 'pending'>
  /** The embedded objects, for a controller that embeds some. */
  readonly held?: HeldTracker | undefined
  readonly clock: Clock
  /** The current configuration of the operator. */
  readonly config: () => unknown
  readonly live: Live
  readonly tasks: Pick<TaskRunner, 'openCaller'>
  /** The decisions of its coordinators, for a controller that declares some. */
  readonly decisions?: DecisionReader | undefined
  readonly runReconcile: RunReconcile
  readonly observer?: RunObserver | undefined
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
}

export interface Reconciler {
  readonly name: string
  /** Enqueues every CR. */
  start(): void
  /** Enqueues every CR again: the configuration has changed. */
  restart(): void
  work(key: string, cause: RunCause): Promise<void>
  /** An input has changed, perhaps by a write of this controller. */
  onChange(change: InputChange): void
  /** An embedded object that these keys asked for has changed, perhaps by a write of this controller. */
  onHeld(change: InputChange, keys: readonly string[]): void
  /** A kind that these keys asked for is served now, or no longer. */
  onHeldKind(keys: readonly string[]): void
  /** A reference names this object now, or does so no longer. */
  onNamed(reference: Reference, name: ObjectName, object: KubeObject | undefined): void
  onKind(resource: Resource): void
  /** Inputs that were pending are loaded. */
  onLoaded(): void
  /** Decisions that these keys have read have changed, or can be read now. */
  onDecided(keys: Iterable<string>, why: DecisionCause): void
  /** Releases the tasks that it asks for. */
  stop(): void
}

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { operator, controller, client, inputs, clock, execute, recordEvent, lane, reporter, history, log, decisions } =
    options
  const { observer = noObserver } = options
  const { kind, own, declaredInputs } = controller
  const { source, references } = inputs
  const kindName = formatResource(kind)
  const coverage: Coverage = coverageOf(declaredInputs)
  const declared = declaredInputs.filter((input): input is Reference => input.select === 'reference')
  /** All controllers of an operator share its lane. */
  const idOf = (key: string): string => `${controller.name} ${key}`
  const table: DispatchTable = createDispatchTable()
  const throttle = createThrottle({ kind, lane, idOf })
  const refusalOf = createWaveGuard({ kind, client, throttle, peek: (key) => inputs.peek(kind, crName(key)) })
  /** By key and object: a key is not enqueued by its own writes. */
  const echoes = new EchoFilter<InputChange>(versionsOf)
  const memories = new Map<string, Memory>()
  /**
   * By key: the newest origin that a reconcile has handled, and (`due`) the newest since. See `causality-tracker.ts`.
   */
  const handled = new Map<string, number>()
  const due = new Map<string, number>()
  /** By key: the latest changed input since its last reconcile. For the log. */
  const triggers = new Map<string, { readonly kind: string; readonly metadata: KubeObject['metadata'] }>()
  /** Keys that wait for pending inputs. */
  const waiting = new Set<string>()
  /** Keys about to run: they wait for the decisions of this batch, and will read them. */
  const undecided = new Set<string>()
  /** Of controllers with tasks. */
  const callers = new Map<string, TaskCaller>()
  let isStarted = false

  function find(key: string): KubeObject | undefined {
    const cr = inputs.peek(kind, crName(key))
    return cr && selects(own, cr, references) ? cr : undefined
  }

  function forget(key: string): void {
    memories.delete(key)
    handled.delete(key)
    due.delete(key)
    triggers.delete(key)
    waiting.delete(key)
    callers.get(key)?.close()
    callers.delete(key)
    throttle.forget(key)
    reporter.forget(idOf(key))
    table.forget(key)
    options.held?.forget(key)
    decisions?.forget(key)
  }

  // ── one reconcile ──────────────────────────────────────────────────────────────────────────────────────────

  async function work(key: string, cause: RunCause): Promise<void> {
    if (decisions) {
      undecided.add(key)
      await decisions.decided()
      undecided.delete(key)
    }
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
    const why = whyOf(key, cause)
    const run = begin(key, cr)
    const held = options.held?.open(key)
    const caller = callerOf(key)
    const decided = decisions?.open(key)
    caller?.begin()
    try {
      const situation = {
        operator,
        controller,
        cr,
        view: run.view,
        clock,
        config: options.config(),
        live: run.live(options.live),
        held,
        tasks: caller && run.tasks(caller),
        decisions: decided,
        memory: memories.get(key) ?? noMemory,
        marks: run.observed.marks,
      }
      const { ledger, memory } = await run.observed.within(() =>
        options.runReconcile(situation, (wave) => executeWave(run, wave)),
      )
      held?.close(ledger.failure !== undefined || ledger.waiting !== undefined || ledger.isSuspended === true)
      caller?.end(ledger.isSuspended ? 'suspended' : ledger.failure ? 'failed' : 'done')
      const effort = run.end()
      memories.set(key, memory)
      conclude(run, effort ? { ...ledger, effort } : ledger, why)
    } catch (error) {
      // The kit catches errors of author code; this is an error of the kit itself, and must not stop the queue.
      log({ level: 'error', msg: 'Internal error', operator, controller: controller.name, key, error: describe(error) })
      lane.addAfter(idOf(key), controller.backOff.mostMs)
    } finally {
      run.end()
      table.record(key, run.view.reads)
      decided?.close()
      // The reconcile may have removed the last finalizer: its own write causes no watch event here.
      if (!find(key)) forget(key)
    }
  }

  /** Why a reconcile runs, for its log line. */
  function whyOf(key: string, cause: RunCause): JsonObject {
    const trigger = triggers.get(key)
    triggers.delete(key)
    if (!trigger) return { cause }
    const { name = '', namespace } = trigger.metadata
    return { cause, trigger: `${trigger.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}` }
  }

  function callerOf(key: string): TaskCaller | undefined {
    if (controller.tasks.length === 0) return undefined
    const caller = callers.get(key) ?? options.tasks.openCaller(() => enqueue(key, history.newOrigin()))
    callers.set(key, caller)
    return caller
  }

  /** Whether an input is pending that the CR refers to, or that its last reconcile asked for. */
  function mustWait(key: string, cr: KubeObject): boolean {
    if (inputs.isPending(declared, own, cr)) return true
    for (const { resource, name } of inputs.pending()) if (table.askedByName(resource, name).has(key)) return true
    return false
  }

  function begin(key: string, cr: KubeObject): RunContext {
    const view = openView({
      source,
      reader: `${operator}, controller ${controller.name}`,
      inputs: declaredInputs,
      coverage,
      references,
      given: { resource: kind, object: cr },
      onRefused: (message) => run.find('undeclaredRead', message),
    })
    const run: RunContext = new RunContext({
      key,
      cr,
      view,
      ...takeOrigin(key),
      isHeld: options.term && beginTerm(options.term),
      observed: observer.begin(controller.name, key),
      about: () => ({ operator, controller: controller.name, key, at: clock.now() }),
    })
    table.begin(key, view.reads)
    return run
  }

  /** The origin that a reconcile handles, and whether it is newer than the last one handled. */
  function takeOrigin(key: string): { readonly origin: number; readonly hasReason: boolean } {
    const before = handled.get(key) ?? -1
    const origin = Math.max(due.get(key) ?? 0, before)
    due.delete(key)
    handled.set(key, origin)
    return { origin, hasReason: origin > before }
  }

  async function executeWave(run: RunContext, wave: Wave): Promise<Outcomes> {
    const error = await refusalOf(run, wave)
    if (error) return wave.map(() => ({ result: 'failed', error }))
    const ends = wave.map((mutation) => beginWrite(run.key, mutation.resource, mutationName(mutation), run.origin))
    let outcomes: Outcomes = []
    try {
      outcomes = await run.observed.sending(wave, run.view.secrets.hide, () => execute(wave, run))
      return outcomes
    } finally {
      for (const [index, mutation] of wave.entries()) {
        const outcome = outcomes[index]
        if (outcome?.result === 'done') noteCr(run, mutation, outcome.object)
        ends[index]!(outcome?.result === 'done' ? writtenVersion(mutation, outcome.object) : undefined)
      }
    }
  }

  /** The reconcile wrote its own CR. */
  function noteCr(run: RunContext, { verb }: Mutation, written: KubeObject | undefined): void {
    if (verb !== 'status' && verb !== 'finalizers') return
    run.crVersion = written?.metadata.resourceVersion
    // The spec has changed meanwhile: the watch event of that change may look like the echo of this write.
    if (written && written.metadata.generation !== run.cr.metadata.generation) lane.add(idOf(run.key))
  }

  /** A write of the key is in flight until the returned function is called with the version that it wrote. */
  function beginWrite(
    key: string,
    resource: Resource,
    name: ObjectName,
    origin: number,
  ): (version: string | undefined) => void {
    const place = placeOf(resource, name)
    const end = history.writing(resource, name, { origin, author: { controller: reconciler, key } })
    echoes.begin(key, place)
    return (version) => {
      end(version)
      for (const change of echoes.end(key, place, version)?.foreign ?? [])
        noteInputChange(key, change, history.originOf(change))
    }
  }

  function conclude(run: RunContext, ledger: Ledger, why: JsonObject): void {
    const { key, cr, hasReason } = run
    const { requeueAfterMs, failure } = ledger
    options.onLedger?.(ledger)
    options.metrics?.count(ledger, clock.now() - ledger.startedAt)
    log({ ...logLine(ledger), ...why })
    for (const event of eventsOf(ledger)) recordEvent(cr, event)
    for (const finding of throttle.note(key, ledger, hasReason)) {
      if (finding.kind === 'conflict') history.quarrel(finding)
      run.note(finding)
    }
    // Refused by the kit before it became part of a plan.
    const isFound = (what: Finding['kind']): boolean => run.findings.some(({ kind: other }) => other === what)
    if (failure?.reason === 'UndeclaredOutput' && !isFound('undeclaredWrite'))
      run.find('undeclaredWrite', failure.message)
    if (failure?.reason === 'UndeclaredInput' && !isFound('undeclaredRead')) run.find('undeclaredRead', failure.message)
    if (failure?.reason === 'NotOurs') run.find('contested', failure.message)
    reporter.ended(subjectOf(key), {
      found: run.findings.filter((finding) => finding.kind !== 'conflict'),
      isAtRest: !failure && !ledger.isSuspended && !ledger.entries.some(isWrite),
    })
    for (const finding of run.findings) if (finding.kind === 'conflict') void report(finding)
    if (requeueAfterMs === undefined) return
    const isResync = !failure && requeueAfterMs === controller.options.resyncMs
    lane.addAfter(idOf(key), requeueAfterMs, isResync ? 'resync' : 'retry')
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
      writing(cr) {
        const end = beginWrite(key, kind, crName(crKey(cr)), handled.get(key) ?? history.newOrigin())
        return (written) => end(written?.metadata.resourceVersion)
      },
    }
  }

  // ── dispatch ───────────────────────────────────────────────────────────────────────────────────────────────

  /** The part of a change that this controller's declared inputs cover; inputs of other controllers are hidden. */
  function seen(change: InputChange): InputChange {
    const { resource, before, after } = change
    if (coverage.isWhole(resource)) return change
    const shown = (object: KubeObject | undefined): KubeObject | undefined =>
      object && coverage.shows(resource, object, references) ? object : undefined
    return { ...change, before: shown(before), after: shown(after) }
  }

  /** The keys that an input change concerns, whether they made it or not. */
  function concerned(change: InputChange, object: KubeObject): ReadonlySet<string> {
    const { before, after } = change
    const readers = table.concerned(change)
    if (formatResource(change.resource) !== kindName) return readers
    if (![before, after].some((each) => each && selects(own, each, references))) return readers
    const key = crKey(object)
    if (after && isSpecChange(before, after)) release(key)
    return new Set([...readers, key])
  }

  /** A hidden change concerns the keys that write the object: all others know its current state. */
  function hiddenFrom({ resource }: InputChange, object: KubeObject): ReadonlySet<string> {
    const writer = history.writerOf(resource, object)
    const writing = echoes.writers(placeOf(resource, object.metadata))
    return new Set(writer?.controller === reconciler ? [...writing, writer.key] : writing)
  }

  /** Enqueues a key because of this origin. */
  function enqueue(key: string, origin: number): void {
    due.set(key, Math.max(origin, due.get(key) ?? 0))
    lane.add(idOf(key))
  }

  /** An input of the key has changed. */
  function noteInputChange(key: string, change: InputChange, origin: number): void {
    const { resource, before, after = before } = change
    if (after) triggers.set(key, { kind: resource.kind, metadata: after.metadata })
    if (throttle.isOutput(key, change)) {
      lane.add(idOf(key))
      return
    }
    if (throttle.isThrottled(key) && origin > (handled.get(key) ?? -1)) release(key)
    enqueue(key, origin)
  }

  /** Enqueues the keys that a change concerns, but not the key whose own write it is. */
  function dispatch(change: InputChange, object: KubeObject, keys: Iterable<string>): void {
    const origin = history.originOf(change)
    const author = history.authorOf(change)
    const place = echoes.isEmpty ? '' : placeOf(change.resource, object.metadata)
    for (const key of keys) {
      const isOwn = author?.controller === reconciler && author.key === key
      if (!isOwn && !echoes.withholds(key, place, change)) noteInputChange(key, change, origin)
    }
  }

  function release(key: string): void {
    throttle.release(key)
    reporter.released(idOf(key))
  }

  /** Enqueues every CR; watch events take precedence. */
  function enqueueAll(cause: 'resync' | 'change'): void {
    const origin = history.newOrigin()
    for (const cr of source.list(kind)) {
      if (!selects(own, cr, references)) continue
      due.set(crKey(cr), origin)
      lane.add(idOf(crKey(cr)), cause)
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
    onChange(reported) {
      // `start` enqueues every CR once the caches are filled.
      if (!isStarted) return
      const change = seen(reported)
      const object = change.after ?? change.before
      if (!object) return
      const keys = change.isHidden ? hiddenFrom(change, object) : concerned(change, object)
      if (keys.size > 0) dispatch(change, object, keys)
    },
    onHeld(change, keys) {
      const object = change.after ?? change.before
      if (isStarted && object) dispatch(change, object, keys)
    },
    onHeldKind(keys) {
      const origin = history.newOrigin()
      if (isStarted) for (const key of keys) enqueue(key, origin)
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
      // For a missing object, only the keys that asked for it by its name can tell the difference.
      for (const key of object ? table.concerned(change) : table.askedByName(resource, name)) enqueue(key, origin)
    },
    onKind(resource) {
      // When the controller's own kind is no longer served, its CRs are gone.
      const known = formatResource(resource) === kindName ? memories.keys() : []
      const origin = history.newOrigin()
      for (const key of [...table.askedFor(resource), ...known]) enqueue(key, origin)
    },
    onLoaded() {
      const loaded = [...waiting]
      waiting.clear()
      for (const key of loaded) enqueue(key, history.newOrigin())
    },
    onDecided(keys, { coordinator, origin }) {
      if (!isStarted) return
      for (const key of keys) {
        triggers.set(key, { kind: 'Coordinator', metadata: { name: coordinator } })
        if (throttle.isThrottled(key) && origin > (handled.get(key) ?? -1)) release(key)
        if (undecided.has(key)) due.set(key, Math.max(origin, due.get(key) ?? 0))
        else enqueue(key, origin)
      }
    },
    stop() {
      for (const caller of callers.values()) caller.close()
    },
  }
  return reconciler
}

function placeOf(resource: Resource, { namespace = '', name = '' }: Partial<ObjectName>): string {
  return `${formatResource(resource)} ${namespace}/${name}`
}

function describe(error: unknown): string {
  return error instanceof MusterError || error instanceof Error ? error.message : String(error)
}
