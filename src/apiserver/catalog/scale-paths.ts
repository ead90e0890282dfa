/** Where objects that can be scaled keep what a Scale shows. Built-in kinds have it at known places, custom ones say where. */
import type { GroupVersionKind } from '../../kube/kind.ts'

/** Where an object keeps its replicas: members from its root on. */
export interface ScalePaths {
  readonly replicas: readonly string[]
  readonly statusReplicas: readonly string[]
  readonly selector: readonly string[] | undefined
  /** Of a custom kind: the path to its replicas, without which there is no scale. */
  readonly needed?: string | undefined
}

export function scalePathsOf({ kind }: Pick<GroupVersionKind, 'kind'>): ScalePaths | undefined {
  if (!['Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController'].includes(kind)) return undefined
  return { replicas: ['spec', 'replicas'], statusReplicas: ['status', 'replicas'], selector: ['spec', 'selector'] }
}

/** `.spec.replicas` as members. */
export function parseScalePath(path: string): readonly string[] {
  return path.split('.').filter((member) => member !== '')
}
