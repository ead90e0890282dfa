/**
 * One controller at work: which of its CRs are concerned by what happens, and each reconcile from its first look to its
 * conclusion. What is remembered between reconciles is kept here.
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

export interface ReconcilerOptions {
  /** Of the operator. */
  readonly operator: string
  readonly controller: Controller
  readonly client: Client
  readonly intake: Pick<InputTracker, 'source' | 'peek' | 'references' | 'isPending' | 'pending'>
  readonly clock: Clock
  /** The settings of the operator, as they are now. */
  readonly config: () => unknown
  readonly live: Live
  readonly drive: RunReconcile
  /** Without it, it may always write. */
  readonly term?: Term | undefined
  readonly execute: Execute
  readonly lane: SchedulerLane
  readonly troubles: FindingReporter
  /** Shared by all who work on the same cluster. */
  readonly history: CausalityTracker
  readonly tellEvent: (about: KubeObject, event: EventDraft) => void
  readonly log: Log
  readonly metrics?: Metrics | undefined
  readonly onLedger?: ((ledger: Ledger) => void) | undefined
  /** It wrote: the cache is silent about that. */
  readonly onWritten: (change: InputChange, by: Reconciler, key: string) => void
}

export interface Reconciler {
  readonly name: string
  /** Looks at everything once. */
  start(): void
  /** Looks at everything again: what it goes by beside its inputs has changed. */
  restart(): void
  work(key: string): Promise<void>
  /** `except`: the key that made the change, and knows. */
  onChange(change: InputChange, except?: string): void
  /** A name is led to by a reference now, or no longer. */
  onNamed(reference: Reference, name: ObjectName, object: KubeObject | undefined): void
  onKind(resource: Resource): void
  /** What was pending is there. */
  onLoaded(): void
  /** Something was found about a write of this run. */
  onWriteFinding(finding: WriteFinding, run: WriteRun): void
}

/** How often somebody who goes round in circles may try. */
const crawlMs = 60_000

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { operator, controller, client, intake, clock, execute, tellEvent, lane, troubles, history, log } = options
  const { kind, own, declaredInputs } = controller
  const { source, references } = intake
  const kindName = formatResource(kind)
  const coverage: Coverage = coverageOf(declaredInputs)
  const declared = declaredInputs.filter((input): input is Reference => input.select === 'reference')
  const table: DispatchTable = createDispatchTable()
  const memories = new Map<string, Memory>()
  /** What is being read at this moment: of that the table knows nothing yet. */
  const reading = new Map<string, RecordedView>()
  /** What is told of a run without what the Secrets hold that it has read. */
  const hiding = new Map<string, (text: string) => string>()
  const repetitions = new Map<string, Repetition>()
  /** The newest origin that each key has answered, and that of what has come since. */
  const answered = new Map<string, number>()
  const due = new Map<string, number>()
  /** Those that go round in circles, and the objects that do: their changes are no reason to try again. */
  const crawling = new Map<string, ReadonlySet<string>>()
  /** Those that wait for something to be loaded. */
  const waiting = new Set<string>()
  /** What was found in the run of a key that is under way. */
  const found = new Map<string, ReportedFinding[]>()
  let isStarted = false

  /** Keys of all controllers share the operator's lane. */
  const idOf = (key: string): string => `${controller.name} ${key}`

  function find(key: string): KubeObject | undefined {
    const cr = intake.peek(kind, parseKey(key))
    return cr && selects(own, cr, references) ? cr : undefined
  }

  async function work(key: string): Promise<void> {
    const cr = find(key)
    if (!cr) {
      forget(key)
      return
    }
    // Hands off: not even its status is written. Whoever takes the label away wakes it.
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
    hiding.set(key, secrets.hide)
    const isHeld = options.term && beginTerm(options.term)
    const run = openRun(controller.name, key, isHeld)
    const { origin, hasReason } = beginAnswer(key)
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
      const { ledger, memory } = await options.drive(situation, (wave) => carryOut(wave, key, run, known))
      memories.set(key, memory)
      conclude(key, cr, ledger, hasReason)
    } catch (error) {
      // The kit contains what authors do; this is the kit's own mistake, and must not stop the queue.
      log({ operator, controller: controller.name, key, error: describe(error) })
      lane.addAfter(idOf(key), controller.backOff.mostMs)
    } finally {
      table.record(key, view.reads)
      reading.delete(key)
      hiding.delete(key)
      found.delete(key)
      // Whoever lets it go himself is not told that it went.
      if (!find(key)) forget(key)
    }
  }

  /** What a run answers, and whether that is anything new. */
  function beginAnswer(key: string): { readonly origin: number; readonly hasReason: boolean } {
    const before = answered.get(key) ?? -1
    const origin = Math.max(due.get(key) ?? 0, before)
    due.delete(key)
    answered.set(key, origin)
    return { origin, hasReason: origin > before }
  }

  /** Wakes it, for what goes back to this origin. */
  function wake(key: string, origin: number): void {
    due.set(key, Math.max(origin, due.get(key) ?? 0))
    lane.add(idOf(key))
  }

  function forget(key: string): void {
    memories.delete(key)
    repetitions.delete(key)
    answered.delete(key)
    due.delete(key)
    crawling.delete(key)
    waiting.delete(key)
    troubles.forget(idOf(key))
    table.forget(key)
  }

  /** For something to be loaded that it refers to, or that it asked for last time. */
  function mustWait(key: string, cr: KubeObject): boolean {
    if (intake.isPending(declared, own, cr)) return true
    for (const { resource, name } of intake.pending()) if (table.askedByName(resource, name).has(key)) return true
    return false
  }

  async function carryOut(wave: Wave, key: string, run: WriteRun, known: Known): Promise<readonly MutationOutcome[]> {
    // What is deleted cannot be had back: that goes by the newest CR there is, and the run may have begun long ago.
    const isOvertaken = (): boolean => intake.peek(kind, parseKey(key))?.metadata.resourceVersion !== known.version
    if (wave.some(({ verb }) => verb === 'delete') && isOvertaken()) {
      const error = new MusterError('Conflict', `${kind.kind} ${key} has changed since this run began.`)
      return wave.map(() => ({ result: 'failed', error }))
    }
    if (wave.some((mutation) => isMadeAgain(key, mutation)) && (await isEndingUnheard(known.cr))) {
      const error = new MusterError('Conflict', `${kind.kind} ${key} is being deleted, which is not known here yet.`)
      return wave.map(() => ({ result: 'failed', error }))
    }
    const before = wave.map((mutation) => intake.peek(mutation.resource, mutationName(mutation)))
    const outcomes = await inAnswer(wave, known.origin, () => execute(wave, run))
    for (const [index, mutation] of wave.entries()) {
      const outcome = outcomes[index]
      if (outcome?.result !== 'done') continue
      if (mutation.verb === 'status' || mutation.verb === 'finalizers') {
        known.version = outcome.object?.metadata.resourceVersion
        // Somebody wants something else by now: whoever tells of it may not tell it apart from what was just written.
        if (outcome.object && outcome.object.metadata.generation !== known.generation) lane.add(idOf(key))
      }
      const change = { resource: mutation.resource, before: before[index], after: outcome.object }
      const isSame = change.before?.metadata.resourceVersion === change.after?.metadata.resourceVersion
      if (!isSame) options.onWritten(change, reconciler, key)
    }
    return outcomes
  }

  /** It was written a moment ago, and is missing. */
  function isMadeAgain(key: string, mutation: Mutation): boolean {
    if (mutation.verb !== 'apply' || mutation.why !== 'missing') return false
    const place = writtenObjectKey({ kind: kindText(mutation.resource), name: mutationName(mutation), subject: '' })
    return repetitions.get(key)?.writes.has(place) === true
  }

  /**
   * What goes again and again may go with its CR, of whose end nothing has been heard yet: then whoever makes it again fights the
   * garbage collector. Only the server knows.
   */
  async function isEndingUnheard(cr: KubeObject): Promise<boolean> {
    if (cr.metadata.deletionTimestamp !== undefined) return false
    try {
      const { metadata } = await client.get(kind, parseKey(formatKey(cr)))
      return metadata.uid !== cr.metadata.uid || metadata.deletionTimestamp !== undefined
    } catch (error) {
      return isMusterError(error, 'NotFound')
    }
  }

  /** What is written goes back to what is answered. */
  async function inAnswer(
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
    for (const event of eventsOf(ledger)) tellEvent(cr, event)
    lookForRepetition(key, ledger, hasReason)
    // What the kit refused before it became a plan.
    if (
      failure?.reason === 'UndeclaredOutput' &&
      !found.get(key)?.some(({ kind: what }) => what === 'undeclaredWrite')
    ) {
      note({ kind: 'undeclaredWrite', message: failure.message, ...about(key) })
    }
    if (failure?.reason === 'NotOurs') note({ kind: 'contested', message: failure.message, ...about(key) })
    const findings = found.get(key) ?? []
    troubles.ended(subjectOf(key), {
      found: findings.filter((finding) => finding.kind !== 'conflict'),
      isAtRest: !failure && !ledger.entries.some(isWrite),
    })
    for (const finding of findings) if (finding.kind === 'conflict') void report(finding)
    if (requeueAfterMs === undefined) return
    const isResync = !failure && requeueAfterMs === controller.options.resyncMs
    lane.addAfter(idOf(key), requeueAfterMs, isResync ? 'resync' : 'retry')
  }

  // ── what is found ──────────────────────────────────────────────────────────────────────────────────────────

  function about(key: string): Pick<ReportedFinding, 'operator' | 'controller' | 'key' | 'at'> {
    return { operator, controller: controller.name, key, at: clock.now() }
  }

  /** In a run: told when that has ended, and once. */
  function note(finding: ReportedFinding): void {
    const known = found.get(finding.key)
    if (!known?.some((other) => describeFinding(other) === describeFinding(finding))) known?.push(finding)
  }

  /** Who writes the same again and again is slowed to a crawl, until what it goes by changes. */
  function lookForRepetition(key: string, ledger: Ledger, hasReason: boolean): void {
    const before = repetitions.get(key) ?? noRepetition
    const { repetition, findings } = noteLedger(before, ledger, defaultRepetition, hasReason)
    if (repetition.writes.size > 0) repetitions.set(key, repetition)
    else repetitions.delete(key)
    for (const finding of findings) {
      lane.hold(idOf(key), crawlMs)
      if (finding.kind === 'conflict') history.quarrel(finding)
      const isReleasedByInputs = finding.kind === 'conflict' || !finding.isFollowing
      if (isReleasedByInputs) crawling.set(key, new Set(ledger.entries.map(writtenObjectKey)))
      note(finding)
    }
  }

  /** Something that the key goes by has changed. What it writes itself is no reason to write again, whoever touched it. */
  function news(key: string, change: InputChange, origin: number): void {
    if (isOutput(key, change)) {
      lane.add(idOf(key))
      return
    }
    if (crawling.has(key) && origin > (answered.get(key) ?? -1)) release(key)
    wake(key, origin)
  }

  /** Of its CR it writes the status; of others what it has written lately. */
  function isOutput(key: string, { resource, before, after }: InputChange): boolean {
    const { name = '', namespace } = (after ?? before)!.metadata
    if (formatResource(resource) === kindName && formatKey((after ?? before)!) === key) return !isWish(before, after)
    const place = writtenObjectKey({ kind: kindText(resource), name: { name, namespace }, subject: '' })
    return repetitions.get(key)?.writes.has(place) === true || crawling.get(key)?.has(place) === true
  }

  function release(key: string): void {
    crawling.delete(key)
    lane.release(idOf(key))
    troubles.released(idOf(key))
  }

  /** Who undoes its work shows a little later. */
  async function report(conflict: ConflictFinding): Promise<void> {
    const resource = controller.outputs.find((output) => conflict.object.kind.endsWith(` ${output.kind}`))
    const others = await findRivals(conflict, { client, clock, operator, resource, history })
    troubles.report(subjectOf(conflict.key), [{ ...conflict, with: others }])
  }

  function subjectOf(key: string): FindingSubject {
    return {
      id: idOf(key),
      kind,
      read: () => find(key),
      written: (change) => options.onWritten(change, reconciler, key),
    }
  }

  // ── who is concerned ───────────────────────────────────────────────────────────────────────────────────────

  /** Of a change, what this controller can see: somebody else's inputs are none of its business. */
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

  /** Those who asked for it by its name: where nothing is, nobody else can tell the difference. */
  function askersFor(resource: Resource, name: ObjectName): ReadonlySet<string> {
    const kindAsked = formatResource(resource)
    const asks = (read: ViewRead): boolean =>
      read.what === 'object' &&
      formatResource(read.resource) === kindAsked &&
      read.name.name === name.name &&
      (read.name.namespace ?? '') === (name.namespace ?? '')
    const asking = [...reading].filter(([, { reads }]) => reads.some(asks)).map(([key]) => key)
    return new Set([...table.askedByName(resource, name), ...asking])
  }

  /** Everything is looked at once; what changes meanwhile goes before it. */
  function lookAtAll(cause: 'resync' | 'change'): void {
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
      lookAtAll('resync')
    },
    restart: () => lookAtAll('change'),
    onChange(told, except) {
      // What is there at the start is looked at when all of it is known.
      if (!isStarted) return
      const change = seen(told)
      const { before, after } = change
      const object = after ?? before
      if (!object) return
      const keys = readersOf(change)
      if (formatResource(change.resource) === kindName) {
        const isOwn = [before, after].some((each) => each && selects(own, each, references))
        const key = formatKey(object)
        if (isOwn && after && isWish(before, after)) release(key)
        if (isOwn) keys.add(key)
      }
      if (except !== undefined) keys.delete(except)
      if (keys.size === 0) return
      const origin = history.originOf(change)
      for (const key of keys) news(key, change, origin)
    },
    onNamed(reference, name, object) {
      if (!isStarted || !declared.some((other) => describeInput(other) === describeInput(reference))) return
      const { resource } = reference
      // What is seen anyway, or may be asked for anyway, has not changed.
      const isSeenAnyway = object
        ? coverage.shows(resource, object, references, reference)
        : coverage.mayGet(resource, name, references, reference)
      if (isSeenAnyway) return
      const change: InputChange = { resource, before: undefined, after: object }
      const origin = object ? history.originOf(change) : history.newOrigin()
      for (const key of object ? readersOf(change) : askersFor(resource, name)) wake(key, origin)
    },
    onKind(resource) {
      const name = formatResource(resource)
      const isAsked = (read: ViewRead): boolean => read.what === 'kind' && formatResource(read.resource) === name
      const asking = [...reading].filter(([, { reads }]) => reads.some(isAsked)).map(([key]) => key)
      // When its own kind is gone, so are the objects that it knew.
      const known = name === kindName ? memories.keys() : []
      const origin = history.newOrigin()
      for (const key of [...table.askedFor(resource), ...asking, ...known]) wake(key, origin)
    },
    onLoaded() {
      const loaded = [...waiting]
      waiting.clear()
      for (const key of loaded) wake(key, history.newOrigin())
    },
    onWriteFinding: ({ kind: what, message }, { key }) =>
      note({ kind: what, message: hiding.get(key)?.(message) ?? message, ...about(key) }),
  }
  return reconciler
}

/** The CR as a run knows it: as it was read, and as its own writes left it. */
interface Known {
  readonly cr: KubeObject
  version: string | undefined
  readonly generation: number | undefined
  /** What it answers. */
  readonly origin: number
}

/** Has somebody changed what is asked for? A status is no wish. */
function isWish(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
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
