/** The key of an object within a resource: `namespace/name`, or `/name` if it is cluster-scoped. */
import type { ObjectRef } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'

export function cacheKey({ namespace, name }: ObjectRef): string {
  return `${namespace ?? ''}/${name}`
}

export function parseKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: slash === 0 ? undefined : key.slice(0, slash), name: key.slice(slash + 1) }
}

export function refOf({ metadata }: KubeObject): ObjectRef {
  return { namespace: metadata.namespace, name: metadata.name ?? '' }
}

export function resourceVersionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? ''
}
