/** The most used built-in kinds, as value and as type: `Deployment` is both. Others: `resourceOf`. */
import type * as apps from '../kube/types/apps/v1.ts'
import type * as autoscaling from '../kube/types/autoscaling/v2.ts'
import type * as batch from '../kube/types/batch/v1.ts'
import type * as core from '../kube/types/core/v1.ts'
import type * as networking from '../kube/types/networking/v1.ts'
import type * as policy from '../kube/types/policy/v1.ts'
import type * as rbac from '../kube/types/rbac/v1.ts'
import type { KubeObject } from '../kube/object.ts'
import type { TypedResource } from './typed-resource.ts'

// Literals instead of a lookup: the table of all kinds is large, and an operator that uses five kinds should not load
// it.
function of<T extends KubeObject>(group: string, version: string, kind: string, plural: string): TypedResource<T> {
  return { group, version, kind, plural, namespaced: true }
}

function ofCluster<T extends KubeObject>(
  group: string,
  version: string,
  kind: string,
  plural: string,
): TypedResource<T> {
  return { group, version, kind, plural, namespaced: false }
}

export type ConfigMap = core.ConfigMap
export const ConfigMap: TypedResource<ConfigMap> = of('', 'v1', 'ConfigMap', 'configmaps')
export type Secret = core.Secret
export const Secret: TypedResource<Secret> = of('', 'v1', 'Secret', 'secrets')
export type Service = core.Service
export const Service: TypedResource<Service> = of('', 'v1', 'Service', 'services')
export type ServiceAccount = core.ServiceAccount
export const ServiceAccount: TypedResource<ServiceAccount> = of('', 'v1', 'ServiceAccount', 'serviceaccounts')
export type Pod = core.Pod
export const Pod: TypedResource<Pod> = of('', 'v1', 'Pod', 'pods')
export type PersistentVolumeClaim = core.PersistentVolumeClaim
export const PersistentVolumeClaim: TypedResource<PersistentVolumeClaim> = of(
  '',
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
)
export type Namespace = core.Namespace
export const Namespace: TypedResource<Namespace> = ofCluster('', 'v1', 'Namespace', 'namespaces')
export type Node = core.Node
export const Node: TypedResource<Node> = ofCluster('', 'v1', 'Node', 'nodes')
export type Deployment = apps.Deployment
export const Deployment: TypedResource<Deployment> = of('apps', 'v1', 'Deployment', 'deployments')
export type StatefulSet = apps.StatefulSet
export const StatefulSet: TypedResource<StatefulSet> = of('apps', 'v1', 'StatefulSet', 'statefulsets')
export type DaemonSet = apps.DaemonSet
export const DaemonSet: TypedResource<DaemonSet> = of('apps', 'v1', 'DaemonSet', 'daemonsets')
export type Job = batch.Job
export const Job: TypedResource<Job> = of('batch', 'v1', 'Job', 'jobs')
export type CronJob = batch.CronJob
export const CronJob: TypedResource<CronJob> = of('batch', 'v1', 'CronJob', 'cronjobs')
export type Ingress = networking.Ingress
export const Ingress: TypedResource<Ingress> = of('networking.k8s.io', 'v1', 'Ingress', 'ingresses')
export type NetworkPolicy = networking.NetworkPolicy
export const NetworkPolicy: TypedResource<NetworkPolicy> = of(
  'networking.k8s.io',
  'v1',
  'NetworkPolicy',
  'networkpolicies',
)
export type PodDisruptionBudget = policy.PodDisruptionBudget
export const PodDisruptionBudget: TypedResource<PodDisruptionBudget> = of(
  'policy',
  'v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
)
export type HorizontalPodAutoscaler = autoscaling.HorizontalPodAutoscaler
export const HorizontalPodAutoscaler: TypedResource<HorizontalPodAutoscaler> = of(
  'autoscaling',
  'v2',
  'HorizontalPodAutoscaler',
  'horizontalpodautoscalers',
)
export type Role = rbac.Role
export const Role: TypedResource<Role> = of('rbac.authorization.k8s.io', 'v1', 'Role', 'roles')
export type RoleBinding = rbac.RoleBinding
export const RoleBinding: TypedResource<RoleBinding> = of(
  'rbac.authorization.k8s.io',
  'v1',
  'RoleBinding',
  'rolebindings',
)
export type ClusterRole = rbac.ClusterRole
export const ClusterRole: TypedResource<ClusterRole> = ofCluster(
  'rbac.authorization.k8s.io',
  'v1',
  'ClusterRole',
  'clusterroles',
)
export type ClusterRoleBinding = rbac.ClusterRoleBinding
export const ClusterRoleBinding: TypedResource<ClusterRoleBinding> = ofCluster(
  'rbac.authorization.k8s.io',
  'v1',
  'ClusterRoleBinding',
  'clusterrolebindings',
)
