/**
 * Server-side apply as sequences of writes by several managers to one object. After each step the server's object and
 * its managedFields are recorded, or its refusal.
 */
import type { Json, JsonObject } from '../../../src/kube/json.ts'
import type { ManagedFieldsEntry } from '../../../src/kube/object.ts'
import { builtinSequences } from './apply-builtin.ts'
import { thingSequences } from './apply-thing.ts'

export type AppliedKind = 'configMap' | 'deployment' | 'service' | 'pod' | 'thing'

export interface ApplyStep {
  /** The field manager. */
  readonly by: string
  /** `apply` and `force` are server-side apply; the rest are updates of some kind. */
  readonly does: 'apply' | 'force' | 'create' | 'replace' | 'merge' | 'json' | 'strategic'
  readonly subresource?: 'status' | 'scale'
  /** For apply, create and replace: the object without apiVersion, kind and name. Else the patch. */
  readonly body: Json
}

export interface ApplyCase {
  /** Also the name of the object. */
  readonly name: string
  readonly kind: AppliedKind
  readonly steps: readonly ApplyStep[]
}

/** What one step led to. Entries of managedFields are without times and in a fixed order. */
export interface ApplyOutcome {
  readonly object?: JsonObject
  readonly managedFields?: readonly ManagedFieldsEntry[]
  readonly refusal?: {
    readonly status: number
    readonly reason?: string
    readonly message: string
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[]
  }
}

export interface ApplyVector extends Omit<ApplyCase, 'steps'> {
  readonly steps: readonly (ApplyStep & ApplyOutcome)[]
}

export const appliedKinds: Readonly<
  Record<AppliedKind, { readonly apiVersion: string; readonly kind: string; readonly path: string }>
> = {
  configMap: { apiVersion: 'v1', kind: 'ConfigMap', path: '/api/v1/namespaces/apply/configmaps' },
  deployment: { apiVersion: 'apps/v1', kind: 'Deployment', path: '/apis/apps/v1/namespaces/apply/deployments' },
  service: { apiVersion: 'v1', kind: 'Service', path: '/api/v1/namespaces/apply/services' },
  pod: { apiVersion: 'v1', kind: 'Pod', path: '/api/v1/namespaces/apply/pods' },
  thing: {
    apiVersion: 'apply.vectors.muster.test/v1',
    kind: 'Thing',
    path: '/apis/apply.vectors.muster.test/v1/namespaces/apply/things',
  },
}

export const applyCases: readonly ApplyCase[] = [...builtinSequences, ...thingSequences]
