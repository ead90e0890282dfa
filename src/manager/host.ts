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
import { type Conclusion, type Memory, noMemory, reconcile, type Situation } from '../operator/reconcile.ts'
import { type Change, concerns, openView, type Read, type RecordedView, type ViewSource } from '../operator/view.ts'
import { createDispatchTable, type DispatchTable } from './dispatch-table.ts'
import { createEventRecorder } from './event-recorder.ts'
import { createExecutor, type Execute } from './executor.ts'
import { createLive } from './live-calls.ts'
import type { Metrics } from './metrics.ts'
import { createServedKinds, type ServedKinds } from './served-kinds.ts'
import type { Webhooks } from './webhooks/webhooks.ts'
import { createWorkQueue, type WorkQueue } from './work-queue.ts'

export interface HostOptions {
  readonly operator: Operator
  readonly client: Client
  readonly cache: SharedCache
  readonly clock?: Clock
  /** As the operator's own `config` declares it. @default its defaults */
  readonly config?: Readonly<Record<string, unknown>>
  /** @default all */
  readonly namespaces?: readonly string[]
  /** Reconciles at once, for each controller. @default 8 */
  readonly concurrency?: number
  /** One line for each reconcile that did something, and for each that failed. @default silent */
  readonly log?: (line: JsonObject) => void
  /** Who serves the operator's webhooks and conversions. Without it, nobody asks them, and that is logged. */
  readonly webhooks?: Pick<Webhooks, 'set' | 'settled' | 'delete'>
  /** Where reconciles are counted. */
  readonly metrics?: Metrics
  /** Everything about each reconcile. */
  readonly onLedger?: (ledger: Ledger) => void
  readonly live?: Live
  /** Where its reconciles run: a `Runner`'s `run`. @default in this thread */
  readonly run?: (situation: Situation<KubeObject>, execute: Execute) => Promise<Conclusion>
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
      concurrency,
      options,
      log,
      // The cache is silent about what its consumer wrote itself; here there are many who share one name.
      onWritten: tell,
    }),
  )

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
    async idle() {
      // One controller's writes may wake another.
      while (runners.some(({ queue }) => !queue.isIdle)) await Promise.all(runners.map(({ queue }) => queue.idle()))
    },
    async stop() {
      await Promise.all(runners.map(({ queue }) => queue.stop()))
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
  readonly concurrency: number
  readonly options: HostOptions
  readonly log: (line: JsonObject) => void
  readonly onWritten: (change: Change, by: { readonly runner: Runner; readonly key: string }) => void
}

/** One controller at work. */
interface Runner {
  readonly queue: WorkQueue
  start(): void
  /** `except`: the key that made the change, and knows. */
  onChange(change: Change, except: string | undefined): void
  kindChanged(resource: Resource): void
}

function createRunner(at: RunnerOptions): Runner {
  const { operator, controller, source, clock, execute, tellEvent, concurrency, options, log } = at
  const { kind } = controller
  const kindName = formatResource(kind)
  const table: DispatchTable = createDispatchTable()
  const memories = new Map<string, Memory>()
  /** What is being read at this moment: of that the table knows nothing yet. */
  const reading = new Map<string, RecordedView>()
  let isStarted = false

  const queue = createWorkQueue({ clock, concurrency, work })

  async function work(key: string): Promise<void> {
    const cr = source.get(kind, parseKey(key))
    if (!cr) {
      memories.delete(key)
      table.forget(key)
      return
    }
    const view = openView({
      source,
      reader: `${operator.name}, controller ${controller.name}`,
      inputs: controller.inputs,
    })
    reading.set(key, view)
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
      const { ledger, memory } = await (options.run ?? drive)(situation, (wave) => carryOut(wave, key))
      memories.set(key, memory)
      conclude(key, cr, ledger)
    } catch (error) {
      // The kit contains what authors do; this is the kit's own mistake, and must not stop the queue.
      log({ operator: operator.name, controller: controller.name, key, error: describe(error) })
      queue.addAfter(key, controller.backOff.mostMs)
    } finally {
      table.record(key, view.reads)
      reading.delete(key)
    }
  }

  async function carryOut(wave: Wave, key: string): Promise<readonly Outcome[]> {
    const before = wave.map((mutation) => source.get(mutation.resource, nameOf(mutation)))
    const outcomes = await execute(wave)
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
    if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs)
  }

  const runner: Runner = {
    queue,
    start() {
      isStarted = true
      for (const { metadata } of source.list(kind)) queue.add(formatKey(metadata))
    },
    onChange(change, except) {
      // What is there at the start is looked at when all of it is known.
      if (!isStarted) return
      const keys = new Set(table.concerned(change))
      for (const [key, { reads }] of reading) if (reads.some((read) => concerns(read, change))) keys.add(key)
      const object = change.after ?? change.before
      if (object && formatResource(change.resource) === kindName) keys.add(formatKey(object.metadata))
      if (except !== undefined) keys.delete(except)
      for (const key of keys) queue.add(key)
    },
    kindChanged(resource) {
      const name = formatResource(resource)
      const isAsked = (read: Read): boolean => read.what === 'kind' && formatResource(read.resource) === name
      const asking = [...reading].filter(([, { reads }]) => reads.some(isAsked)).map(([key]) => key)
      // When its own kind is gone, so are the objects that it knew.
      const own = name === kindName ? memories.keys() : []
      for (const key of [...table.askedFor(resource), ...asking, ...own]) queue.add(key)
    },
  }
  return runner
}

/** Runs a reconcile to its end. */
export async function drive<CR extends KubeObject>(situation: Situation<CR>, execute: Execute): Promise<Conclusion> {
  const walk = reconcile(situation)
  let step = await walk.next([])
  while (!step.done) step = await walk.next(await execute(step.value))
  return step.value
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
