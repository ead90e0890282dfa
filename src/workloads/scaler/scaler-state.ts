/** What the scaler knows: workloads, pools, machines, nodes, and which workloads have pods on which node. */
import type { KubeObject, Named } from '../../kube/object.ts'
import { formatResource } from '../../kube/kind.ts'
import { Node, Pod } from '../../kube/kinds.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import { type CoordinatorChange, isChangeOf } from '../../operator/coordinator/coordinator.ts'
import { AppWrapper } from '../appwrapper/appwrapper.ts'
import { orderedInstanceLabel, type ScaledWorkload } from '../core/scale/node-demand.ts'
import { createNodeNeeds, type NodeNeeds } from '../core/scale/pool-choice.ts'
import { legacyNameLabel, nameLabel } from '../appwrapper/labels.ts'
import type { ScaleDecision } from '../core/scale/scale-decision.ts'
import type { InstascaleSettings } from '../configuration/instascale-section.ts'
import {
  clusterApiMachines,
  type MachineObject,
  type MachineApi,
  type MachineOwner,
  openShiftMachines,
  type ReadNode,
} from './machine-kinds.ts'
import { ManagedNodePool, type ManagedNodePoolObject } from './managed-node-pool.ts'
import { poolLabel } from './pool-record.ts'
import { scaledWorkload } from './waiting-workload.ts'

/** Labels of the pods of an AppWrapper, by version; the value is its name. */
const podLabels: readonly string[] = [nameLabel, legacyNameLabel]

export interface MachinePool {
  readonly api: MachineApi
  readonly object: Named<MachineOwner>
}

export interface ScalerState {
  readonly settings: InstascaleSettings
  readonly workloads: Map<string, ScaledWorkload>
  /** The uid of an AppWrapper, by `namespace/name`. */
  readonly uids: Map<string, string>
  /** By uid. */
  readonly pools: Map<string, MachinePool>
  readonly managed: Map<string, ManagedNodePoolObject>
  /** By what they belong to, then by name. */
  readonly machines: Map<string, Map<string, Named<MachineObject>>>
  readonly nodes: Map<string, Named<ReadNode>>
  /** Names of nodes, by the managed pool that they are in. */
  readonly poolNodes: Map<string, Set<string>>
  /** Pods that have not ended, as `namespace/name` of their AppWrapper by `namespace/name` of the pod, by node. */
  readonly pods: Map<string, Map<string, string>>
  /** The decisions in force. */
  readonly decided: Map<string, unknown>
  readonly needs: NodeNeeds
  /** Since the last decision there was news. */
  isStale: boolean
  last: ScaleDecision | undefined
}

export function newScalerState(settings: InstascaleSettings): ScalerState {
  return {
    settings,
    workloads: new Map(),
    uids: new Map(),
    pools: new Map(),
    managed: new Map(),
    machines: new Map(),
    nodes: new Map(),
    poolNodes: new Map(),
    pods: new Map(),
    decided: new Map(),
    needs: createNodeNeeds(),
    isStale: true,
    last: undefined,
  }
}

export function takeChange(state: ScalerState, change: CoordinatorChange): void {
  if (isChangeOf(change, Pod)) {
    takePod(state, change)
    return
  }
  if (isChangeOf(change, AppWrapper)) {
    const { object, before } = change
    const uid = (object ?? before)?.metadata.uid ?? ''
    const known = state.workloads.get(uid)
    const isSameSpec = before !== undefined && before.spec === object?.spec && labelOf(before) === labelOf(object)
    const workload = object && scaledWorkload(object, state.settings.inference, isSameSpec ? known : undefined)
    if (isSameSpec && known && workload && isSame(known, workload)) return
    state.isStale = true
    if (workload) {
      state.workloads.set(uid, workload)
      state.uids.set(keyOf(workload), uid)
    } else {
      state.workloads.delete(uid)
      if (state.uids.get(keyOf((object ?? before!).metadata)) === uid)
        state.uids.delete(keyOf((object ?? before!).metadata))
    }
    return
  }
  state.isStale = true
  if (isChangeOf(change, ManagedNodePool)) {
    const { object, before } = change
    if (object) state.managed.set(object.metadata.uid ?? '', object)
    else state.managed.delete(before?.metadata.uid ?? '')
    return
  }
  if (isChangeOf(change, Node)) {
    takeNode(state, change)
    return
  }
  for (const api of [openShiftMachines, clusterApiMachines]) {
    if (isChangeOf<MachineOwner>(change, api.owner)) {
      const { object, before } = change
      if (object) state.pools.set(object.metadata.uid ?? '', { api, object: object as Named<MachineOwner> })
      else state.pools.delete(before?.metadata.uid ?? '')
    } else if (isChangeOf<MachineObject>(change, api.machine)) {
      const { object, before } = change
      if (before) drop(state.machines, machineOwnerKey(api, before), nameOf(before))
      if (object) put(state.machines, machineOwnerKey(api, object), nameOf(object), object as Named<MachineObject>)
    }
  }
}

function labelOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[orderedInstanceLabel]
}

/** Of two with the same spec and label. */
function isSame(a: ScaledWorkload, b: ScaledWorkload): boolean {
  return a.phase === b.phase && a.since === b.since && a.isSettled === b.isSettled
}

/** What a machine belongs to: the uid of its MachineSet, or the name of its MachineDeployment. */
function machineOwnerKey({ ownerLabel, owner }: MachineApi, { metadata }: KubeObject): string {
  if (ownerLabel === undefined) return metadata.ownerReferences?.find(({ controller }) => controller)?.uid ?? ''
  return ownerKey(owner, metadata.namespace, metadata.labels?.[ownerLabel] ?? '')
}

export function machinesOf(state: ScalerState, { api, object }: MachinePool): readonly Named<MachineObject>[] {
  const { uid = '', namespace, name } = object.metadata
  const key = api.ownerLabel === undefined ? uid : ownerKey(api.owner, namespace, name)
  return [...(state.machines.get(key)?.values() ?? [])]
}

/** Workloads with pods on a node. */
export function usersOf({ pods, uids }: ScalerState, node: string | undefined): readonly string[] {
  const found = new Set<string>()
  for (const workload of pods.get(node ?? '')?.values() ?? []) found.add(uids.get(workload) ?? workload)
  return [...found].toSorted()
}

function takePod(state: ScalerState, { object, before }: CoordinatorChange<ObjectOf<typeof Pod>>): void {
  const was = before && placeOf(before)
  const is = object && placeOf(object)
  if (was?.node === is?.node && was?.workload === is?.workload) return
  state.isStale = true
  const key = keyOf((object ?? before!).metadata)
  if (was) drop(state.pods, was.node, key)
  if (is) put(state.pods, is.node, key, is.workload)
}

/** Undefined for a pod of no AppWrapper, on no node, or that has ended. */
function placeOf({ metadata, spec, status }: ObjectOf<typeof Pod>): { node: string; workload: string } | undefined {
  const name = podLabels.map((label) => metadata.labels?.[label]).find((value) => value !== undefined)
  const node = spec?.nodeName
  if (name === undefined || !node || status?.phase === 'Succeeded' || status?.phase === 'Failed') return undefined
  return { node, workload: keyOf({ namespace: metadata.namespace, name }) }
}

function takeNode(state: ScalerState, { object, before }: CoordinatorChange<ReadNode>): void {
  const was = before?.metadata.labels?.[poolLabel]
  const is = object?.metadata.labels?.[poolLabel]
  const name = (object ?? before)?.metadata.name ?? ''
  if (object) state.nodes.set(name, object as Named<ReadNode>)
  else state.nodes.delete(name)
  if (was !== undefined && was !== is) state.poolNodes.get(was)?.delete(name)
  if (is !== undefined) {
    const names = state.poolNodes.get(is) ?? new Set()
    state.poolNodes.set(is, names.add(name))
  }
}

function ownerKey(owner: MachineApi['owner'], namespace: string | undefined, name: string): string {
  return `${formatResource(owner)} ${namespace ?? ''}/${name}`
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? ''
}

function keyOf({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string | undefined
  readonly name?: string
}): string {
  return `${namespace}/${name}`
}

function put<Value>(index: Map<string, Map<string, Value>>, key: string, name: string, value: Value): void {
  const entries = index.get(key) ?? new Map<string, Value>()
  index.set(key, entries.set(name, value))
}

function drop<Value>(index: Map<string, Map<string, Value>>, key: string, name: string): void {
  const entries = index.get(key)
  entries?.delete(name)
  if (entries?.size === 0) index.delete(key)
}
