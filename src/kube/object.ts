/** What every Kubernetes object has in common. The kinds themselves are generated into `types/`. */

import type { Json } from './json.ts'

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: 'Apply' | 'Update'
  readonly apiVersion?: string
  readonly time?: string
  readonly fieldsType?: 'FieldsV1'
  readonly fieldsV1?: Json
  readonly subresource?: string
}

export interface ObjectMeta {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
  readonly managedFields?: readonly ManagedFieldsEntry[]
  readonly selfLink?: string
}

/** Any Kubernetes object; members other than metadata depend on its kind. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** Metadata of a stored object. Only a draft may be without a name, for `generateName`. */
export interface NamedMeta extends ObjectMeta {
  readonly name: string
}

/** An object as reads return it. */
export type Named<T extends KubeObject = KubeObject> = T & { readonly metadata: NamedMeta }

/** An object of an untyped kind: every further member is JSON. */
export interface UntypedObject extends KubeObject {
  readonly [member: string]: unknown
}

export interface ListMeta {
  readonly resourceVersion?: string
  readonly continue?: string
  readonly remainingItemCount?: number
  readonly selfLink?: string
}

export interface KubeList<T extends KubeObject = UntypedObject> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ListMeta
  readonly items: readonly T[]
}

/** The response of an API server to failed requests, and to some deletes. */
export interface Status {
  readonly apiVersion: 'v1'
  readonly kind: 'Status'
  readonly metadata?: ListMeta
  readonly status?: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: string
  readonly code?: number
  readonly details?: StatusDetails
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly retryAfterSeconds?: number
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[]
}
