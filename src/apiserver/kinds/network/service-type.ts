/** What a Service needs, by its type and a few other fields. */
import type { ServiceSpec } from '../../../kube/types/core/v1.ts'

type Typed = Pick<ServiceSpec, 'type' | 'clusterIPs' | 'externalIPs' | 'externalTrafficPolicy'>

export function isHeadless({ clusterIPs }: Typed): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === 'None'
}

export function needsClusterIp({ type }: Typed): boolean {
  return type !== 'ExternalName'
}

export function needsNodePort({ type }: Typed): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

export function needsHealthCheck({ type, externalTrafficPolicy }: Typed): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local'
}

/** Whether traffic may come from outside the cluster. */
export function isExternal(spec: Typed): boolean {
  return needsNodePort(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)
}
