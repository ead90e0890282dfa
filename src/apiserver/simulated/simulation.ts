/**
 * Simulated workloads: what a cluster has beside its API server, so that what is asked for in it comes to life. Nodes,
 * a scheduler, kubelets and the controllers of the built-in workloads, all on the cluster's clock and chance. No
 * container runs; pods do what their annotations say (see README.md).
 *
 *     const server = createApiServer({ clock, workloads: simulatedWorkloads({ nodes: [{ name: 'node-1' }] }) })
 */
import type { Timer } from '../../clock/clock.ts'
import type { Workloads } from '../server/api-server.ts'
import type { Identity } from '../access/identity.ts'
import { StatusError } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject } from '../storage/storage.ts'
import { indexCluster, type StoredIn, type TableName } from './cluster.ts'
import type { SimulatedController, Tools } from './controller.ts'
import { cronJobController } from './cron-job.ts'
import { daemonSetController } from './daemon-set.ts'
import { deploymentController } from './deployment.ts'
import { disruptionBudgetController } from './disruption-budget.ts'
import { attributesClassProtection } from './attributes-class-protection.ts'
import { endpointMirror } from './endpoint-mirror.ts'
import { endpointSliceController } from './endpoint-slices.ts'
import { endpointsController } from './endpoints.ts'
import { jobController } from './job.ts'
import { trackedPodController } from './job-tracking.ts'
import { statefulSetController } from './stateful-set.ts'
import { volumeBinder } from './volume-binder.ts'
import { componentIdentity, controllerIdentity, createHand } from './object-writer.ts'
import { kubelet } from './kubelet.ts'
import { keepLeases, nodeController, type SimulatedNode } from './node-fleet.ts'
import { nodeLifecycle } from './node-lifecycle.ts'
import { createRecorder } from './recorder.ts'
import { replicaController } from './replica-set.ts'
import { scheduler } from './scheduler.ts'
import type { Pace } from '../kinds/pod-script.ts'
import { createWorkQueue, type WorkQueue } from './work-queue.ts'

export interface SimulatedWorkloadsOptions extends Partial<Pace> {
  /** Nodes that are there from the start; others may be created and deleted like any object. @default three */
  readonly nodes?: readonly SimulatedNode[] | undefined
  /** Told of failures that are the simulation's own, not an answer of the server. @default nobody */
  readonly report?: ((error: unknown) => void) | undefined
}

/** As the option `workloads` of a server takes it. */
export function simulatedWorkloads(options: SimulatedWorkloadsOptions = {}): Workloads {
  return (state) => simulate(state, options)
}

export function simulatedNodes(count: number): readonly SimulatedNode[] {
  return Array.from({ length: count }, (_, index) => ({ name: `node-${index + 1}` }))
}

/** Controllers look at what others changed when the dust has settled. */
const settleMs = 20

/** A disk that is full may have room a little later. */
const retryMs = 5000

function simulate(state: ClusterState, options: SimulatedWorkloadsOptions): { stop(): void } {
  const { nodes = simulatedNodes(3), report } = options
  const pace: Pace = {
    startSeconds: options.startSeconds ?? 1,
    stopSeconds: options.stopSeconds ?? 1,
    taskSeconds: options.taskSeconds ?? 5,
  }
  const cluster = indexCluster(state)
  const tools = (manager: string, user: Identity, speaker: string): Tools => {
    const hand = createHand(state, manager, user)
    return { cluster, hand, record: createRecorder(cluster, hand, speaker) }
  }
  const ofController = (name: string, speaker = name): Tools =>
    tools('kube-controller-manager', controllerIdentity(name), speaker)
  const ofNodes = tools('kubelet', componentIdentity('system:node:simulated', 'system:nodes'), 'kubelet')
  const ofScheduler = tools('kube-scheduler', componentIdentity('system:kube-scheduler'), 'default-scheduler')
  const controllers: readonly SimulatedController[] = [
    nodeController(ofNodes, nodes),
    nodeLifecycle(ofController('node-controller')),
    deploymentController(ofController('deployment-controller')),
    replicaController(ofController('replicaset-controller'), 'replicasets.apps'),
    replicaController(ofController('replication-controller'), 'replicationcontrollers'),
    statefulSetController(ofController('statefulset-controller')),
    daemonSetController(ofController('daemon-set-controller', 'daemonset-controller')),
    jobController(ofController('job-controller')),
    trackedPodController(ofController('job-controller')),
    cronJobController(ofController('cronjob-controller')),
    endpointsController(ofController('endpoint-controller')),
    endpointSliceController(ofController('endpointslice-controller')),
    endpointMirror(ofController('endpointslicemirroring-controller')),
    disruptionBudgetController(ofController('disruption-controller')),
    volumeBinder(ofController('persistent-volume-binder')),
    attributesClassProtection(ofController('volumeattributesclass-protection-controller')),
    scheduler(ofScheduler),
    kubelet(ofNodes, pace),
  ]
  const running = controllers.map((controller) => run(state, controller, report))
  let isStopped = false
  let retry: Timer | undefined
  const startOver = (): void => {
    retry = undefined
    if (!isStopped) for (const one of running) one.startAll()
  }
  state.storage.onChange(({ name }, change) => {
    if (isStopped) return
    cluster.follow(name, change)
    // What could not be kept is tried again, but not in the same breath.
    if (change.isUndoing) retry ??= state.clock.after(retryMs, startOver)
    else for (const one of running) one.follow(name, change)
  })
  for (const one of running) one.startAll()
  const stopLeases = keepLeases(state, cluster)
  return {
    stop() {
      isStopped = true
      stopLeases()
      retry?.cancel()
      for (const { queue } of running) queue.stop()
    },
  }
}

interface Running {
  readonly queue: WorkQueue
  follow(table: string, change: StorageChange): void
  /** All that is there already. */
  startAll(): void
}

function run(
  state: ClusterState,
  controller: SimulatedController,
  report: SimulatedWorkloadsOptions['report'],
): Running {
  const { clock, storage } = state
  const queue = createWorkQueue({
    clock,
    workers: controller.workers,
    reconcile: (key) => controller.reconcile(key),
    failed(_key, error) {
      if (!(error instanceof StatusError)) report?.(error)
    },
  })
  const tables = new Set<string>([...Object.keys(controller.own ?? {}), ...Object.keys(controller.others ?? {})])
  const tell = (table: string, object: StoredObject): void => {
    const own = controller.own?.[table as TableName] as ((one: StoredIn<TableName>) => Iterable<string>) | undefined
    const others = controller.others?.[table as TableName] as typeof own
    for (const key of own?.(object as never) ?? []) queue.add(key)
    for (const key of others?.(object as never) ?? []) queue.add(key, settleMs)
  }
  /** Who wrote an object must not suffer for what a controller makes of it. */
  const safely = (table: string, object: StoredObject, { previous, isGone }: Before): void => {
    if (!controller.follow && !tables.has(table)) return
    try {
      controller.follow?.(table, isGone ? undefined : object, previous)
      if (previous) tell(table, previous)
      tell(table, object)
    } catch (error) {
      report?.(error)
    }
  }
  return {
    queue,
    follow: (table, { object, previous, type }) => safely(table, object, { previous, isGone: type === 'DELETED' }),
    startAll() {
      for (const key of controller.first ?? []) queue.add(key)
      for (const table of tables) {
        for (const object of storage.table(table).objects())
          safely(table, object, { previous: undefined, isGone: false })
      }
    },
  }
}

interface Before {
  readonly previous: StoredObject | undefined
  readonly isGone: boolean
}
