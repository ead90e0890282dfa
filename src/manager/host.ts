/**
 * A host runs one operator on one cluster: it subscribes to what the operator declares, wakes its controllers for what
 * they read, drives each reconcile to its end and keeps what is to be remembered.
 */
import { systemClock } from '../clock/system-clock.ts'
import type { Clock } from '../clock/clock.ts'
import type { Client } from '../client/client.ts'
import type { SharedCache } from '../cache/shared-cache.ts'
import type { CacheEvent, Subscription } from '../cache/subscription.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { JsonObject } from '../kube/json.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import { type EventDraft, eventsOf, type Ledger, logLine } from '../operator/ledger.ts'
import type { Live } from '../operator/live.ts'
import type { Controller } from '../operator/controller.ts'
import type { Operator } from '../operator/operator.ts'
import { nameOf, type Outcome, type Wave } from '../operator/plan.ts'
import { type Memory, noMemory, type Situation } from '../operator/reconcile.ts'
import { type Change, concerns, openView, type Read, type RecordedView, type ViewSource } from '../operator/view.ts'
import { createDispatchTable, type DispatchTable } from './dispatch-table.ts'
import { drive, type Drive } from './drive.ts'
import { createEventRecorder } from './event-recorder.ts'
import { createExecutor, type Execute, openRun, type Run } from './executor.ts'
import { type Conflict, describeFinding, type Finding, type HotLoop } from './findings/finding.ts'
import { noRepetition, noteLedger, type Repetition } from './findings/repetition.ts'
import { rivals } from './findings/rivals.ts'
import { isPausedObject } from './paused.ts'
import { createLive } from './live-calls.ts'
import type { Metrics } from './metrics.ts'
import { createServedKinds, type ServedKinds } from './served-kinds.ts'
import type { Webhooks } from './webhooks/webhooks.ts'
import { createScheduler, type GateOptions, type Lane, openGates, type Scheduler } from './scheduler.ts'

export interface HostOptions {
  readonly operator: Operator
  readonly client: Client
  readonly cache: SharedCache
  readonly clock?: Clock
  /** As the operator's own `config` declares it. @default its defaults */
  readonly config?: Readonly<Record<string, unknown>>
  /** @default all */
  readonly namespaces?: readonly string[]
  /** Reconciles at once, where there is no `schedule`. @default 8 */
  readonly concurrency?: number
  /** Who decides when it runs, and its gates there. @default nobody but itself */
  readonly schedule?: { readonly scheduler: Scheduler; readonly gates: GateOptions }
  /** One line for each reconcile that did something, and for each that failed. @default silent */
  readonly log?: (line: JsonObject) => void
  /** Who serves the operator's webhooks and conversions. Without it, nobody asks them, and that is logged. */
  readonly webhooks?: Pick<Webhooks, 'set' | 'settled' | 'delete'>
  /** Where reconciles are counted. */
  readonly metrics?: Metrics
  /** What it does wrong, or what is done to it. It is slowed down by then. */
  readonly onFinding?: (finding: Finding) => void
  /** Everything about each reconcile. */
  readonly onLedger?: (ledger: Ledger) => void
  readonly live?: Live
  /** Where its reconciles run: a `Runner`'s `run`. @default in this thread */
  readonly run?: Drive
  /** The longest that one write may take. @default the client's */
  readonly writeTimeoutMs?: number
}

export interface Host {
  /** Resolves when all caches are filled and the first reconciles are under way. */
  start(): Promise<void>
  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void>
  /** Lets what is under way finish, then lets go of the caches. */
  stop(): Promise<void>
}

export function hostOperator(options: HostOptions): Host {
  const { operator, client, cache, clock = systemClock, namespaces, concurrency = 8, log = () => undefined } = options
  const settings = operator.config?.read(options.config ?? {}) ?? {}
  const consumer = operator.name
  const subscriptions = new Map<string, Subscription>()
  const served: ServedKinds = createServedKinds({
    client,
    cache,
    consumer,
    resources: operator.inputs,
    onChange: (resource) => change(resource),
  })
  /** Those of which everything is known. */
  const ready = new Map<string, Subscription>()
  const source = cacheSource(ready)
  const live = options.live ?? createLive({ client, clock })
  const telling = new Set<Promise<void>>()
  const recorder = createEventRecorder({
    client,
    clock,
    operator: operator.name,
    onProblem: (error) => log({ operator: operator.name, problem: 'an Event was not written', error: String(error) }),
  })
  const execute = createExecutor({
    writer: cache.writer(consumer),
    fieldManager: operator.name,
    outputs: operator.outputs,
    kinds: operator.controllers.map(({ kind }) => kind),
    ...(options.writeTimeoutMs !== undefined && { timeoutMs: options.writeTimeoutMs }),
    onSent: (changes) => lane.spend(changes),
    onFinding: ({ kind, message }, run) => {
      const { controller, key } = run ?? openRun('', '')
      const found: Finding = { kind, message, operator: operator.name, controller, key, at: clock.now() }
      log({ operator: operator.name, finding: found.kind, message: describeFinding(found) })
      options.metrics?.find(found)
      options.onFinding?.(found)
    },
  })
  const { scheduler, gates } = options.schedule ?? {
    scheduler: createScheduler({ clock, concurrency }),
    gates: { ...openGates, concurrency },
  }
  const lane = scheduler.join(operator.name, gates, async (id) => {
    const at = id.indexOf(' ')
    await byName.get(id.slice(0, at))?.work(id.slice(at + 1))
  })
  const runners = operator.controllers.map((controller) =>
    createRunner({
      operator,
      controller,
      source,
      clock,
      config: settings,
      live,
      execute,
      tellEvent,
      lane,
      options,
      log,
      // The cache is silent about what its consumer wrote itself; here there are many who share one name.
      onWritten: tell,
    }),
  )
  const byName = new Map(runners.map((runner) => [runner.name, runner]))

  function tell(told: Change, by?: { readonly runner: Runner; readonly key: string }): void {
    for (const runner of runners) runner.onChange(told, by?.runner === runner ? by.key : undefined)
  }

  /** Told to its end before this host stops. */
  function tellEvent(about: KubeObject, event: EventDraft): void {
    const told = recorder.record(about, event).finally(() => telling.delete(told))
    telling.add(told)
  }

  /** A kind came or went. */
  function change(resource: Resource): void {
    const name = formatResource(resource)
    if (served.serves(resource)) {
      open(resource).catch((error: unknown) => {
        log({ operator: operator.name, problem: `${name} cannot be watched`, error: describe(error) })
      })
      return
    }
    subscriptions.get(name)?.close()
    subscriptions.delete(name)
    ready.delete(name)
    for (const runner of runners) runner.kindChanged(resource)
  }

  /** A kind is served, as far as operators can tell, when all of its objects are known. */
  async function open(resource: Resource): Promise<void> {
    const name = formatResource(resource)
    if (subscriptions.has(name)) return
    const subscription = cache.subscribe(resource, {
      consumer,
      ...(namespaces && { namespaces }),
      onEvent: (event) => {
        if (ready.get(name) === subscription) tell(changeOf(resource, event))
      },
    })
    subscriptions.set(name, subscription)
    try {
      await subscription.synced()
    } catch (error) {
      // One that was closed meanwhile has nothing more to say.
      if (subscriptions.get(name) === subscription) throw error
    }
    if (subscriptions.get(name) !== subscription) return
    ready.set(name, subscription)
    for (const runner of runners) runner.kindChanged(resource)
    for (const object of subscription.list()) tell({ resource, before: undefined, after: object })
  }

  return {
    async start() {
      await serveWebhooks(options, log)
      await served.start()
      await Promise.all(operator.inputs.filter((resource) => served.serves(resource)).map(open))
      for (const runner of runners) runner.start()
    },
    idle: () => lane.idle(),
    async stop() {
      await lane.leave()
      await Promise.all(telling)
      served.stop()
      for (const subscription of subscriptions.values()) subscription.close()
    },
  }
}

/** Before anything is reconciled: what the operator would refuse is refused from the start. */
async function serveWebhooks({ operator, webhooks }: HostOptions, log: (line: JsonObject) => void): Promise<void> {
  if (operator.webhooks.length + operator.conversions.length === 0) return
  if (!webhooks) {
    log({ operator: operator.name, problem: 'it declares webhooks, and nobody serves them here' })
    return
  }
  webhooks.set(operator.name, operator)
  await webhooks.settled()
}

/** What the shared cache holds, as a view's source. A kind that is not served has no objects. */
function cacheSource(ready: ReadonlyMap<string, Subscription>): ViewSource {
  const of = (resource: Resource): Subscription | undefined => ready.get(formatResource(resource))
  return {
    get: (resource, name) => of(resource)?.get(name),
    list: (resource, namespace) => of(resource)?.list(namespace) ?? [],
    byOwner: (resource, uid) => of(resource)?.byOwner(uid) ?? [],
    serves: (resource) => of(resource) !== undefined,
  }
}

function changeOf(resource: Resource, event: CacheEvent): Change {
  const { object, type } = event
  if (type === 'deleted') return { resource, before: object, after: undefined }
  return { resource, before: type === 'updated' ? event.previous : undefined, after: object }
}

interface RunnerOptions {
  readonly operator: Operator
  readonly controller: Controller
  readonly source: ViewSource
  readonly clock: Clock
  readonly config: unknown
  readonly live: Live
  readonly execute: Execute
  readonly tellEvent: (about: KubeObject, event: EventDraft) => void
  readonly lane: Lane
  readonly options: HostOptions
  readonly log: (line: JsonObject) => void
  readonly onWritten: (change: Change, by: { readonly runner: Runner; readonly key: string }) => void
}

/** How often somebody who goes round in circles may try. */
const crawlMs = 60_000
/** How often, and how far apart, it is looked who changed it back. */
const mostLooks = 5
const lookMs = 1000

/** One controller at work. */
interface Runner {
  readonly name: string
  start(): void
  work(key: string): Promise<void>
  /** `except`: the key that made the change, and knows. */
  onChange(change: Change, except: string | undefined): void
  kindChanged(resource: Resource): void
}

function createRunner(at: RunnerOptions): Runner {
  const { operator, controller, source, clock, execute, tellEvent, lane, options, log } = at
  const { kind } = controller
  const kindName = formatResource(kind)
  const table: DispatchTable = createDispatchTable()
  const memories = new Map<string, Memory>()
  /** What is being read at this moment: of that the table knows nothing yet. */
  const reading = new Map<string, RecordedView>()
  const repetitions = new Map<string, Repetition>()
  let isStarted = false

  /** Keys of all controllers share the operator's lane. */
  const idOf = (key: string): string => `${controller.name} ${key}`

  async function work(key: string): Promise<void> {
    const cr = source.get(kind, parseKey(key))
    if (!cr) {
      memories.delete(key)
      repetitions.delete(key)
      table.forget(key)
      return
    }
    // Hands off: not even its status is written. Whoever takes the label away wakes it.
    if (isPausedObject(cr)) return
    const view = openView({
      source,
      reader: `${operator.name}, controller ${controller.name}`,
      inputs: controller.inputs,
    })
    reading.set(key, view)
    const run = openRun(controller.name, key)
    try {
      const situation = {
        operator: operator.name,
        controller,
        cr,
        view,
        clock,
        config: at.config,
        live: at.live,
        memory: memories.get(key) ?? noMemory,
      } as unknown as Situation<KubeObject>
      const { ledger, memory } = await (options.run ?? drive)(situation, (wave) => carryOut(wave, key, run))
      memories.set(key, memory)
      conclude(key, cr, ledger)
    } catch (error) {
      // The kit contains what authors do; this is the kit's own mistake, and must not stop the queue.
      log({ operator: operator.name, controller: controller.name, key, error: describe(error) })
      lane.addAfter(idOf(key), controller.backOff.mostMs)
    } finally {
      table.record(key, view.reads)
      reading.delete(key)
    }
  }

  async function carryOut(wave: Wave, key: string, run: Run): Promise<readonly Outcome[]> {
    const before = wave.map((mutation) => source.get(mutation.resource, nameOf(mutation)))
    const outcomes = await execute(wave, run)
    for (const [index, mutation] of wave.entries()) {
      const outcome = outcomes[index]
      if (outcome?.result !== 'done') continue
      const change = { resource: mutation.resource, before: before[index], after: outcome.object }
      const isSame = change.before?.metadata.resourceVersion === change.after?.metadata.resourceVersion
      if (!isSame) at.onWritten(change, { runner, key })
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
    lookForRepetition(key, cr, ledger)
    if (requeueAfterMs === undefined) return
    const isResync = !failure && requeueAfterMs === controller.options.resyncMs
    lane.addAfter(idOf(key), requeueAfterMs, isResync ? 'resync' : 'retry')
  }

  /** Who writes the same again and again is slowed to a crawl, until what it goes by changes. */
  function lookForRepetition(key: string, cr: KubeObject, ledger: Ledger): void {
    const { repetition, findings } = noteLedger(repetitions.get(key) ?? noRepetition, ledger)
    if (repetition.writes.size > 0) repetitions.set(key, repetition)
    else repetitions.delete(key)
    for (const finding of findings) {
      lane.hold(idOf(key), crawlMs)
      void report(finding, cr)
    }
  }

  async function report(finding: HotLoop | Conflict, cr: KubeObject): Promise<void> {
    const told = finding.kind === 'conflict' ? { ...finding, with: await rivalsOf(finding) } : finding
    const message = describeFinding(told)
    log({ operator: operator.name, finding: told.kind, message })
    tellEvent(cr, { type: 'Warning', reason: told.kind === 'conflict' ? 'Conflict' : 'HotLoop', message })
    options.metrics?.find(told)
    options.onFinding?.(told)
  }

  /**
   * Asked only when there is something to tell: caches keep no managers. Our last write took the fields from whoever had
   * them; now that we hold still, he has them again as soon as he has changed them back.
   */
  async function rivalsOf({ object, fields }: Conflict): Promise<readonly string[]> {
    const resource = controller.outputs.find((output) => object.kind.endsWith(` ${output.kind}`))
    if (!resource) return []
    for (let look = 0; look < mostLooks; look++) {
      try {
        const { metadata } = await options.client.get(resource, object.name)
        const found = rivals(metadata.managedFields ?? [], fields, operator.name)
        if (found.length > 0) return found
      } catch {
        return []
      }
      await clock.sleep(lookMs)
    }
    return []
  }

  const runner: Runner = {
    name: controller.name,
    work,
    start() {
      isStarted = true
      // Everything is looked at once; what changes meanwhile goes before it.
      for (const { metadata } of source.list(kind)) lane.add(idOf(formatKey(metadata)), 'resync')
    },
    onChange(change, except) {
      // What is there at the start is looked at when all of it is known.
      if (!isStarted) return
      const keys = new Set(table.concerned(change))
      const { before, after } = change
      const isOwn = formatResource(change.resource) === kindName
      if (isOwn && after && before?.metadata.generation !== after.metadata.generation)
        lane.release(idOf(formatKey(after.metadata)))
      for (const [key, { reads }] of reading) if (reads.some((read) => concerns(read, change))) keys.add(key)
      const object = change.after ?? change.before
      if (object && formatResource(change.resource) === kindName) keys.add(formatKey(object.metadata))
      if (except !== undefined) keys.delete(except)
      for (const key of keys) lane.add(idOf(key))
    },
    kindChanged(resource) {
      const name = formatResource(resource)
      const isAsked = (read: Read): boolean => read.what === 'kind' && formatResource(read.resource) === name
      const asking = [...reading].filter(([, { reads }]) => reads.some(isAsked)).map(([key]) => key)
      // When its own kind is gone, so are the objects that it knew.
      const own = name === kindName ? memories.keys() : []
      for (const key of [...table.askedFor(resource), ...asking, ...own]) lane.add(idOf(key))
    },
  }
  return runner
}

function formatKey({ namespace = '', name = '' }: UntypedObject['metadata']): string {
  return `${namespace}/${name}`
}

function parseKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash) || undefined, name: key.slice(slash + 1) }
}

function describe(error: unknown): string {
  return error instanceof MusterError || error instanceof Error ? error.message : String(error)
}
