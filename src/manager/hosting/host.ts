/**
 * A host runs one operator on one cluster. It puts together who takes in what the operator declares (`input-tracker.ts`), who
 * is concerned by it and works on it (`reconciler.ts`, one a controller), when (`scheduler.ts`), and who carries out
 * what they want (`executor.ts`).
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
import type { InputChange } from '../../operator/view.ts'
import { runReconcile, type RunReconcile } from '../run/run-reconcile.ts'
import { createEventRecorder } from '../run/event-recorder.ts'
import { createExecutor, type ExecutorOptions } from '../run/executor.ts'
import type { Finding } from '../findings/finding.ts'
import { createCausalityTracker, type CausalityTracker } from '../findings/causality-tracker.ts'
import { createFindingReporter } from '../findings/finding-reporter.ts'
import type { UnderWay } from '../observability/health.ts'
import { createInputTracker } from '../inputs/input-tracker.ts'
import { beginTerm, type Term } from '../leases/term.ts'
import { createLive } from '../run/live-calls.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Placement } from '../placement/placement.ts'
import { createReconciler, type Reconciler } from '../run/reconciler.ts'
import { createScheduler, type GateOptions, openGates, type Scheduler } from '../schedule/scheduler.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

export interface OperatorHostOptions {
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
  readonly log?: Log
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
  readonly run?: RunReconcile
  /** The longest that one write may take. @default the client's */
  readonly writeTimeoutMs?: number
  /** See `ExecutorOptions`. */
  readonly fieldValidation?: ExecutorOptions['fieldValidation']
  /** Shared with others who work on the same cluster. @default one of its own */
  readonly history?: CausalityTracker | undefined
  /** Nothing is written, told or called outside of it. Without it, it may always. */
  readonly term?: Term
  /** The clusters in their roles, for who says with each write which one it is for. @default the one, in all of them */
  readonly placement?: Placement
  /** A kubeconfig to the user-workload cluster, with a token of the operator's own account: for who goes there himself. */
  readonly kubeconfig?: () => Promise<string>
}

export interface OperatorHost {
  /** Resolves when all caches are filled and the first reconciles are under way. */
  start(): Promise<void>
  /** Resolves when nothing is waiting, under way or being loaded. */
  idle(): Promise<void>
  /** What is under way. */
  runs(): readonly UnderWay[]
  /**
   * Other settings or gates, without a restart: with new settings, everything is looked at again.
   * @throws InvalidConfig, and then nothing has changed
   */
  reconfigure(changes: Pick<OperatorHostOptions, 'config'> & { readonly gates?: GateOptions }): void
  /** Lets what is under way finish, then lets go of the caches. */
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
  const writer = cache.writer(operator.name)
  const telling = new Set<Promise<void>>()
  const recorder = createEventRecorder({
    client,
    clock,
    operator: operator.name,
    timeoutMs: options.writeTimeoutMs,
    onProblem: (error) => log({ operator: operator.name, problem: 'an Event was not written', error: String(error) }),
  })
  const mayWrite = (): boolean => !term || beginTerm(term)()
  /** Told to its end before this host stops. */
  const tellEvent = (about: KubeObject, event: EventDraft): void => {
    const isHeld = term ? beginTerm(term) : () => true
    if (!isHeld()) return
    const told = recorder.record(about, event, isHeld).finally(() => telling.delete(told))
    telling.add(told)
  }
  const { scheduler, gates } = options.schedule ?? {
    scheduler: createScheduler({ clock, concurrency }),
    gates: { ...openGates, concurrency },
  }
  const lane = scheduler.join(operator.name, gates, async (id) => {
    const { name, key } = parseId(id)
    await byName.get(name)?.work(key)
  })
  const history = options.history ?? createCausalityTracker(clock)
  const troubles = createFindingReporter({
    operator: operator.name,
    clock,
    writer,
    tellEvent,
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
    fieldManager: operator.name,
    outputs: operator.declaredOutputs,
    kinds: operator.controllers.map(({ kind }) => kind),
    ...(options.writeTimeoutMs !== undefined && { timeoutMs: options.writeTimeoutMs }),
    fieldValidation: options.fieldValidation,
    onSent: (changes) => lane.spend(changes),
    onFinding: (finding, run) => {
      if (run) byName.get(run.controller)?.onWriteFinding(finding, run)
    },
  })
  const intake = createInputTracker({
    operator,
    client,
    cache,
    namespaces,
    log,
    onChange: (change) => tell(change),
    onNamed: (...named) => {
      for (const reconciler of reconcilers) reconciler.onNamed(...named)
    },
    onKind: (resource) => {
      for (const reconciler of reconcilers) reconciler.onKind(resource)
    },
    onLoaded: () => {
      for (const reconciler of reconcilers) reconciler.onLoaded()
    },
  })
  const reconcilers = operator.controllers.map((controller) =>
    createReconciler({
      operator: operator.name,
      controller,
      client,
      intake,
      clock,
      config: () => settings,
      live,
      drive: options.run ?? runReconcile,
      term,
      execute,
      lane,
      troubles,
      history,
      tellEvent,
      log,
      metrics: options.metrics,
      onLedger: options.onLedger,
      // The cache is silent about what its consumer wrote itself; here there are many who share one name.
      onWritten: (change, by, key) => {
        intake.note(change)
        tell(change, by, key)
      },
    }),
  )
  const byName = new Map(reconcilers.map((reconciler) => [reconciler.name, reconciler]))

  function tell(change: InputChange, by?: Reconciler, key?: string): void {
    for (const reconciler of reconcilers) reconciler.onChange(change, by === reconciler ? key : undefined)
  }

  let isStopped = false
  return {
    async start() {
      await serveWebhooks(options, log)
      // Whoever was stopped meanwhile opens nothing more.
      if (isStopped) return
      await intake.start()
      if (isStopped) return
      for (const reconciler of reconcilers) reconciler.start()
    },
    async idle() {
      const isBusy = (): boolean => lane.state().waiting + lane.state().running > 0
      do {
        await intake.settled()
        await lane.idle()
        await intake.settled()
        await troubles.settled()
      } while (isBusy())
    },
    runs: () => lane.state().runs.map(({ key, since }) => ({ operator: operator.name, key: parseId(key).key, since })),
    reconfigure({ config, gates: others }) {
      if (config) {
        settings = operator.config?.read(config) ?? {}
        for (const reconciler of reconcilers) reconciler.restart()
      }
      if (others) lane.regate(others)
    },
    async stop() {
      isStopped = true
      await lane.leave()
      await troubles.settled()
      await Promise.all(telling)
      intake.stop()
    },
  }
}

/** Keys of all controllers share the operator's lane. */
function parseId(id: string): { readonly name: string; readonly key: string } {
  const at = id.indexOf(' ')
  return { name: id.slice(0, at), key: id.slice(at + 1) }
}

/** Before anything is reconciled: what the operator would refuse is refused from the start. */
async function serveWebhooks({ operator, webhooks }: OperatorHostOptions, log: Log): Promise<void> {
  if (operator.webhooks.length + operator.conversions.length === 0) return
  if (!webhooks) {
    log({ operator: operator.name, problem: 'it declares webhooks, and nobody serves them here' })
    return
  }
  webhooks.set(operator.name, operator)
  await webhooks.settled()
}
