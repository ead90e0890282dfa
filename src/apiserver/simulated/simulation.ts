/**
 * Simulated workloads: nodes, a scheduler, kubelets and the controllers of the built-in workloads, all on the cluster's
 * clock and random numbers. No container runs; pods do what their annotations say (see README.md).
 *
 *     const server = createApiServer({ clock, workloads: simulatedWorkloads({ nodes: [{ name: 'node-1' }] }) })
 */
import type { Timer } from '../../clock/clock.ts'
import type { Workloads } from '../server/api-server.ts'
import type { Identity } from '../access/identity.ts'
import { StatusError } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject } from '../storage/storage.ts'
import { indexCluster, type StoredIn, type TableName } from './controller/cluster.ts'
import type { SimulatedController, Tools } from './controller/controller.ts'
import { cronJobController } from './job/cron-job.ts'
import { daemonSetController } from './workload/daemon-set.ts'
import { deploymentController } from './workload/deployment.ts'
import { disruptionBudgetController } from './workload/disruption-budget.ts'
import { attributesClassProtection } from './storage/attributes-class-protection.ts'
import { endpointMirror } from './service/endpoint-mirror.ts'
import { endpointSliceController } from './service/endpoint-slices.ts'
import { endpointsController } from './service/endpoints.ts'
import { jobController } from './job/job.ts'
import { trackedPodController } from './job/job-tracking.ts'
import { statefulSetController } from './workload/stateful-set.ts'
import { volumeBinder } from './storage/volume-binder.ts'
import { componentIdentity, controllerIdentity, createObjectWriter } from './controller/object-writer.ts'
import { kubelet } from './node/kubelet.ts'
import { renewLeases, nodeController, type SimulatedNode } from './node/node-fleet.ts'
import { nodeLifecycle } from './node/node-lifecycle.ts'
import { createRecorder } from './controller/recorder.ts'
import { replicaController } from './workload/replica-set.ts'
import { scheduler } from './scheduler/scheduler.ts'
import type { Pace } from '../kinds/pod/pod-script.ts'
import { createWorkQueue, type WorkQueue } from './controller/work-queue.ts'

export interface SimulatedWorkloadsOptions extends Partial<Pace> {
  /** Initial nodes; others may be created and deleted like any object. @default three */
  readonly nodes?: readonly SimulatedNode[] | undefined
  /** Called with errors of the simulation itself, not with status errors of the server. @default ignored */
  readonly report?: ((error: unknown) => void) | undefined
}

/** The value of a server's option `workloads`. */
export function simulatedWorkloads(options: SimulatedWorkloadsOptions = {}): Workloads {
  return (state) => simulate(state, options)
}

export function simulatedNodes(count: number): readonly SimulatedNode[] {
  return Array.from({ length: count }, (_, index) => ({ name: `node-${index + 1}` }))
}

/**
 * Delay before a change of a secondary object is reconciled, so that changes in quick succession cause one reconcile.
 */
const batchMs = 20

/** Delay before a failed write to the journal is retried: a full disk may have room by then. */
const retryMs = 5000

function simulate(state: ClusterState, options: SimulatedWorkloadsOptions): { stop(): void } {
  const { nodes = simulatedNodes(3), report } = options
  const pace: Pace = {
    startSeconds: options.startSeconds ?? 1,
    stopSeconds: options.stopSeconds ?? 1,
    taskSeconds: options.taskSeconds ?? 5,
  }
  const cluster = indexCluster(state)
  const tools = (manager: string, user: Identity, source: string): Tools => {
    const writer = createObjectWriter(state, manager, user)
    return { cluster, writer, record: createRecorder(cluster, writer, source) }
  }
  const controllerTools = (name: string, source = name): Tools =>
    tools('kube-controller-manager', controllerIdentity(name), source)
  const kubeletTools = tools('kubelet', componentIdentity('system:node:simulated', 'system:nodes'), 'kubelet')
  const schedulerTools = tools('kube-scheduler', componentIdentity('system:kube-scheduler'), 'default-scheduler')
  const controllers: readonly SimulatedController[] = [
    nodeController(kubeletTools, nodes),
    nodeLifecycle(controllerTools('node-controller')),
    deploymentController(controllerTools('deployment-controller')),
    replicaController(controllerTools('replicaset-controller'), 'replicasets.apps'),
    replicaController(controllerTools('replication-controller'), 'replicationcontrollers'),
    statefulSetController(controllerTools('statefulset-controller')),
    daemonSetController(controllerTools('daemon-set-controller', 'daemonset-controller')),
    jobController(controllerTools('job-controller')),
    trackedPodController(controllerTools('job-controller')),
    cronJobController(controllerTools('cronjob-controller')),
    endpointsController(controllerTools('endpoint-controller')),
    endpointSliceController(controllerTools('endpointslice-controller')),
    endpointMirror(controllerTools('endpointslicemirroring-controller')),
    disruptionBudgetController(controllerTools('disruption-controller')),
    volumeBinder(controllerTools('persistent-volume-binder')),
    attributesClassProtection(controllerTools('volumeattributesclass-protection-controller')),
    scheduler(schedulerTools),
    kubelet(kubeletTools, pace),
  ]
  const running = controllers.map((controller) => run(state, controller, report))
  let isStopped = false
  let retry: Timer | undefined
  const requeueAll = (): void => {
    retry = undefined
    if (!isStopped) for (const one of running) one.startAll()
  }
  state.storage.onChange(({ name }, change) => {
    if (isStopped) return
    cluster.follow(name, change)
    // A write that the journal failed to store is retried, after a delay.
    if (change.isUndoing) retry ??= state.clock.after(retryMs, requeueAll)
    else for (const one of running) one.follow(name, change)
  })
  for (const one of running) one.startAll()
  const stopLeases = renewLeases(state, cluster)
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
  /** Queues all stored objects. */
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
  const enqueue = (table: string, object: StoredObject): void => {
    const own = controller.own?.[table as TableName] as ((one: StoredIn<TableName>) => Iterable<string>) | undefined
    const others = controller.others?.[table as TableName] as typeof own
    for (const key of own?.(object as never) ?? []) queue.add(key)
    for (const key of others?.(object as never) ?? []) queue.add(key, batchMs)
  }
  /** An error of a controller must not fail the request that changed the object. */
  const handle = (table: string, object: StoredObject, { previous, isGone }: ChangeDetails): void => {
    if (!controller.follow && !tables.has(table)) return
    try {
      controller.follow?.(table, isGone ? undefined : object, previous)
      if (previous) enqueue(table, previous)
      enqueue(table, object)
    } catch (error) {
      report?.(error)
    }
  }
  return {
    queue,
    follow: (table, { object, previous, type }) => handle(table, object, { previous, isGone: type === 'DELETED' }),
    startAll() {
      for (const key of controller.first ?? []) queue.add(key)
      for (const table of tables) {
        for (const object of storage.table(table).objects())
          handle(table, object, { previous: undefined, isGone: false })
      }
    },
  }
}

interface ChangeDetails {
  readonly previous: StoredObject | undefined
  readonly isGone: boolean
}
