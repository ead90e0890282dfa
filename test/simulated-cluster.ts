/** An embedded cluster with simulated workloads, in virtual time, for tests. */
import { createApiServer } from '../src/apiserver/server/api-server.ts'
import { simulatedWorkloads, type SimulatedWorkloadsOptions } from '../src/apiserver/simulated/simulation.ts'
import type { ClusterState } from '../src/apiserver/cluster/state.ts'
import type { Client } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import { seededRandom } from '../src/clock/random.ts'
import { type VirtualClock, virtualClock } from '../src/clock/virtual-clock.ts'
import { clientErrors } from '../src/client/errors.ts'
import { isMusterError } from '../src/kube/muster-error.ts'
import type { Resource } from '../src/kube/kind.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import type { CronJob, Job } from '../src/kube/types/batch/v1.ts'
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../src/kube/types/apps/v1.ts'
import type {
  Endpoints,
  Event,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
} from '../src/kube/types/core/v1.ts'
import type { EndpointSlice } from '../src/kube/types/discovery/v1.ts'
import type { VolumeAttributesClass } from '../src/kube/types/storage/v1.ts'
import type { PodDisruptionBudget } from '../src/kube/types/policy/v1.ts'

interface Kinds {
  readonly CronJob: CronJob
  readonly DaemonSet: DaemonSet
  readonly Deployment: Deployment
  readonly EndpointSlice: EndpointSlice
  readonly Endpoints: Endpoints
  readonly Event: Event
  readonly Job: Job
  readonly Node: Node
  readonly PersistentVolume: PersistentVolume
  readonly PersistentVolumeClaim: PersistentVolumeClaim
  readonly Pod: Pod
  readonly PodDisruptionBudget: PodDisruptionBudget
  readonly PriorityClass: UntypedObject
  readonly ReplicaSet: ReplicaSet
  readonly ReplicationController: UntypedObject
  readonly Service: Service
  readonly StatefulSet: StatefulSet
  readonly VolumeAttributesClass: VolumeAttributesClass
}

const groups: Readonly<Record<keyof Kinds, readonly [group: string, plural: string]>> = {
  CronJob: ['batch', 'cronjobs'],
  DaemonSet: ['apps', 'daemonsets'],
  Deployment: ['apps', 'deployments'],
  EndpointSlice: ['discovery.k8s.io', 'endpointslices'],
  Endpoints: ['', 'endpoints'],
  Event: ['', 'events'],
  Job: ['batch', 'jobs'],
  Node: ['', 'nodes'],
  PersistentVolume: ['', 'persistentvolumes'],
  PersistentVolumeClaim: ['', 'persistentvolumeclaims'],
  Pod: ['', 'pods'],
  PodDisruptionBudget: ['policy', 'poddisruptionbudgets'],
  PriorityClass: ['scheduling.k8s.io', 'priorityclasses'],
  ReplicaSet: ['apps', 'replicasets'],
  ReplicationController: ['', 'replicationcontrollers'],
  Service: ['', 'services'],
  StatefulSet: ['apps', 'statefulsets'],
  VolumeAttributesClass: ['storage.k8s.io', 'volumeattributesclasses'],
}
const clusterScoped = new Set<string>(['Node', 'PersistentVolume', 'PriorityClass', 'VolumeAttributesClass'])

export interface SimulatedCluster {
  readonly clock: VirtualClock
  readonly client: Client
  readonly state: ClusterState
  /** Errors of the simulation itself: must stay empty. */
  readonly failures: readonly unknown[]
  seconds(count: number): Promise<void>
  create<K extends keyof Kinds>(kind: K, name: string, rest: object, metadata?: object): Promise<Kinds[K]>
  get<K extends keyof Kinds>(kind: K, name: string): Promise<Kinds[K]>
  find<K extends keyof Kinds>(kind: K, name: string): Promise<Kinds[K] | undefined>
  list<K extends keyof Kinds>(kind: K): Promise<readonly Kinds[K][]>
  merge<K extends keyof Kinds>(kind: K, name: string, patch: object, subresource?: string): Promise<Kinds[K]>
  remove(kind: keyof Kinds, name: string, options?: object): Promise<void>
  stop(): void
}

/** Resolves when its nodes are ready. */
export async function openSimulatedCluster(
  options: SimulatedWorkloadsOptions = {},
  seed = 7,
): Promise<SimulatedCluster> {
  const clock = virtualClock()
  const failures: unknown[] = []
  let state: ClusterState | undefined
  let running: { stop(): void } | undefined
  const start = simulatedWorkloads({ ...options, report: (error) => void failures.push(error) })
  const server = createApiServer({
    clock,
    random: seededRandom(seed),
    workloads: (cluster) => {
      state = cluster
      return (running = start(cluster))
    },
  })
  const client = createClient({ transport: inProcessTransport(server), clock, random: seededRandom(8) })
  await clock.advance(1000)
  const resourceOf = (kind: keyof Kinds): Resource => {
    const [group, plural] = groups[kind]
    return { group, version: 'v1', kind, plural, namespaced: !clusterScoped.has(kind) }
  }
  const at = (kind: keyof Kinds, name: string): { readonly namespace?: string; readonly name: string } =>
    clusterScoped.has(kind) ? { name } : { namespace: 'default', name }
  const cluster: SimulatedCluster = {
    clock,
    client,
    state: state!,
    failures,
    seconds: (count) => clock.advance(count * 1000),
    async create(kind, name, rest, metadata = {}) {
      const { group, version } = resourceOf(kind)
      const apiVersion = group === '' ? version : `${group}/${version}`
      const object = { apiVersion, kind, metadata: { ...at(kind, name), ...metadata }, ...rest }
      return (await client.create(resourceOf(kind), object)) as never
    },
    get: async (kind, name) => await client.get(resourceOf(kind), at(kind, name)),
    async find(kind, name) {
      try {
        return await cluster.get(kind, name)
      } catch (error) {
        if (isMusterError(error, clientErrors.NotFound)) return undefined
        throw error
      }
    },
    list: async (kind) => (await client.list(resourceOf(kind))).items as never,
    merge: async (kind, name, patch, subresource) =>
      await client.patch(resourceOf(kind), at(kind, name), patch, {
        type: 'merge',
        ...(subresource && { subresource }),
      }),
    async remove(kind, name, deletion = {}) {
      await client.delete(resourceOf(kind), at(kind, name), deletion)
    },
    stop: () => running!.stop(),
  }
  return cluster
}

/** A template with one container; `annotations` configure the simulation, without their prefix. */
export function template(
  script: Readonly<Record<string, string>> = {},
  { requests, ...spec }: Readonly<Record<string, unknown>> = {},
  labels: Readonly<Record<string, string>> = { app: 'web' },
): object {
  const annotations = Object.fromEntries(
    Object.entries(script).map(([word, value]) => [`simulated.muster.dev/${word}`, value]),
  )
  const container = {
    name: 'main',
    image: 'example.com/web:1',
    ...(requests !== undefined && { resources: { requests } }),
  }
  return {
    metadata: { labels, ...(Object.keys(annotations).length > 0 && { annotations }) },
    spec: { containers: [container], ...spec },
  }
}

export const webSelector: object = { matchLabels: { app: 'web' } }

/** `True MinimumReplicasAvailable`. */
export function condition(object: object, type: string): string | undefined {
  const { status } = object as {
    readonly status?: { readonly conditions?: readonly { type: string; status: string; reason?: string }[] }
  }
  const found = status?.conditions?.find((one) => one.type === type)
  return found && [found.status, found.reason].filter(Boolean).join(' ')
}
