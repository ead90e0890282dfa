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
import { eventsOf, type Ledger, logLine } from '../operator/ledger.ts'
import type { Live } from '../operator/live.ts'
import type { Controller } from '../operator/controller.ts'
import type { Operator } from '../operator/operator.ts'
import { type Conclusion, type Memory, noMemory, reconcile, type Situation } from '../operator/reconcile.ts'
import { openView, type ViewSource } from '../operator/view.ts'
import { createDispatchTable, type DispatchTable } from './dispatch-table.ts'
import { createEventRecorder, type EventRecorder } from './event-recorder.ts'
import { createExecutor, type Execute } from './executor.ts'
import { createLive } from './live-calls.ts'
import type { Metrics } from './metrics.ts'
import { createServedKinds, type ServedKinds } from './served-kinds.ts'
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
  /** Where reconciles are counted. */
  readonly metrics?: Metrics
  /** Everything about each reconcile. */
  readonly onLedger?: (ledger: Ledger) => void
  readonly live?: Live
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
  const source = cacheSource(subscriptions, served)
  const live = options.live ?? createLive({ client, clock })
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
      recorder,
      concurrency,
      options,
      log,
    }),
  )

  /** A kind came or went. */
  function change(resource: Resource): void {
    if (served.serves(resource)) subscribe(resource)
    for (const runner of runners) runner.kindChanged(resource)
  }

  function subscribe(resource: Resource): void {
    const name = formatResource(resource)
    if (subscriptions.has(name)) return
    const subscription = cache.subscribe(resource, {
      consumer,
      ...(namespaces && { namespaces }),
      onEvent: (event) => {
        for (const runner of runners) runner.onEvent(resource, event)
      },
    })
    subscriptions.set(name, subscription)
  }

  return {
    async start() {
      await served.start()
      for (const resource of operator.inputs) if (served.serves(resource)) subscribe(resource)
      await Promise.all([...subscriptions.values()].map((subscription) => subscription.synced()))
      for (const runner of runners) runner.start()
    },
    async idle() {
      // One controller's writes may wake another.
      while (runners.some(({ queue }) => !queue.isIdle)) await Promise.all(runners.map(({ queue }) => queue.idle()))
    },
    async stop() {
      await Promise.all(runners.map(({ queue }) => queue.stop()))
      served.stop()
      for (const subscription of subscriptions.values()) subscription.close()
    },
  }
}

/** What the shared cache holds, as a view's source. A kind that is not served has no objects. */
function cacheSource(subscriptions: ReadonlyMap<string, Subscription>, served: ServedKinds): ViewSource {
  const of = (resource: Resource): Subscription | undefined => subscriptions.get(formatResource(resource))
  return {
    get: (resource, name) => of(resource)?.get(name),
    list: (resource, namespace) => of(resource)?.list(namespace) ?? [],
    byOwner: (resource, uid) => of(resource)?.byOwner(uid) ?? [],
    serves: (resource) => served.serves(resource),
  }
}

interface RunnerOptions {
  readonly operator: Operator
  readonly controller: Controller
  readonly source: ViewSource
  readonly clock: Clock
  readonly config: unknown
  readonly live: Live
  readonly execute: Execute
  readonly recorder: EventRecorder
  readonly concurrency: number
  readonly options: HostOptions
  readonly log: (line: JsonObject) => void
}

/** One controller at work. */
interface Runner {
  readonly queue: WorkQueue
  start(): void
  onEvent(resource: Resource, event: CacheEvent): void
  kindChanged(resource: Resource): void
}

function createRunner(at: RunnerOptions): Runner {
  const { operator, controller, source, clock, execute, recorder, concurrency, options, log } = at
  const { kind } = controller
  const kindName = formatResource(kind)
  const table: DispatchTable = createDispatchTable()
  const memories = new Map<string, Memory>()
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
      const { ledger, memory } = await drive(situation, execute)
      memories.set(key, memory)
      conclude(key, cr, ledger)
    } catch (error) {
      // The kit contains what authors do; this is the kit's own mistake, and must not stop the queue.
      log({ operator: operator.name, controller: controller.name, key, error: describe(error) })
      queue.addAfter(key, controller.backOff.mostMs)
    } finally {
      table.record(key, view.reads)
    }
  }

  function conclude(key: string, cr: KubeObject, ledger: Ledger): void {
    const { requeueAfterMs, failure } = ledger
    options.onLedger?.(ledger)
    options.metrics?.count(ledger, clock.now() - ledger.startedAt)
    const line = logLine(ledger)
    if (failure?.retry !== 'conflict' && (failure || 'done' in line)) log(line)
    for (const event of eventsOf(ledger)) void recorder.record(cr, event)
    if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs)
  }

  return {
    queue,
    start() {
      isStarted = true
      for (const { metadata } of source.list(kind)) queue.add(formatKey(metadata))
    },
    onEvent(resource, event) {
      // What is there at the start is looked at when all of it is known.
      if (!isStarted) return
      const before = event.type === 'updated' ? event.previous : event.type === 'deleted' ? event.object : undefined
      const after = event.type === 'deleted' ? undefined : event.object
      const { metadata } = event.object
      if (formatResource(resource) === kindName) queue.add(formatKey(metadata))
      for (const key of table.concerned({ resource, before, after })) queue.add(key)
    },
    kindChanged(resource) {
      for (const key of table.askedFor(resource)) queue.add(key)
    },
  }
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
