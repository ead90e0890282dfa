/** The most used built-in kinds, as value and as type: `Deployment` is both. Others: `resourceOf`. */
import type * as apps from './types/apps/v1.ts'
import type * as autoscaling from './types/autoscaling/v2.ts'
import type * as batch from './types/batch/v1.ts'
import type * as core from './types/core/v1.ts'
import type * as networking from './types/networking/v1.ts'
import type * as policy from './types/policy/v1.ts'
import type * as rbac from './types/rbac/v1.ts'
import type { KubeObject, Named } from './object.ts'
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

export type ConfigMap = Named<core.ConfigMap>
export const ConfigMap: TypedResource<ConfigMap> = of('', 'v1', 'ConfigMap', 'configmaps')
export type Secret = Named<core.Secret>
export const Secret: TypedResource<Secret> = of('', 'v1', 'Secret', 'secrets')
export type Service = Named<core.Service>
export const Service: TypedResource<Service> = of('', 'v1', 'Service', 'services')
export type ServiceAccount = Named<core.ServiceAccount>
export const ServiceAccount: TypedResource<ServiceAccount> = of('', 'v1', 'ServiceAccount', 'serviceaccounts')
export type Pod = Named<core.Pod>
export const Pod: TypedResource<Pod> = of('', 'v1', 'Pod', 'pods')
export type PersistentVolumeClaim = Named<core.PersistentVolumeClaim>
export const PersistentVolumeClaim: TypedResource<PersistentVolumeClaim> = of(
  '',
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
)
export type Namespace = Named<core.Namespace>
export const Namespace: TypedResource<Namespace> = ofCluster('', 'v1', 'Namespace', 'namespaces')
export type Node = Named<core.Node>
export const Node: TypedResource<Node> = ofCluster('', 'v1', 'Node', 'nodes')
export type Deployment = Named<apps.Deployment>
export const Deployment: TypedResource<Deployment> = of('apps', 'v1', 'Deployment', 'deployments')
export type StatefulSet = Named<apps.StatefulSet>
export const StatefulSet: TypedResource<StatefulSet> = of('apps', 'v1', 'StatefulSet', 'statefulsets')
export type DaemonSet = Named<apps.DaemonSet>
export const DaemonSet: TypedResource<DaemonSet> = of('apps', 'v1', 'DaemonSet', 'daemonsets')
export type Job = Named<batch.Job>
export const Job: TypedResource<Job> = of('batch', 'v1', 'Job', 'jobs')
export type CronJob = Named<batch.CronJob>
export const CronJob: TypedResource<CronJob> = of('batch', 'v1', 'CronJob', 'cronjobs')
export type Ingress = Named<networking.Ingress>
export const Ingress: TypedResource<Ingress> = of('networking.k8s.io', 'v1', 'Ingress', 'ingresses')
export type NetworkPolicy = Named<networking.NetworkPolicy>
export const NetworkPolicy: TypedResource<NetworkPolicy> = of(
  'networking.k8s.io',
  'v1',
  'NetworkPolicy',
  'networkpolicies',
)
export type PodDisruptionBudget = Named<policy.PodDisruptionBudget>
export const PodDisruptionBudget: TypedResource<PodDisruptionBudget> = of(
  'policy',
  'v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
)
export type HorizontalPodAutoscaler = Named<autoscaling.HorizontalPodAutoscaler>
export const HorizontalPodAutoscaler: TypedResource<HorizontalPodAutoscaler> = of(
  'autoscaling',
  'v2',
  'HorizontalPodAutoscaler',
  'horizontalpodautoscalers',
)
export type Role = Named<rbac.Role>
export const Role: TypedResource<Role> = of('rbac.authorization.k8s.io', 'v1', 'Role', 'roles')
export type RoleBinding = Named<rbac.RoleBinding>
export const RoleBinding: TypedResource<RoleBinding> = of(
  'rbac.authorization.k8s.io',
  'v1',
  'RoleBinding',
  'rolebindings',
)
export type ClusterRole = Named<rbac.ClusterRole>
export const ClusterRole: TypedResource<ClusterRole> = ofCluster(
  'rbac.authorization.k8s.io',
  'v1',
  'ClusterRole',
  'clusterroles',
)
export type ClusterRoleBinding = Named<rbac.ClusterRoleBinding>
export const ClusterRoleBinding: TypedResource<ClusterRoleBinding> = ofCluster(
  'rbac.authorization.k8s.io',
  'v1',
  'ClusterRoleBinding',
  'clusterrolebindings',
)
