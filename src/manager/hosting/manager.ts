/**
 * A manager: any number of operators on any number of clusters, with one shared cache per cluster and one scheduler for
 * all. Fifty operators that read the same kind cost one watch and one copy of each object. Each operator gets its share
 * of the workers and is rate limited. Operators can be added and removed while the others run.
 */
import { systemClock } from '../../clock/system-clock.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import { createSharedCache, type SharedCache } from '../../cache/shared-cache.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Operator } from '../../operator/operator.ts'
import type { PlacementRole } from '../../operator/placement-role.ts'
import { type Budget, createBudgetKeeper } from '../budgets/budget-keeper.ts'
import { countedCache, countedClient } from '../budgets/counted.ts'
import type { RunMeter } from '../run/run-meter.ts'
import type { UnderWay } from '../observability/health.ts'
import { type OperatorHost, hostOperator, type OperatorHostOptions } from './host.ts'
import { observeRuns } from './observed-runs.ts'
import { blockingOf } from '../findings/blocking.ts'
import { type Blocking, describeFinding, type OverBudget } from '../findings/finding.ts'
import { createCausalityTracker, type CausalityTracker } from '../findings/causality-tracker.ts'
import type { Cluster } from '../placement/cluster.ts'
import { defaultGates, type GateOptions } from '../gates/gate-options.ts'
import type { SchedulerLane, LaneObserver, LaneState, PauseReason } from '../schedule/lane.ts'
import { createScheduler } from '../schedule/scheduler.ts'
import { createTaskRunner } from '../tasks/task-runner.ts'
import { createThreadWatch } from '../threads/thread-watch.ts'
import type { HeartbeatTable } from '../threads/heartbeat-table.ts'

type Shared = Pick<OperatorHostOptions, 'log' | 'metrics' | 'webhooks' | 'onLedger' | 'onFinding' | 'live'>

export interface ManagerOptions extends Shared, Pick<OperatorHostOptions, 'tasks'> {
  readonly client: Client
  /** @default one of its own */
  readonly cache?: SharedCache
  readonly clock?: Clock
  /** Concurrent reconciles of all operators. @default 16 */
  readonly concurrency?: number
  /** Notified when keys are queued, started and finished: metrics. */
  readonly observer?: LaneObserver
  /** Measures each reconcile. @default none */
  readonly meter?: RunMeter | undefined
  /** Shared memory that names the code that holds this thread, for the watchdog's thread. */
  readonly heartbeats?: HeartbeatTable | undefined
}

/** How one operator is hosted. */
export interface HostedOptions
  extends
    Shared,
    Pick<
      OperatorHostOptions,
      'config' | 'namespaces' | 'run' | 'writeTimeoutMs' | 'fieldValidation' | 'term' | 'placement' | 'kubeconfig'
    > {
  /** Its name in this manager: one operator may serve several clusters. @default its own name */
  readonly as?: string
  /** @default the manager's */
  readonly cluster?: Pick<Cluster, 'client' | 'cache'>
  /** @default as `defaultGates` says */
  readonly gates?: Partial<GateOptions>
  /** Starts with filled caches and paused, for this reason. @default not paused */
  readonly paused?: PauseReason
  /** Hosts an operator that is not a set of controllers. @default `hostOperator` */
  readonly host?: (options: OperatorHostOptions) => OperatorHost
}

export interface Manager {
  /**
   * Resolves when its caches are filled. An operator that fails to start is removed again. @throws InvalidController
   * when the name is taken
   */
  add(operator: Operator, options?: HostedOptions): Promise<void>
  /** Waits for its reconciles in progress. Objects that it created stay. */
  remove(name: string): Promise<void>
  /** Starts no reconcile of this operator, or of any operator without a name, until it is resumed. */
  pause(name?: string, why?: PauseReason): void
  resume(name?: string, why?: PauseReason): void
  /** Replaces its gates; omitted ones are as in `defaultGates`. */
  regate(name: string, gates: Partial<GateOptions>): void
  /** Changes the number of concurrent reconciles of all operators. */
  resize(concurrency: number): void
  /** The reconciles in progress. */
  runs(): readonly UnderWay[]
  /** The state of each operator's lane. */
  lanes(): ReadonlyMap<string, LaneState>
  /** By their names in this manager. */
  operators(): ReadonlyMap<string, Operator>
  /** Resolves when no key is queued or running. */
  idle(): Promise<void>
  /** Resolves when it is idle and no task is under way. */
  atRest(): Promise<void>
  stop(): Promise<void>
}

interface Hosted {
  readonly operator: Operator
  readonly host: OperatorHost
  readonly lane: SchedulerLane
  readonly budget: Budget
  readonly webhooks: OperatorHostOptions['webhooks']
  /** Receives the operator's findings, metrics and ledgers in place of the manager's own observers. */
  readonly observers: Shared
}

export function createManager(options: ManagerOptions): Manager {
  const {
    client,
    clock = systemClock,
    concurrency = 16,
    cache: given,
    observer,
    meter,
    heartbeats,
    ...others
  } = options
  const cache = given ?? createSharedCache({ client, clock })
  const tasks = others.tasks ?? createTaskRunner({ clock })
  const shared = { ...others, tasks }
  const scheduler = createScheduler({ clock, concurrency, ...(observer && { observer }) })
  /** One tracker per shared cache. */
  const histories = new WeakMap<SharedCache, CausalityTracker>()
  const historyOf = (known: SharedCache): CausalityTracker => {
    const history = histories.get(known) ?? createCausalityTracker(clock)
    histories.set(known, history)
    return history
  }
  const hosted = new Map<string, Hosted>()
  /** Findings about an operator as a whole or about the shared thread, which its host does not know of. */
  const find = (finding: Blocking | OverBudget): void => {
    const { log, metrics, onFinding } = { ...shared, ...hosted.get(finding.operator)?.observers }
    log?.({ level: 'warn', msg: describeFinding(finding), operator: finding.operator, finding: finding.kind })
    metrics?.find(finding)
    onFinding?.(finding)
  }
  const budgets = createBudgetKeeper({ clock, onFinding: find })
  const thread = createThreadWatch({
    clock,
    heartbeats,
    onHeld: (held) => {
      const finding = blockingOf(held, clock.now())
      if (finding) find(finding)
    },
  })

  const observed = observeRuns({ clock, thread, meter })

  const isBusy = (): boolean => [...hosted.values()].some(({ lane }) => lane.state().waiting + lane.state().running > 0)

  const chosen = (name: string | undefined): readonly Hosted[] => {
    if (name === undefined) return [...hosted.values()]
    const one = hosted.get(name)
    if (!one) throw new MusterError(operatorErrors.InvalidController, `There is no operator ${name} here.`)
    return [one]
  }

  const manager: Manager = {
    async add(operator, hosting = {}) {
      const { as: name = operator.name, gates, cluster, placement, paused, ...rest } = hosting
      const { host: hostWith = hostOperator } = rest
      if (hosted.has(name))
        throw new MusterError(operatorErrors.InvalidController, `Operator ${name} is hosted already.`)
      const at = { client, cache, ...cluster }
      const lane = scheduler.openLane(name, { ...defaultGates, ...gates })
      if (paused) lane.pause(paused)
      const { name: consumer } = operator
      const budget = budgets.join({ operator: name, consumer, cache: at.cache, lane, budget: gates?.budget ?? {} })
      const onRequest = (): void => budget.request()
      const counted = (one: Pick<Cluster, 'client' | 'cache'>): Pick<Cluster, 'client' | 'cache'> => ({
        client: countedClient(one.client, onRequest),
        cache: countedCache(one.cache, onRequest),
      })
      const inRole = (role: PlacementRole): Cluster => ({ ...placement![role], ...counted(placement![role]) })
      const open = (): OperatorHost =>
        hostWith({
          ...shared,
          ...rest,
          ...counted(at),
          ...(placement && {
            placement: {
              configuration: inRole('configuration'),
              management: inRole('management'),
              userWorkload: inRole('userWorkload'),
            },
          }),
          observer: observed.of(name),
          history: historyOf(at.cache),
          clock,
          operator,
          lane,
        })
      let host: OperatorHost
      try {
        host = open()
      } catch (error) {
        budget.leave()
        await lane.leave()
        throw error
      }
      hosted.set(name, { operator, host, lane, budget, webhooks: rest.webhooks ?? shared.webhooks, observers: rest })
      try {
        await host.start()
      } catch (error) {
        // A failed start must not block the name: the operator may be added again.
        if (hosted.get(name)?.host === host) await manager.remove(name)
        throw error
      }
      // Memory cached during the start counts against the budget at once.
      budgets.look()
    },
    async remove(name) {
      const [one] = chosen(name)
      hosted.delete(name)
      one!.budget.leave()
      await one!.host.stop()
      await one!.webhooks?.delete(name)
    },
    pause(name, why) {
      for (const { lane } of chosen(name)) lane.pause(why)
    },
    resume(name, why) {
      for (const { lane } of chosen(name)) lane.resume(why)
    },
    regate(name, gates) {
      for (const { lane, budget } of chosen(name)) {
        lane.regate({ ...defaultGates, ...gates })
        budget.change(gates.budget ?? {})
      }
    },
    resize: (places) => scheduler.resize(places),
    runs: () => observed.runs(),
    lanes: () => new Map([...hosted].map(([name, { lane }]) => [name, lane.state()])),
    operators: () => new Map([...hosted].map(([name, { operator }]) => [name, operator])),
    async idle() {
      // One operator's writes may enqueue keys of another: repeat until all lanes are empty.
      while (isBusy()) await Promise.all([...hosted.values()].map(({ host }) => host.idle()))
    },
    async atRest() {
      const isWorking = (): boolean => tasks.state().queued + tasks.state().running > 0
      do {
        // The end of a task enqueues the keys that wait for it.
        await tasks.idle()
        await manager.idle()
      } while (isBusy() || isWorking())
    },
    async stop() {
      for (const { budget } of hosted.values()) budget.leave()
      await Promise.all([...hosted.values()].map(({ host }) => host.stop()))
      hosted.clear()
      if (!others.tasks) await tasks.close()
      if (!given) cache.close()
    },
  }
  return manager
}
