/** Pools of machines, as the pure decision sees them: from MachineSets, MachineDeployments and ManagedNodePools. */
import type { Named } from '../../kube/object.ts'
import { parseTime } from '../../kube/units/duration.ts'
import type { NodePool, PoolMachine } from '../core/scale/node-pool.ts'
import type { MachineObject, MachineApi } from './machine-kinds.ts'
import type { ManagedNodePoolObject } from './managed-node-pool.ts'
import {
  isClaimLabel,
  labelAnnotation,
  madeForLabel,
  ownerAnnotation,
  parseRecord,
  patternAnnotation,
  recordAnnotation,
  scaledAnnotation,
} from './pool-record.ts'
import { instanceTypeOf, nodeTemplateOf } from './provider-spec.ts'
import { type MachinePool, machinesOf, type ScalerState, usersOf } from './scaler-state.ts'

/** Of pools without a declared maximum. */
const mostReplicas = 1000
/** The id of the pattern for managed pools of a type. */
export const managedPattern = 'managed:'

export function scaledPools(state: ScalerState): readonly NodePool[] {
  const { settings, pools, managed } = state
  const own = [...managed.values()].map((object) => managedPool(state, object))
  // With managed pools, MachineSets are left to others; what was added to them before still ends.
  const isManaged = settings.ocmSecretRef !== undefined
  const machinePools = [...pools.values()].map((pool) => machinePool(state, pool, isManaged))
  return [...machinePools, ...own, ...(isManaged ? managedPatterns(state) : [])]
}

function machinePool(state: ScalerState, pool: MachinePool, isManaged: boolean): NodePool {
  const { api, object } = pool
  const { metadata, spec } = object
  const { uid = '', namespace = '', name, annotations = {}, labels = {} } = metadata
  const machines = machinesOf(state, pool)
  const node = machines
    .map(({ status }) => state.nodes.get(status?.nodeRef?.name ?? ''))
    .find((one) => one !== undefined)
  const replicas = spec?.replicas ?? 1
  const [min, max] = [sizeOf(annotations[api.minSize], 0), sizeOf(annotations[api.maxSize], mostReplicas)]
  const isMade = labels[madeForLabel] !== undefined
  const duplicates = state.settings.machineSetsStrategy === 'duplicate' && api.ownerLabel === undefined
  const isOut = isManaged || annotations[scaledAnnotation] === 'false' || spec?.paused === true
  return {
    id: uid,
    name: `${namespace}/${name}`,
    instanceType: instanceTypeOf(object, node),
    template: nodeTemplateOf(object, node, isOwnLabel(node?.metadata.annotations)),
    replicas,
    min: isMade ? 0 : min,
    max: isOut ? Math.min(max, replicas) : max,
    record: parseRecord(annotations[recordAnnotation]),
    machines: machines.map((machine) => poolMachine(state, api, machine)),
    names: true,
    sort: isMade ? 'own' : duplicates ? 'pattern' : 'shared',
    pattern: annotations[patternAnnotation],
    isLeaving: metadata.deletionTimestamp !== undefined,
  }
}

function isOwnLabel(annotations: Readonly<Record<string, string>> | undefined): (key: string) => boolean {
  return (key) => key === annotations?.[labelAnnotation] || isClaimLabel(key)
}

function sizeOf(text: string | undefined, otherwise: number): number {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : otherwise
}

function poolMachine(
  state: ScalerState,
  api: MachineApi,
  { metadata, status = {} }: Named<MachineObject>,
): PoolMachine {
  const { annotations = {} } = metadata
  const { phase, nodeRef, errorReason, errorMessage, failureReason, failureMessage } = status
  const failure =
    phase === 'Failed' ? (errorReason ?? failureReason ?? errorMessage ?? failureMessage ?? phase) : undefined
  return {
    name: metadata.name,
    node: nodeRef?.name,
    createdAt: parseTime(metadata.creationTimestamp ?? '') ?? 0,
    isReady: phase === 'Running' && nodeRef?.name !== undefined,
    failure,
    isLeaving: metadata.deletionTimestamp !== undefined,
    isMarked: annotations[api.deleteFirst] !== undefined,
    owner: annotations[ownerAnnotation],
    users: usersOf(state, nodeRef?.name),
  }
}

function managedPool(state: ScalerState, { metadata, spec, status }: ManagedNodePoolObject): NodePool {
  const { uid = '', name, annotations = {} } = metadata
  const nodes = [...(state.poolNodes.get(name) ?? [])].toSorted()
  const node = state.nodes.get(nodes[0] ?? '')
  const machines = nodes.map((one): PoolMachine => {
    const { metadata: own } = state.nodes.get(one)!
    return {
      name: one,
      node: one,
      createdAt: parseTime(own.creationTimestamp ?? '') ?? 0,
      isReady: true,
      isLeaving: false,
      isMarked: false,
      owner: own.annotations?.[ownerAnnotation],
      users: usersOf(state, one),
    }
  })
  const missing = Math.max(0, spec.replicas - machines.length)
  const failed = Array.from({ length: status?.failure === undefined ? 0 : missing }, (_, at): PoolMachine => {
    const none = { createdAt: 0, isReady: false, isLeaving: false, isMarked: false, users: [] }
    return { name: `(failed ${at})`, failure: status?.failure, ...none }
  })
  return {
    id: uid,
    name,
    instanceType: spec.instanceType,
    template:
      node && nodeTemplateOf({ metadata: {}, apiVersion: '', kind: '' }, node, isOwnLabel(node.metadata.annotations)),
    replicas: spec.replicas,
    min: 0,
    max: mostReplicas,
    record: parseRecord(annotations[recordAnnotation]),
    machines: [...machines, ...failed],
    names: false,
    sort: 'own',
    pattern: `${managedPattern}${spec.instanceType}`,
    isLeaving: metadata.deletionTimestamp !== undefined,
  }
}

/** Any type that a workload names can be asked for. */
function managedPatterns({ workloads }: ScalerState): readonly NodePool[] {
  const types = new Set<string>()
  for (const { phase, instances } of workloads.values())
    if (phase === 'waiting' && instances !== 'inferred') for (const type of instances.keys()) types.add(type)
  return [...types].map((type) => ({
    id: `${managedPattern}${type}`,
    name: type,
    instanceType: type,
    template: undefined,
    replicas: 0,
    min: 0,
    max: mostReplicas,
    record: parseRecord(undefined),
    machines: [],
    names: false,
    sort: 'pattern',
    isLeaving: false,
  }))
}
