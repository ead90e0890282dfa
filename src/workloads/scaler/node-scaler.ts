/**
 * The node scaler: a coordinator over AppWrappers that wait for nodes and the pools that nodes come from. Its decisions are carried
 * out by the reconciles of pools (`machine-pools.ts`, `managed-pools.ts`) and of AppWrappers (`scaled-workloads.ts`).
 */
import { Node, Pod } from '../../kube/kinds.ts'
import { type Coordinator, defineCoordinator, type DecisionBatch } from '../../operator/coordinator/coordinator.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { AppWrapper } from '../appwrapper/appwrapper.ts'
import type { NodeClaim, NodePool } from '../core/scale/node-pool.ts'
import { decideScaling } from '../core/scale/scale-decision.ts'
import type { PoolDecision, WorkloadDecision } from '../core/scale/scale-round.ts'
import { type InstascaleConfig, instascaleConfig, scaleSettings } from './instascale-settings.ts'
import { clusterApiMachines, openShiftMachines } from './machine-kinds.ts'
import { ManagedNodePool } from './managed-node-pool.ts'
import { formatRecord, ownerAnnotation } from './pool-record.ts'
import { scaledPools } from './scaled-pools.ts'
import { newScalerState, type ScalerState, takeChange } from './scaler-state.ts'

/** A machine or node, and the workload that its labels should name. */
export interface OwnedObject {
  readonly name: string
  /** Null: it is idle. */
  readonly owner: { readonly uid: string; readonly namespace: string; readonly name: string } | null
}

interface MachineToWrite extends OwnedObject {
  readonly isMarked: boolean
}

export interface PoolToWrite {
  readonly replicas: number
  /** The annotation; null: it goes. */
  readonly record: string | null
  readonly claims: readonly Pick<NodeClaim, 'namespace' | 'name' | 'count'>[]
  readonly machines: readonly MachineToWrite[]
  readonly nodes: readonly OwnedObject[]
  readonly isObsolete: boolean
}

type ScalerDecision =
  | ({ readonly for: 'pool' } & PoolToWrite)
  | ({ readonly for: 'workload' } & WorkloadDecision & { readonly since: number })

type NodeScaler = Coordinator<ScalerDecision, ScalerState, InstascaleConfig>

export const nodeScaler: NodeScaler = defineCoordinator({
  name: 'node-scaler',
  reads: [
    AppWrapper,
    openShiftMachines.owner,
    openShiftMachines.machine,
    clusterApiMachines.owner,
    clusterApiMachines.machine,
    ManagedNodePool,
    fields(Node, ['spec.taints', 'status.allocatable']),
    fields(Pod, ['spec.nodeName', 'status.phase']),
  ],
  config: instascaleConfig,
  start: ({ config }): ScalerState => newScalerState(config.instascale),
  take: takeChange,
  decide,
})

function decide(state: ScalerState, now: number): DecisionBatch<ScalerDecision> {
  const { settings, decided, last } = state
  if (!state.isStale && last && (last.again === undefined || now < last.again))
    return { decisions: [], again: last.again }
  const pools = settings.enabled === false ? [] : scaledPools(state)
  const workloads = settings.enabled === false ? [] : state.workloads.values()
  const decision = decideScaling(workloads, pools, scaleSettings(settings), now, state.needs)
  const wanted = new Map<string, ScalerDecision>()
  for (const pool of pools) {
    const write = poolToWrite(state, pool, decision.pools.get(pool.id))
    if (write) wanted.set(pool.id, { for: 'pool', ...write })
  }
  for (const [id, one] of decision.workloads)
    wanted.set(id, { for: 'workload', ...one, since: state.workloads.get(id)!.since })
  state.isStale = false
  state.last = decision
  const changed: [string, ScalerDecision | undefined][] = []
  for (const key of decided.keys()) if (!wanted.has(key)) changed.push([key, undefined])
  for (const [key, value] of wanted)
    if (JSON.stringify(value) !== JSON.stringify(decided.get(key))) changed.push([key, value])
  for (const [key, value] of changed) {
    if (value) decided.set(key, value)
    else decided.delete(key)
  }
  return { decisions: changed, again: decision.again }
}

/** Undefined if pool, machines and nodes are as they should be. */
function poolToWrite(state: ScalerState, pool: NodePool, decision: PoolDecision | undefined): PoolToWrite | undefined {
  if (pool.sort === 'pattern' || pool.isLeaving) return undefined
  const record = decision?.record ?? pool.record
  const names = new Map(
    record.claims.map(({ workload, namespace, name }) => [workload, { uid: workload, namespace, name }]),
  )
  const nameOf = (owner: string | undefined): OwnedObject['owner'] => names.get(owner ?? '') ?? null
  const machines: MachineToWrite[] = []
  const nodes: OwnedObject[] = []
  for (const { name, node, owner: stored } of pool.machines) {
    const wanted = decision?.machines.get(name)
    const owner = wanted ? wanted.owner : stored
    if (owner === undefined) continue
    if (wanted && pool.names) machines.push({ name, owner: nameOf(owner), isMarked: wanted.isMarked })
    const live = node === undefined ? undefined : state.nodes.get(node)
    const onNode = live?.metadata.annotations?.[ownerAnnotation]
    const isIdle = nameOf(owner) === null
    if (live && (onNode ?? '') !== (nameOf(owner)?.uid ?? '') && !(isIdle && onNode === undefined))
      nodes.push({ name: live.metadata.name, owner: nameOf(owner) })
  }
  if (!decision && nodes.length === 0) return undefined
  return {
    replicas: decision?.replicas ?? pool.replicas,
    record: formatRecord(record),
    claims: record.claims.map(({ namespace, name, count }) => ({ namespace, name, count })),
    machines,
    nodes,
    isObsolete: decision?.isObsolete ?? false,
  }
}
