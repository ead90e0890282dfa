/**
 * The queue as a coordinator: it knows all AppWrappers, nodes and pods, and decides which AppWrappers start, wait or go. It writes
 * nothing. A decision to start stands until the status of the AppWrapper says that its quota is reserved; after a restart what is
 * reserved is taken over from there.
 */
import { Node, Pod } from '../../kube/kinds.ts'
import { needsOf, type ResourceAmounts, resourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import { parseTime } from '../../kube/units/duration.ts'
import {
  type Coordinator,
  type CoordinatorChange,
  defineCoordinator,
  type DecisionBatch,
  isChangeOf,
} from '../../operator/coordinator/coordinator.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { createAdmissionQueue, type WaitReason } from '../core/admission-queue.ts'
import { createNodeTable, type NodeTable, type PodGroup } from '../core/node-table.ts'
import type { QueueDecision } from '../core/phases.ts'
import { AppWrapper, type AppWrapperObject } from './appwrapper.ts'
import { ownManager, uidLabel } from './labels.ts'
import { lifeOf } from './life-status.ts'
import { waitingText } from './wait-text.ts'
import { demandIn } from './wrapped-pods.ts'

/** A placed pod. */
interface PlacedPod {
  readonly node: string
  readonly requests: ResourceAmounts
  /** The uid of its AppWrapper. */
  readonly owner: string | undefined
  /** It takes its part of the node. Pods of an AppWrapper whose place is still reserved do not: it is taken already. */
  isCounted: boolean
}

interface Entry {
  readonly spec: AppWrapperObject['spec']
  readonly labels: AppWrapperObject['metadata']['labels']
  /** Pods of all groups. */
  readonly count: number
  /** `started`: decided, and the status does not say it yet. `invalid`: its pods cannot be worked out. */
  state: 'waiting' | 'started' | 'running' | 'invalid'
  problem?: string
  /** Its pods are on the nodes: they count themselves. */
  isSettled: boolean
}

interface QueueState {
  readonly nodes: NodeTable
  readonly queue: ReturnType<typeof createAdmissionQueue>
  readonly entries: Map<string, Entry>
  readonly pods: Map<string, PlacedPod>
  /** By AppWrapper. */
  readonly ownPods: Map<string, Set<string>>
  readonly decided: Map<string, QueueDecision>
  /** Keys whose decision is over. */
  readonly over: Set<string>
}

export type QueueCoordinator = Coordinator<QueueDecision, unknown, never>

export function queueCoordinator(): Coordinator<QueueDecision> {
  return defineCoordinator<QueueState, QueueDecision>({
    name: 'queue',
    reads: [
      AppWrapper,
      fields(Node, ['spec.taints', 'spec.unschedulable', 'status.allocatable']),
      fields(Pod, [
        'spec.nodeName',
        'spec.overhead',
        'spec.resources',
        'spec.containers.resources',
        'spec.initContainers.resources',
        'spec.initContainers.restartPolicy',
        'status.phase',
      ]),
    ],
    start: () => {
      const nodes = createNodeTable()
      return {
        nodes,
        queue: createAdmissionQueue(nodes, undefined),
        entries: new Map(),
        pods: new Map(),
        ownPods: new Map(),
        decided: new Map(),
        over: new Set(),
      }
    },
    take(state, change) {
      if (isChangeOf(change, AppWrapper)) takeAppWrapper(state, change)
      else if (isChangeOf(change, Node)) takeNode(state, change)
      else if (isChangeOf(change, Pod)) takePod(state, change)
    },
    decide,
  })
}

function takeAppWrapper(state: QueueState, { object, before }: CoordinatorChange<AppWrapperObject>): void {
  const uid = (object ?? before)?.metadata.uid ?? ''
  const known = state.entries.get(uid)
  const wanted = object && wantedState(object)
  if (!object || !wanted) {
    if (known) drop(state, uid)
    return
  }
  const isSame = known?.spec === object.spec && known.labels === object.metadata.labels
  if (known && wanted === 'running') {
    known.state = known.state === 'invalid' ? 'invalid' : 'running'
    end(state, uid)
    settle(state, uid, known)
    return
  }
  // Until the status says that it was dispatched, a start stands.
  if (known && isSame && known.state !== 'running') return
  if (known) drop(state, uid)
  enter(state, object, wanted)
}

/** Undefined: the queue has nothing to do with it. */
function wantedState(object: AppWrapperObject): 'waiting' | 'running' | undefined {
  const { spec, metadata } = object
  const life = lifeOf(object, 0)
  if (life.isReserved) return 'running'
  if (life.phase !== 'Suspended' || spec.suspend || metadata.deletionTimestamp !== undefined) return undefined
  return spec.managedBy === undefined || spec.managedBy === ownManager ? 'waiting' : undefined
}

function enter(state: QueueState, object: AppWrapperObject, wanted: 'waiting' | 'running'): void {
  const { spec, metadata } = object
  const { uid = '', labels, creationTimestamp = '' } = metadata
  let groups: readonly PodGroup[]
  try {
    groups = demandIn(object)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    state.entries.set(uid, { spec, labels, count: 0, state: 'invalid', problem, isSettled: true })
    return
  }
  const count = groups.reduce((sum, group) => sum + group.count, 0)
  const entry: Entry = { spec, labels, count, state: wanted, isSettled: false }
  state.entries.set(uid, entry)
  const { priority = 0, prioritySlope = 0 } = spec.scheduling ?? {}
  const workload = {
    id: uid,
    queue: '',
    priority,
    slope: prioritySlope,
    since: parseTime(creationTimestamp) ?? 0,
    groups,
  }
  if (wanted === 'waiting') state.queue.add(workload)
  else {
    state.queue.restore(workload)
    settle(state, uid, entry)
  }
}

function drop(state: QueueState, uid: string): void {
  state.queue.remove(uid)
  state.entries.delete(uid)
  end(state, uid)
  countPods(state, uid)
}

function end({ decided, over }: QueueState, uid: string): void {
  if (decided.delete(uid)) over.add(uid)
}

/** Its reservation ends when all of its pods have a node: from then on they count themselves. */
function settle(state: QueueState, uid: string, entry: Entry): void {
  const placed = state.ownPods.get(uid)?.size ?? 0
  if (entry.isSettled || placed < entry.count) return
  entry.isSettled = true
  state.queue.settle(uid)
  countPods(state, uid)
}

function countPods(state: QueueState, uid: string): void {
  for (const key of state.ownPods.get(uid) ?? []) count(state, state.pods.get(key)!)
}

function count({ nodes, entries }: QueueState, pod: PlacedPod): void {
  const owner = pod.owner === undefined ? undefined : entries.get(pod.owner)
  const isReserved = owner !== undefined && !owner.isSettled && owner.state !== 'waiting'
  if (pod.isCounted === !isReserved) return
  pod.isCounted = !isReserved
  nodes.take(pod.node, pod.requests, pod.isCounted ? 1 : -1)
}

function takeNode({ nodes }: QueueState, { object, before }: CoordinatorChange<Node>): void {
  const name = (object ?? before)?.metadata.name ?? ''
  if (object) nodes.setNode(name, object, resourceAmounts(object.status?.allocatable))
  else nodes.setNode(name, undefined)
}

function takePod(state: QueueState, { object, before }: CoordinatorChange<Pod>): void {
  const { uid = '' } = (object ?? before)?.metadata ?? {}
  const known = state.pods.get(uid)
  const { nodeName } = object?.spec ?? {}
  const phase = object?.status?.phase
  const isPlaced = object !== undefined && nodeName !== undefined && phase !== 'Succeeded' && phase !== 'Failed'
  if (isPlaced === (known !== undefined)) return
  if (known) {
    state.pods.delete(uid)
    if (known.isCounted) state.nodes.take(known.node, known.requests, -1)
    if (known.owner !== undefined) state.ownPods.get(known.owner)?.delete(uid)
    return
  }
  const owner = object!.metadata.labels?.[uidLabel]
  const requests = new Map(needsOf({ spec: object!.spec! }).requests).set('pods', 1)
  const pod: PlacedPod = { node: nodeName!, requests, owner, isCounted: false }
  state.pods.set(uid, pod)
  if (owner !== undefined) {
    const own = state.ownPods.get(owner) ?? new Set()
    state.ownPods.set(owner, own.add(uid))
  }
  count(state, pod)
  const entry = owner === undefined ? undefined : state.entries.get(owner)
  if (entry && entry.state !== 'waiting') settle(state, owner!, entry)
}

function decide(state: QueueState, now: number): DecisionBatch<QueueDecision> {
  const { queue, entries, decided, over } = state
  const changed = new Map<string, QueueDecision | undefined>()
  for (const uid of over) changed.set(uid, undefined)
  over.clear()
  const note = (uid: string, decision: QueueDecision): void => {
    decided.set(uid, decision)
    changed.set(uid, decision)
  }
  for (const { workload } of queue.decide(now)) {
    const entry = entries.get(workload.id)
    if (!entry) continue
    entry.state = 'started'
    note(workload.id, { what: 'start' })
  }
  for (const [uid, entry] of entries) {
    if (entry.state !== 'waiting' && entry.state !== 'invalid') continue
    const reason = entry.state === 'invalid' ? undefined : queue.explain(uid)
    const kind = entry.state === 'invalid' ? 'InvalidPodSets' : (reason?.kind ?? 'Queued')
    const before = decided.get(uid)
    if (before?.what === 'wait' && before.reason === kind) continue
    note(uid, { what: 'wait', reason: kind, message: messageOf(reason, entry) })
  }
  return { decisions: changed }
}

function messageOf(reason: WaitReason | undefined, { problem }: Entry): string {
  return problem ?? (reason ? waitingText(reason) : 'It is next.')
}
