/**
 * Nodes and their leases. A Node is an object like any other: after a client creates one its kubelet registers and
 * becomes ready, after a client deletes it the machine is gone.
 *
 * Every node has a Lease as its heartbeat. It is renewed just before it would count as stale, and is the only object
 * that is written while nothing happens.
 */
import { formatMicroTime, formatTime } from '../../../kube/units/duration.ts'
import type { ManagedFieldsEntry } from '../../../kube/object.ts'
import type { Node, NodeCondition, NodeSpec } from '../../../kube/types/core/v1.ts'
import type { ClusterState } from '../../cluster/state.ts'
import { type SimulatedState, splitKey, type StoredIn } from '../controller/cluster.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'
import type { ObjectDraft } from '../controller/object-writer.ts'

export interface SimulatedNode {
  readonly name: string
  /** CPUs. @default "4" */
  readonly cpu?: string
  /** Memory. @default "16Gi" */
  readonly memory?: string
  /** Maximum number of pods. @default "110" */
  readonly pods?: string
  /** Extended resources: `nvidia.com/gpu`. */
  readonly resources?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: NodeSpec['taints']
}

/** A node with this annotation set to "true" is powered off. */
const downAnnotation = 'simulated.muster.dev/down'

export function isDown({ metadata }: Node): boolean {
  return metadata.annotations?.[downAnnotation] === 'true'
}

const leaseTable = 'leases.coordination.k8s.io'
export const leaseNamespace: string = 'kube-node-lease'
export const leaseSeconds: number = 40
/** No heartbeat is ever lost here, so one before the lease expires is enough. */
const renewMs = 30_000

function nodeOf({ name, cpu = '4', memory = '16Gi', pods = '110', ...node }: SimulatedNode): ObjectDraft<Node> {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { ...wellKnownLabels(name), ...node.labels } },
    spec: node.taints ? { taints: node.taints } : {},
    status: { capacity: { cpu, memory, pods, 'ephemeral-storage': '100Gi', ...node.resources } },
  }
}

export function nodeAddressOf(cluster: SimulatedState, name: string): string | undefined {
  return cluster.get('nodes', undefined, name)?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
}

/** The kubelet's side of a node: it registers the capacity, and reports that the node is ready. */
export function nodeController({ cluster, writer }: Tools, nodes: readonly SimulatedNode[]): SimulatedController {
  /** Nodes not created yet. A node that a client deletes later is not recreated. */
  const desired = new Map(nodes.map((node) => [node.name, node]))
  return {
    first: [...desired.keys()].map((name) => `/${name}`),
    // One at a time: no two nodes may get the same address.
    workers: 1,
    own: { nodes: ({ metadata }) => [`/${metadata.name}`] },
    async reconcile(key) {
      const { name } = splitKey(key)
      const plan = desired.get(name)
      if (plan && !cluster.get('nodes', undefined, name)) await writer.create('nodes', nodeOf(plan))
      desired.delete(name)
      const node = cluster.get('nodes', undefined, name)
      if (!node || isDown(node)) return undefined
      await ensureLease({ cluster, writer }, node)
      const named = await withWellKnownLabels({ writer }, node)
      await writer.updateStatus(
        'nodes',
        named,
        registered(named, cluster.now(), () => freeAddress(cluster)),
      )
      return undefined
    },
  }
}

function wellKnownLabels(name: string): Readonly<Record<string, string>> {
  return { 'kubernetes.io/arch': 'amd64', 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name }
}

async function withWellKnownLabels(
  { writer }: Pick<Tools, 'writer'>,
  node: StoredIn<'nodes'>,
): Promise<StoredIn<'nodes'>> {
  const desired = wellKnownLabels(node.metadata.name)
  const { labels = {} } = node.metadata
  if (Object.keys(desired).every((name) => Object.hasOwn(labels, name))) return node
  return await writer.update('nodes', { ...node, metadata: { ...node.metadata, labels: { ...desired, ...labels } } })
}

const healthy: readonly NodeCondition[] = [
  {
    type: 'MemoryPressure',
    status: 'False',
    reason: 'KubeletHasSufficientMemory',
    message: 'kubelet has sufficient memory available',
  },
  {
    type: 'DiskPressure',
    status: 'False',
    reason: 'KubeletHasNoDiskPressure',
    message: 'kubelet has no disk pressure',
  },
  {
    type: 'PIDPressure',
    status: 'False',
    reason: 'KubeletHasSufficientPID',
    message: 'kubelet has sufficient PID available',
  },
  { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' },
]

/** The status that the kubelet reports. Conditions that another client wrote (a pressure, a custom condition) stay. */
function registered(node: StoredIn<'nodes'>, now: number, address: () => string): object {
  const { status = {} } = node
  const time = formatTime(now)
  const known = status.conditions ?? []
  const isOwn = (type: string): boolean => healthy.some((condition) => condition.type === type)
  const conditions = healthy.map((condition) => {
    const before = known.find(({ type }) => type === condition.type)
    return reported(before, condition, time)
  })
  const capacity = status.capacity ?? { cpu: '4', memory: '16Gi', pods: '110' }
  return {
    ...status,
    capacity,
    allocatable: status.allocatable ?? capacity,
    conditions: [...conditions, ...known.filter(({ type }) => !isOwn(type))],
    addresses: status.addresses ?? [
      { type: 'InternalIP', address: address() },
      { type: 'Hostname', address: node.metadata.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: status.daemonEndpoints?.kubeletEndpoint?.Port || 10_250 } },
    nodeInfo: status.nodeInfo?.kubeletVersion ? status.nodeInfo : machine(node.metadata.uid),
  }
}

/**
 * A pressure or unreadiness that another client wrote is a deliberate test and stays; conditions lost by a power-off
 * are restored.
 */
function reported(before: NodeCondition | undefined, condition: NodeCondition, time: string): NodeCondition {
  if (before && before.reason !== 'NodeStatusUnknown') return before
  return { ...condition, lastHeartbeatTime: time, lastTransitionTime: time }
}

function machine(uid: string): object {
  return {
    architecture: 'amd64',
    bootID: uid,
    containerRuntimeVersion: 'simulated://1.0.0',
    kernelVersion: '6.1.0',
    kubeProxyVersion: '',
    kubeletVersion: 'v1.37.1',
    machineID: uid.replaceAll('-', ''),
    operatingSystem: 'linux',
    osImage: 'Simulated',
    systemUUID: uid,
  }
}

function freeAddress(cluster: SimulatedState): string {
  const used = new Set(
    cluster.list('nodes').flatMap(({ status }) => status?.addresses?.map(({ address }) => address) ?? []),
  )
  for (let number = 2; ; number++) {
    const address = `172.18.${number >> 8}.${number & 255}`
    if (!used.has(address)) return address
  }
}

async function ensureLease(
  { cluster, writer }: Pick<Tools, 'cluster' | 'writer'>,
  node: StoredIn<'nodes'>,
): Promise<void> {
  const { name, uid } = node.metadata
  if (cluster.get(leaseTable, leaseNamespace, name)) return
  await writer.create(leaseTable, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: leaseNamespace, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime: formatMicroTime(cluster.now()) },
  })
}

/** Renews all leases. Returns a function that stops it. */
export function renewLeases(state: ClusterState, cluster: SimulatedState): () => void {
  const tick = (): void => {
    timer = state.clock.after(renewMs, tick)
    const now = state.clock.now()
    for (const node of cluster.list('nodes')) if (!isDown(node)) renew(state, node.metadata.name, now)
  }
  let timer = state.clock.after(renewMs, tick)
  return () => timer.cancel()
}

/** Only renewTime changes, so managedFields stay as they are: cheap enough for a thousand nodes. */
function renew(state: ClusterState, name: string, now: number): void {
  const lease = state.storage.table(leaseTable).get(leaseNamespace, name)
  if (!lease || lease.metadata.deletionTimestamp) return
  const time = formatTime(now)
  const managedFields = lease.metadata.managedFields?.map((entry): ManagedFieldsEntry =>
    entry.manager === 'kubelet' ? { ...entry, time } : entry,
  )
  state.storage.put(leaseTable, {
    ...lease,
    metadata: { ...lease.metadata, ...(managedFields && { managedFields }) },
    spec: { ...(lease['spec'] as object), renewTime: formatMicroTime(now) },
  })
}
