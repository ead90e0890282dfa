/**
 * Runs one operator on one cluster. The host wires together, for each controller, an input tracker
 * (`input-tracker.ts`: watches what the controller declares) and a reconciler (`reconciler.ts`); and for all of them the
 * lane (`lane.ts`: when each key runs) and the executor (`executor.ts`: sends the writes of a plan).
 */
import { systemClock } from '../../clock/system-clock.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Log } from '../logging/log-line.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { EventDraft, Ledger } from '../../operator/ledger.ts'
import type { Live } from '../../operator/live.ts'
import type { Operator } from '../../operator/operator.ts'
import { runReconcile, type RunReconcile } from '../run/run-reconcile.ts'
import { noObserver, type RunObserver } from '../run/run-observer.ts'
import { createEventRecorder } from '../run/event-recorder.ts'
import { createExecutor, type ExecutorOptions } from '../run/executor.ts'
import { describeFinding, type Finding } from '../findings/finding.ts'
import { createCausalityTracker, type CausalityTracker } from '../findings/causality-tracker.ts'
import { createFindingReporter } from '../findings/finding-reporter.ts'
import type { UnderWay } from '../observability/health.ts'
import { createCoordinators } from '../coordinators/coordinators.ts'
import { createHeldTracker } from '../inputs/held-tracker.ts'
import { createInputTracker } from '../inputs/input-tracker.ts'
import { beginTerm, type Term } from '../leases/term.ts'
import { impersonationOf } from '../run/identity.ts'
import { createLive } from '../run/live-calls.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Placement } from '../placement/placement.ts'
import { createReconciler, type Reconciler } from '../run/reconciler.ts'
import { type GateOptions, openGates } from '../gates/gate-options.ts'
import type { SchedulerLane } from '../schedule/lane.ts'
import { createScheduler } from '../schedule/scheduler.ts'
import { createTaskRunner, type TaskRunner } from '../tasks/task-runner.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

export interface OperatorHostOptions {
  readonly operator: Operator
  readonly client: Client
  readonly cache: SharedCache
  readonly clock?: Clock
  /** Values for the `config` that the operator declares. @default its defaults */
  readonly config?: Readonly<Record<string, unknown>>
  /** Namespaces that the operator watches. @default all */
  readonly namespaces?: readonly string[]
  /** Concurrent reconciles, where there is no `lane`. @default 8 */
  readonly concurrency?: number
  /** The operator's lane in a scheduler shared with other operators. @default one in a scheduler of its own */
  readonly lane?: SchedulerLane
  /** One line for each reconcile that did something, and for each that failed. @default silent */
  readonly log?: Log
  /** Serves the operator's webhooks and conversions. Without it they are not registered, and a warning is logged. */
  readonly webhooks?: Pick<Webhooks, 'set' | 'settled' | 'delete'>
  /** Where reconciles are counted. */
  readonly metrics?: Metrics
  /** Receives each finding: a hot loop, a conflict, an undeclared access. By then the key is already throttled. */
  readonly onFinding?: (finding: Finding) => void
  /** Receives the ledger of each reconcile. */
  readonly onLedger?: (ledger: Ledger) => void
  readonly live?: Live
  /** Works out the tasks of its controllers. @default a runner of its own */
  readonly tasks?: TaskRunner | undefined
  /** Where its reconciles run: a `Runner`'s `run`. @default in this thread */
  readonly run?: RunReconcile
  /** Observes its reconciles. @default none does */
  readonly observer?: RunObserver
  /** Time limit of one write. @default the client's */
  readonly writeTimeoutMs?: number
  /** See `ExecutorOptions`. */
  readonly fieldValidation?: ExecutorOptions['fieldValidation']
  /** Shared by all operators of one cluster. @default one of its own */
  readonly history?: CausalityTracker | undefined
  /** Fencing: no write, Event or live call leaves outside of this term. Without it, the operator may always write. */
  readonly term?: Term
  /**
   * The cluster of each role, for operators that address a role with each write. @default this cluster in every role
   */
  readonly placement?: Placement
  /**
   * A kubeconfig for the user-workload cluster, with a token of the operator's account: for operands that connect
   * there.
   */
  readonly kubeconfig?: () => Promise<string>
}

export interface OperatorHost {
  /** Resolves when all caches are filled and the first reconciles are under way. */
  start(): Promise<void>
  /** Resolves when no key is queued or running and no input is being loaded. */
  idle(): Promise<void>
  /** The reconciles in progress. */
  runs(): readonly UnderWay[]
  /**
   * Applies new configuration or gates without a restart. New configuration enqueues every CR.
   * @throws InvalidConfig, and then nothing has changed
   */
  reconfigure(changes: Pick<OperatorHostOptions, 'config'> & { readonly gates?: GateOptions }): void
  /** Waits for the reconciles in progress, then releases the caches. */
  stop(): Promise<void>
}

export function hostOperator(options: OperatorHostOptions): OperatorHost {
  const {
    term,
    operator,
    client,
    cache,
    clock = systemClock,
    namespaces,
    concurrency = 8,
    log = () => undefined,
  } = options
  let settings: unknown = operator.config?.read(options.config ?? {}) ?? {}
  const live = options.live ?? createLive({ client, clock })
  const tasks = options.tasks ?? createTaskRunner({ clock })
  const writer = cache.writer(operator.name)
  const pendingEvents = new Set<Promise<void>>()
  const recorder = createEventRecorder({
    client,
    clock,
    operator: operator.name,
    timeoutMs: options.writeTimeoutMs,
    onProblem: (error) =>
      log({ level: 'warn', msg: 'Event was not written', operator: operator.name, error: String(error) }),
  })
  const mayWrite = (): boolean => !term || beginTerm(term)()
  /** Records an Event; `stop` waits until it is written. */
  const recordEvent = (about: KubeObject, event: EventDraft): void => {
    const isHeld = term ? beginTerm(term) : () => true
    if (!isHeld()) return
    const reported = recorder.record(about, event, isHeld).finally(() => pendingEvents.delete(reported))
    pendingEvents.add(reported)
  }
  const lane =
    options.lane ?? createScheduler({ clock, concurrency }).openLane(operator.name, { ...openGates, concurrency })
  lane.serve(async (id, cause) => {
    const { name, key } = parseId(id)
    await byName.get(name)?.work(key, cause)
  })
  const history = options.history ?? createCausalityTracker(clock)
  const reporter = createFindingReporter({
    operator: operator.name,
    clock,
    writer,
    recordEvent,
    log,
    mayWrite,
    timeoutMs: options.writeTimeoutMs,
    onFinding: (finding) => {
      options.metrics?.find(finding)
      options.onFinding?.(finding)
    },
  })
  const execute = createExecutor({
    writer,
    reader: client,
    fieldManager: operator.name,
    outputs: operator.declaredOutputs,
    kinds: operator.controllers.map(({ kind }) => kind),
    embedded: operator.controllers.flatMap((controller) => controller.options.embeds?.label ?? []),
    ...(options.writeTimeoutMs !== undefined && { timeoutMs: options.writeTimeoutMs }),
    fieldValidation: options.fieldValidation,
    onSent: (changes) => lane.spend(changes),
  })
  const coordinators = createCoordinators({
    operator: operator.name,
    coordinators: operator.coordinators,
    client,
    cache,
    namespaces,
    clock,
    config: () => settings,
    history,
    log,
    onBatch: (name, changed, tookMs) => options.metrics?.coordinator(`${operator.name}/${name}`, changed, tookMs),
    holding: (name, step, work) => (options.observer ?? noObserver).holding(name, step, work),
    onProblem(name, message) {
      const at = clock.now()
      const finding: Finding = { kind: 'coordinator', operator: operator.name, controller: name, key: '', message, at }
      log({ level: 'error', msg: describeFinding(finding), operator: operator.name, finding: finding.kind })
      options.metrics?.find(finding)
      options.onFinding?.(finding)
    },
  })
  /** Each controller subscribes to its own inputs, and is notified of every write, by whichever controller. */
  const controllers = operator.controllers.map((controller) => {
    const inputs = createInputTracker({
      operator: { name: operator.name, inputs: controller.inputs, declaredInputs: controller.declaredInputs },
      client,
      cache,
      namespaces,
      log,
      ownWrites: true,
      onChange: (change) => reconciler.onChange(change),
      onNamed: (...named) => reconciler.onNamed(...named),
      onKind: (resource) => reconciler.onKind(resource),
      onLoaded: () => reconciler.onLoaded(),
    })
    const { embeds } = controller.options
    const held =
      embeds &&
      createHeldTracker({
        client,
        cache,
        consumer: operator.name,
        label: embeds.label,
        userOf: (account) => impersonationOf(account).user,
        onChange: (change, keys) => reconciler.onHeld(change, keys),
        onKind: (keys) => reconciler.onHeldKind(keys),
      })
    const reconciler: Reconciler = createReconciler({
      operator: operator.name,
      controller,
      client,
      inputs,
      held,
      clock,
      config: () => settings,
      live,
      tasks,
      decisions: coordinators.openReader(controller, (keys, why) => reconciler.onDecided(keys, why)),
      runReconcile: options.run ?? runReconcile,
      observer: options.observer,
      term,
      execute,
      lane,
      reporter,
      history,
      recordEvent,
      log,
      metrics: options.metrics,
      onLedger: options.onLedger,
    })
    return { inputs, held, reconciler }
  })
  const byName = new Map(controllers.map(({ reconciler }) => [reconciler.name, reconciler]))

  let isStopped = false
  return {
    async start() {
      await serveWebhooks(options, log)
      // `stop` may have been called meanwhile.
      if (isStopped) return
      // Coordinators first: their subscriptions are then served first, and have taken in a change before it enqueues a CR.
      await Promise.all([coordinators.start(), ...controllers.map(({ inputs }) => inputs.start())])
      if (isStopped) return
      for (const { reconciler } of controllers) reconciler.start()
    },
    async idle() {
      const isBusy = (): boolean => lane.state().waiting + lane.state().running > 0
      const loaded = async (): Promise<void> => {
        await Promise.all([coordinators.settled(), ...controllers.map(({ inputs }) => inputs.settled())])
      }
      do {
        await loaded()
        await lane.idle()
        await loaded()
        await reporter.settled()
      } while (isBusy())
    },
    runs: () => lane.state().runs.map(({ key, since }) => ({ operator: operator.name, key: parseId(key).key, since })),
    reconfigure({ config, gates: others }) {
      if (config) {
        settings = operator.config?.read(config) ?? {}
        coordinators.restart()
        for (const { reconciler } of controllers) reconciler.restart()
      }
      if (others) lane.regate(others)
    },
    async stop() {
      isStopped = true
      await lane.leave()
      await reporter.settled()
      await Promise.all(pendingEvents)
      coordinators.stop()
      for (const { inputs, held, reconciler } of controllers) {
        reconciler.stop()
        inputs.stop()
        held?.stop()
      }
      if (!options.tasks) await tasks.close()
    },
  }
}

/** All controllers of an operator share its lane: a lane key is `controller namespace/name`. */
function parseId(id: string): { readonly name: string; readonly key: string } {
  const at = id.indexOf(' ')
  return { name: id.slice(0, at), key: id.slice(at + 1) }
}

/** Before the first reconcile, so that admission covers every object from the start. */
async function serveWebhooks({ operator, webhooks }: OperatorHostOptions, log: Log): Promise<void> {
  if (operator.webhooks.length + operator.conversions.length === 0) return
  if (!webhooks) {
    log({ level: 'warn', msg: 'Operator declares webhooks, which are not served here', operator: operator.name })
    return
  }
  webhooks.set(operator.name, operator)
  await webhooks.settled()
}
