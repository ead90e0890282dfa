/**
 * What a workload that lacks nodes asks for: machines of named instance types (the label `orderedinstance`), or whatever nodes
 * its pods fit (inference). The label names one instance type for each pod set, in their order: `m5.xlarge_g4dn.xlarge`.
 */
import type { PodGroup } from '../nodes/node-table.ts'

/** The label that names instance types; separated by `_`. */
export const orderedInstanceLabel = 'orderedinstance'

/** Machines by instance type. */
type InstanceDemand = ReadonlyMap<string, number>

/** A workload, as far as nodes are concerned. */
export interface ScaledWorkload {
  readonly id: string
  readonly namespace: string
  readonly name: string
  /** `waiting`: for lack of nodes. `running`: it was started. `other`: it waits for something else, such as quota. */
  readonly phase: 'waiting' | 'running' | 'other'
  /** Since when it is in this phase: milliseconds. */
  readonly since: number
  readonly priority: number
  readonly groups: readonly PodGroup[]
  /** Instance types that it names; `inferred`: any nodes that its pods fit. */
  readonly instances: InstanceDemand | 'inferred'
  /** All its pods run. */
  readonly isSettled: boolean
}

/**
 * The instance types of a label and the machines of each pod set: sums where a type is named twice. Undefined without a label. Pod
 * sets without a type, and types without a pod set, count for nothing.
 */
export function instanceDemand(label: string | undefined, replicas: readonly number[]): InstanceDemand | undefined {
  if (label === undefined) return undefined
  const demand = new Map<string, number>()
  for (const [at, type] of label.split('_').entries()) {
    const count = replicas[at] ?? 0
    if (type !== '' && count > 0) demand.set(type, (demand.get(type) ?? 0) + count)
  }
  return demand
}

/** Who comes first: higher priority, then the one that waits longer. */
export function compareWaiting(a: ScaledWorkload, b: ScaledWorkload): number {
  return b.priority - a.priority || a.since - b.since || (a.id < b.id ? -1 : Number(a.id > b.id))
}
