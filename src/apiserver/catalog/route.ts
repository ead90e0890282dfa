/** Routing: from a parsed path to a served resource, object or subresource. */
import type { Catalog, ServedResource } from './catalog.ts'
import type { RequestTarget } from '../access/request-target.ts'

/** A resource, an object, or a subresource of an object. */
export interface Route {
  readonly served: ServedResource
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** Empty for the object itself. */
  readonly subresource: string
}

/** The route of a target below `/api` or `/apis`; undefined if nothing is served there. */
export function findRoute({ resource: asked }: RequestTarget, catalog: Catalog): Route | undefined {
  if (!asked || !asked.isServable || asked.verb !== undefined) return undefined
  const { group, version, resource, name, isInNamespace } = asked
  const served = catalog.find(group, version, resource)
  if (!served || name === '') return undefined
  // An empty namespace means all namespaces, to the authorizer as well.
  const namespace = (isInNamespace && asked.namespace) || undefined
  // Objects of namespaced resources need a namespace in the path, cluster-scoped ones must not have one.
  if (served.namespaced ? namespace === undefined && name !== undefined : isInNamespace) return undefined
  return { served, namespace, name, subresource: asked.subresource.join('/') }
}
