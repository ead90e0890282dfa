/** Where a request goes: what the path names, found in the catalog of what is served. */
import type { Catalog, ServedResource } from './catalog.ts'
import type { RequestTarget } from '../access/request-target.ts'

/** A resource, or one object of it, or a subresource of that. */
export interface Route {
  readonly served: ServedResource
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** Empty for the object itself. */
  readonly subresource: string
}

/** The route of a target below `/api` or `/apis`; undefined when nothing is served there. */
export function findRoute({ resource: asked }: RequestTarget, catalog: Catalog): Route | undefined {
  if (!asked || !asked.isServable || asked.verb !== undefined) return undefined
  const { group, version, resource, name, isInNamespace } = asked
  const served = catalog.find(group, version, resource)
  if (!served || name === '') return undefined
  // An empty namespace is all of them, to the authorizer as well.
  const namespace = (isInNamespace && asked.namespace) || undefined
  // An object of a namespaced resource is found in its namespace only, and any other outside of all.
  if (served.namespaced ? namespace === undefined && name !== undefined : isInNamespace) return undefined
  return { served, namespace, name, subresource: asked.subresource.join('/') }
}
