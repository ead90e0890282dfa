/**
 * A ManagedNodePool: a pool of nodes at a cluster manager that is reached over HTTP. The object is written before the pool is made,
 * and its finalizer stays until the pool is gone: so no pool is lost, whatever happens in between.
 */
import type { Condition } from '../../kube/meta/condition.ts'
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { integer, object, optional, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import type { SecretReference } from '../configuration/instascale-section.ts'

export interface ManagedNodePoolObject extends Named {
  readonly spec: {
    readonly instanceType: string
    readonly replicas: number
    readonly secretRef: SecretReference
  }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly replicas?: number
    readonly failure?: string
  }
}

interface ManagedNodePoolKind extends TypedResource<ManagedNodePoolObject>, Pick<Kind, 'definition' | 'crd'> {}

/** Of node pools of hosted clusters; machine pools may have 30. */
export const mostIdLength = 15

export const ManagedNodePool: ManagedNodePoolKind = defineKind({
  group: 'workloads.muster.dev',
  version: 'v1alpha1',
  kind: 'ManagedNodePool',
  scope: 'Cluster',
  description: 'A pool of nodes that a cluster manager keeps. The node scaler makes and removes it.',
  spec: {
    instanceType: string({
      maxLength: 100,
      description: 'the type of its machines',
      rules: [{ rule: 'self == oldSelf', message: 'instanceType is immutable' }],
    }),
    replicas: integer({
      minimum: 0,
      maximum: 10_000,
      default: 0,
      description: 'how many nodes; without any there is no pool',
    }),
    secretRef: object(
      { namespace: string({ maxLength: 63 }), name: string({ maxLength: 253 }) },
      { description: 'the Secret with the key token' },
    ),
  },
  status: {
    replicas: optional(integer({ description: 'nodes that the cluster manager reports' })),
    failure: optional(string({ description: 'why the cluster manager cannot provide it' })),
  },
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.instanceType' },
    { name: 'Wanted', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Nodes', type: 'integer', jsonPath: '.status.replicas' },
  ],
})
