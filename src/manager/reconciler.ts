/**
 * One controller at work: which of its CRs are concerned by what happens, and each reconcile from its first look to its
 * conclusion. What is remembered between reconciles is kept here.
 */
import type { Clock } from '../clock/clock.ts'
import type { Client } from '../client/client.ts'
import { MusterError } from '../kube/errors.ts'
import type { JsonObject } from '../kube/json.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Controller } from '../operator/controller.ts'
import { type Coverage, coverageOf, selects } from '../operator/coverage.ts'
import { describeInput, type Reference } from '../operator/input.ts'
import { type EventDraft, eventsOf, isWrite, type Ledger, logLine } from '../operator/ledger.ts'
import type { Live } from '../operator/live.ts'
import { nameOf, type Outcome, type Wave } from '../operator/plan.ts'
import { type Memory, noMemory, type Situation } from '../operator/reconcile.ts'
import { type Change, concerns, type ObjectName, openView, type Read, type RecordedView } from '../operator/view.ts'
import { createDispatchTable, type DispatchTable } from './dispatch-table.ts'
import type { Drive } from './drive.ts'
import { type Execute, openRun, type Run, type WriteFinding } from './executor.ts'
import { type Conflict, describeFinding } from './findings/finding.ts'
import { noRepetition, noteLedger, type Repetition } from './findings/repetition.ts'
import { rivals } from './findings/rivals.ts'
import type { Subject, Trouble, Troubles } from './findings/troubles.ts'
import type { Intake } from './intake.ts'
import { beginTerm, fencedLive, type Term } from './leases/term.ts'
import type { Metrics } from './metrics.ts'
import { isPausedObject } from './paused.ts'
import type { Lane } from './scheduler.ts'

export interface ReconcilerOptions {
  /** Of the operator. */
  readonly operator: string
  readonly controller: Controller
  readonly client: Client
  readonly intake: Pick<Intake, 'source' | 'peek' | 'references' | 'isPending' | 'pending'>
  readonly clock: Clock
  /** The settings of the operator, as they are now. */
  readonly config: () => unknown
  readonly live: Live
  readonly drive: Drive
  /** Without it, it may always write. */
  readonly term?: Term | undefined
  readonly execute: Execute
  readonly lane: Lane
  readonly troubles: Troubles
  readonly tellEvent: (about: KubeObject, event: EventDraft) => void
  readonly log: (line: JsonObject) => void
  readonly metrics?: Metrics | undefined
  readonly onLedger?: ((ledger: Ledger) => void) | undefined
  /** It wrote: the cache is silent about that. */
  readonly onWritten: (change: Change, by: Reconciler, key: string) => void
}

export interface Reconciler {
  readonly name: string
  /** Looks at everything once. */
  start(): void
  /** Looks at everything again: what it goes by beside its inputs has changed. */
  restart(): void
  work(key: string): Promise<void>
  /** `except`: the key that made the change, and knows. */
  onChange(change: Change, except?: string): void
  /** A name is led to by a reference now, or no longer. */
  onNamed(reference: Reference, name: ObjectName, object: KubeObject | undefined): void
  onKind(resource: Resource): void
  /** What was pending is there. */
  onLoaded(): void
  /** Something was found about a write of this run. */
  onWriteFinding(finding: WriteFinding, run: Run): void
}

/** How often somebody who goes round in circles may try. */
const crawlMs = 60_000
/** How often, and how far apart, it is looked who changed it back. */
const mostLooks = 5
const lookMs = 1000

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { operator, controller, client, intake, clock, execute, tellEvent, lane, troubles, log } = options
  const { kind, own, declaredInputs } = controller
  const { source, references } = intake
  const kindName = formatResource(kind)
  const coverage: Coverage = coverageOf(declaredInputs)
  const declared = declaredInputs.filter((input): input is Reference => input.select === 'reference')
  const table: DispatchTable = createDispatchTable()
  const memories = new Map<string, Memory>()
  /** What is being read at this moment: of that the table knows nothing yet. */
  const reading = new Map<string, RecordedView>()
  const repetitions = new Map<string, Repetition>()
  /** Those that wait for something to be loaded. */
  const waiting = new Set<string>()
  /** What was found in the run of a key that is under way. */
  const found = new Map<string, Trouble[]>()
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
    const isHeld = options.term && beginTerm(options.term)
    const run = openRun(controller.name, key, isHeld)
    const known: Known = { version: cr.metadata.resourceVersion }
    try {
      const situation = {
        operator,
        controller,
        cr,
        view,
        clock,
        config: options.config(),
        live: isHeld ? fencedLive(options.live, isHeld) : options.live,
        memory: memories.get(key) ?? noMemory,
      } as unknown as Situation<KubeObject>
      const { ledger, memory } = await options.drive(situation, (wave) => carryOut(wave, key, run, known))
      memories.set(key, memory)
      conclude(key, cr, ledger)
    } catch (error) {
      // The kit contains what authors do; this is the kit's own mistake, and must not stop the queue.
      log({ operator, controller: controller.name, key, error: describe(error) })
      lane.addAfter(idOf(key), controller.backOff.mostMs)
    } finally {
      table.record(key, view.reads)
      reading.delete(key)
      found.delete(key)
      // Whoever lets it go himself is not told that it went.
      if (!find(key)) forget(key)
    }
  }

  function forget(key: string): void {
    memories.delete(key)
    repetitions.delete(key)
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

  async function carryOut(wave: Wave, key: string, run: Run, known: Known): Promise<readonly Outcome[]> {
    // What is deleted cannot be had back: that goes by the newest CR there is, and the run may have begun long ago.
    const isOvertaken = (): boolean => intake.peek(kind, parseKey(key))?.metadata.resourceVersion !== known.version
    if (wave.some(({ verb }) => verb === 'delete') && isOvertaken()) {
      const error = new MusterError('Conflict', `${kind.kind} ${key} has changed since this run began.`)
      return wave.map(() => ({ result: 'failed', error }))
    }
    const before = wave.map((mutation) => intake.peek(mutation.resource, nameOf(mutation)))
    const outcomes = await execute(wave, run)
    for (const [index, mutation] of wave.entries()) {
      const outcome = outcomes[index]
      if (outcome?.result !== 'done') continue
      if (mutation.verb === 'status' || mutation.verb === 'finalizers') {
        known.version = outcome.object?.metadata.resourceVersion
      }
      const change = { resource: mutation.resource, before: before[index], after: outcome.object }
      const isSame = change.before?.metadata.resourceVersion === change.after?.metadata.resourceVersion
      if (!isSame) options.onWritten(change, reconciler, key)
    }
    return outcomes
  }

  function conclude(key: string, cr: KubeObject, ledger: Ledger): void {
    const { requeueAfterMs, failure } = ledger
    options.onLedger?.(ledger)
    options.metrics?.count(ledger, clock.now() - ledger.startedAt)
    const line = logLine(ledger)
    if (failure?.retry !== 'conflict' && (failure || 'done' in line)) log(line)
    for (const event of eventsOf(ledger)) tellEvent(cr, event)
    lookForRepetition(key, ledger)
    // What the kit refused before it became a plan.
    if (
      failure?.reason === 'UndeclaredOutput' &&
      !found.get(key)?.some(({ kind: what }) => what === 'undeclaredWrite')
    ) {
      note({ kind: 'undeclaredWrite', message: failure.message, ...about(key) })
    }
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

  function about(key: string): Pick<Trouble, 'operator' | 'controller' | 'key' | 'at'> {
    return { operator, controller: controller.name, key, at: clock.now() }
  }

  /** In a run: told when that has ended, and once. */
  function note(finding: Trouble): void {
    const known = found.get(finding.key)
    if (!known?.some((other) => describeFinding(other) === describeFinding(finding))) known?.push(finding)
  }

  /** Who writes the same again and again is slowed to a crawl, until what it goes by changes. */
  function lookForRepetition(key: string, ledger: Ledger): void {
    const { repetition, findings } = noteLedger(repetitions.get(key) ?? noRepetition, ledger)
    if (repetition.writes.size > 0) repetitions.set(key, repetition)
    else repetitions.delete(key)
    for (const finding of findings) {
      lane.hold(idOf(key), crawlMs)
      note(finding)
    }
  }

  /** Who undoes its work shows a little later. */
  async function report(conflict: Conflict): Promise<void> {
    troubles.report(subjectOf(conflict.key), [{ ...conflict, with: await rivalsOf(conflict) }])
  }

  function subjectOf(key: string): Subject {
    return {
      id: idOf(key),
      kind,
      read: () => find(key),
      written: (change) => options.onWritten(change, reconciler, key),
    }
  }

  /**
   * Asked only when there is something to tell: caches keep no managers. Our last write took the fields from whoever
   * had them; now that we hold still, he has them again as soon as he has changed them back.
   */
  async function rivalsOf({ object, fields }: Conflict): Promise<readonly string[]> {
    const resource = controller.outputs.find((output) => object.kind.endsWith(` ${output.kind}`))
    if (!resource) return []
    for (let look = 0; look < mostLooks; look++) {
      try {
        const { metadata } = await client.get(resource, object.name)
        const others = rivals(metadata.managedFields ?? [], fields, operator)
        if (others.length > 0) return others
      } catch {
        return []
      }
      await clock.sleep(lookMs)
    }
    return []
  }

  // ── who is concerned ───────────────────────────────────────────────────────────────────────────────────────

  /** Of a change, what this controller can see: somebody else's inputs are none of its business. */
  function seen(change: Change): Change {
    const { resource, before, after } = change
    if (coverage.isWhole(resource)) return change
    const shown = (object: KubeObject | undefined): KubeObject | undefined =>
      object && coverage.shows(resource, object, references) ? object : undefined
    return { resource, before: shown(before), after: shown(after) }
  }

  function readersOf(change: Change): Set<string> {
    const keys = new Set(table.concerned(change))
    for (const [key, { reads }] of reading) if (reads.some((read) => concerns(read, change))) keys.add(key)
    return keys
  }

  /** Those who asked for it by its name: where nothing is, nobody else can tell the difference. */
  function askersFor(resource: Resource, name: ObjectName): ReadonlySet<string> {
    const kindAsked = formatResource(resource)
    const asks = (read: Read): boolean =>
      read.what === 'object' &&
      formatResource(read.resource) === kindAsked &&
      read.name.name === name.name &&
      (read.name.namespace ?? '') === (name.namespace ?? '')
    const asking = [...reading].filter(([, { reads }]) => reads.some(asks)).map(([key]) => key)
    return new Set([...table.askedByName(resource, name), ...asking])
  }

  /** Everything is looked at once; what changes meanwhile goes before it. */
  function lookAtAll(cause: 'resync' | 'change'): void {
    for (const cr of source.list(kind)) if (selects(own, cr, references)) lane.add(idOf(formatKey(cr)), cause)
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
        if (isOwn && after && before?.metadata.generation !== after.metadata.generation) {
          lane.release(idOf(key))
          troubles.released(idOf(key))
        }
        if (isOwn) keys.add(key)
      }
      if (except !== undefined) keys.delete(except)
      for (const key of keys) lane.add(idOf(key))
    },
    onNamed(reference, name, object) {
      if (!isStarted || !declared.some((other) => describeInput(other) === describeInput(reference))) return
      const { resource } = reference
      // What is seen anyway, or may be asked for anyway, has not changed.
      const isSeenAnyway = object
        ? coverage.shows(resource, object, references, reference)
        : coverage.mayGet(resource, name, references, reference)
      if (isSeenAnyway) return
      const change: Change = { resource, before: undefined, after: object }
      for (const key of object ? readersOf(change) : askersFor(resource, name)) lane.add(idOf(key))
    },
    onKind(resource) {
      const name = formatResource(resource)
      const isAsked = (read: Read): boolean => read.what === 'kind' && formatResource(read.resource) === name
      const asking = [...reading].filter(([, { reads }]) => reads.some(isAsked)).map(([key]) => key)
      // When its own kind is gone, so are the objects that it knew.
      const known = name === kindName ? memories.keys() : []
      for (const key of [...table.askedFor(resource), ...asking, ...known]) lane.add(idOf(key))
    },
    onLoaded() {
      const due = [...waiting]
      waiting.clear()
      for (const key of due) lane.add(idOf(key))
    },
    onWriteFinding: ({ kind: what, message }, { key }) => note({ kind: what, message, ...about(key) }),
  }
  return reconciler
}

/** The CR as a run knows it: as it was read, and as its own writes left it. */
interface Known {
  version: string | undefined
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
