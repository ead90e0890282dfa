/**
 * The paths of replicas and selector for the scale subresource: fixed for built-in kinds, from the CRD for custom ones.
 */
import type { GroupVersionKind } from '../../kube/kind.ts'

/** Paths as lists of field names from the root. */
export interface ScalePaths {
  readonly replicas: readonly string[]
  readonly statusReplicas: readonly string[]
  readonly selector: readonly string[] | undefined
  /** The specReplicasPath of a custom kind, for error messages: without the field there is no Scale. */
  readonly needed?: string | undefined
}

export function scalePathsOf({ kind }: Pick<GroupVersionKind, 'kind'>): ScalePaths | undefined {
  if (!['Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController'].includes(kind)) return undefined
  return { replicas: ['spec', 'replicas'], statusReplicas: ['status', 'replicas'], selector: ['spec', 'selector'] }
}

/** Splits `.spec.replicas`. */
export function parseScalePath(path: string): readonly string[] {
  return path.split('.').filter((member) => member !== '')
}
