/**
 * Nodes, and the kubelets' sign of life. A node of the fleet is an object like any other: whoever creates one has a
 * machine that is ready a moment later, whoever deletes it has one less.
 *
 * Every node has a Lease that says it is alive. It is renewed just before it would be seen as stale, and is the only
 * thing that is written while nothing happens.
 */
import { formatMicroTime, formatTime } from '../../kube/duration.ts'
import type { ManagedFieldsEntry } from '../../kube/object.ts'
import type { Node, NodeCondition, NodeSpec } from '../../kube/types/core/v1.ts'
import type { ClusterState } from '../cluster/state.ts'
import { type SimulatedState, splitKey, type StoredIn } from './cluster.ts'
import type { SimulatedController, Tools } from './controller.ts'
import type { ObjectDraft } from './object-writer.ts'

export interface SimulatedNode {
  readonly name: string
  /** @default "4" */
  readonly cpu?: string
  /** @default "16Gi" */
  readonly memory?: string
  /** How many pods. @default "110" */
  readonly pods?: string
  /** Anything else it has: `nvidia.com/gpu`. */
  readonly resources?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: NodeSpec['taints']
}

/** A node with this annotation set to "true" has lost its power. */
export const downAnnotation = 'simulated.muster.dev/down'

export function isDown({ metadata }: Node): boolean {
  return metadata.annotations?.[downAnnotation] === 'true'
}

const leaseTable = 'leases.coordination.k8s.io'
export const leaseNamespace: string = 'kube-node-lease'
export const leaseSeconds: number = 40
/** No network loses a message here, so once before the end is enough. */
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

/** The kubelet's side of a node: it registers what the machine has, and says that it is ready. */
export function nodeController({ cluster, hand }: Tools, nodes: readonly SimulatedNode[]): SimulatedController {
  /** Not created yet. Who deletes one later means it. */
  const wanted = new Map(nodes.map((node) => [node.name, node]))
  return {
    first: [...wanted.keys()].map((name) => `/${name}`),
    // One at a time: no two may take the same address.
    workers: 1,
    own: { nodes: ({ metadata }) => [`/${metadata.name}`] },
    async reconcile(key) {
      const { name } = splitKey(key)
      const plan = wanted.get(name)
      if (plan && !cluster.get('nodes', undefined, name)) await hand.create('nodes', nodeOf(plan))
      wanted.delete(name)
      const node = cluster.get('nodes', undefined, name)
      if (!node || isDown(node)) return undefined
      await ensureLease({ cluster, hand }, node)
      const named = await withWellKnownLabels({ hand }, node)
      await hand.updateStatus(
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

async function withWellKnownLabels({ hand }: Pick<Tools, 'hand'>, node: StoredIn<'nodes'>): Promise<StoredIn<'nodes'>> {
  const wanted = wellKnownLabels(node.metadata.name)
  const { labels = {} } = node.metadata
  if (Object.keys(wanted).every((name) => Object.hasOwn(labels, name))) return node
  return await hand.update('nodes', { ...node, metadata: { ...node.metadata, labels: { ...wanted, ...labels } } })
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

/** What the kubelet reports. What somebody else says of the node (a pressure, a trouble of its own kind) stands. */
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

/** A pressure or an end of readiness that somebody wrote is their experiment; what was lost with the power comes back. */
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

async function ensureLease({ cluster, hand }: Pick<Tools, 'cluster' | 'hand'>, node: StoredIn<'nodes'>): Promise<void> {
  const { name, uid } = node.metadata
  if (cluster.get(leaseTable, leaseNamespace, name)) return
  await hand.create(leaseTable, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: leaseNamespace, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime: formatMicroTime(cluster.now()) },
  })
}

/** Keeps all leases fresh. Returns how to stop. */
export function keepLeases(state: ClusterState, cluster: SimulatedState): () => void {
  const tick = (): void => {
    timer = state.clock.after(renewMs, tick)
    const now = state.clock.now()
    for (const node of cluster.list('nodes')) if (!isDown(node)) renew(state, node.metadata.name, now)
  }
  let timer = state.clock.after(renewMs, tick)
  return () => timer.cancel()
}

/** Only the time changes, so who owns which field stays as it is: this is cheap enough for a thousand nodes. */
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
