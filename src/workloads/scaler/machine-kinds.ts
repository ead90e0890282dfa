/**
 * The kinds that machines come from: those of OpenShift's machine API and of Cluster API. They belong to others and may be absent:
 * what is used of them is typed here, and nothing else of them is read.
 */
import type { JsonObject } from '../../kube/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Node, Taint } from '../../kube/types/core/v1.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'

/** A MachineSet or a MachineDeployment. */
export interface MachineOwner extends KubeObject {
  readonly spec?: {
    readonly replicas?: number
    readonly paused?: boolean
    readonly selector?: JsonObject
    readonly template?: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
      readonly spec?: {
        readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
        readonly taints?: readonly Taint[]
        readonly providerSpec?: { readonly value?: JsonObject }
      }
    }
  }
}

export interface MachineObject extends KubeObject {
  readonly status?: {
    readonly phase?: string
    readonly nodeRef?: { readonly name?: string }
    readonly errorReason?: string
    readonly errorMessage?: string
    readonly failureReason?: string
    readonly failureMessage?: string
  }
}

const namespaced = (plural: string) => ({ plural, namespaced: true })

export const openShiftApi = 'machine.openshift.io/v1beta1'
export const MachineSet: TypedResource<MachineOwner> = resourceOf(openShiftApi, 'MachineSet', namespaced('machinesets'))
const OpenShiftMachine: TypedResource<MachineObject> = resourceOf(openShiftApi, 'Machine', namespaced('machines'))

export const clusterApi = 'cluster.x-k8s.io/v1beta1'
const MachineDeployment: TypedResource<MachineOwner> = resourceOf(
  clusterApi,
  'MachineDeployment',
  namespaced('machinedeployments'),
)
const ClusterApiMachine: TypedResource<MachineObject> = resourceOf(clusterApi, 'Machine', namespaced('machines'))

/** OpenShift's own description of the cluster: `spec.clusterID` names it at the cluster manager. */
interface ClusterVersionObject extends KubeObject {
  readonly spec?: { readonly clusterID?: string }
}
export const ClusterVersion: TypedResource<ClusterVersionObject> = resourceOf(
  'config.openshift.io/v1',
  'ClusterVersion',
  { plural: 'clusterversions', namespaced: false },
)

/** What differs between the two. */
export interface MachineApi {
  readonly owner: TypedResource<MachineOwner>
  readonly machine: TypedResource<MachineObject>
  /** A machine with this annotation is deleted first. */
  readonly deleteFirst: string
  readonly minSize: string
  readonly maxSize: string
  /** The label of a machine with the name of what it belongs to; undefined: its owner reference says it. */
  readonly ownerLabel: string | undefined
}

export const openShiftMachines: MachineApi = {
  owner: MachineSet,
  machine: OpenShiftMachine,
  deleteFirst: 'machine.openshift.io/cluster-api-delete-machine',
  minSize: 'machine.openshift.io/cluster-api-autoscaler-node-group-min-size',
  maxSize: 'machine.openshift.io/cluster-api-autoscaler-node-group-max-size',
  ownerLabel: undefined,
}

export const clusterApiMachines: MachineApi = {
  owner: MachineDeployment,
  machine: ClusterApiMachine,
  deleteFirst: 'cluster.x-k8s.io/delete-machine',
  minSize: 'cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size',
  maxSize: 'cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size',
  ownerLabel: 'cluster.x-k8s.io/deployment-name',
}

/** What of a Node is read. */
export type ReadNode = Pick<Node, 'apiVersion' | 'kind' | 'metadata' | 'spec' | 'status'>
