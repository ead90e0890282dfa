/** Where a request goes: the path of a Kubernetes URL, taken apart. */
import type { Catalog, Served } from './catalog.ts'

/** A resource, or one object of it, or a subresource of that. */
export interface Route {
  readonly served: Served
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** Empty for the object itself. */
  readonly subresource: string
}

/** The route of a path below `/api` or `/apis`; undefined when nothing is served there. */
export function findRoute(path: string, catalog: Catalog): Route | undefined {
  const segments = splitPath(path)
  if (!segments) return undefined
  const [root, ...rest] = segments
  if (root === 'api') return routeIn('', rest, catalog)
  if (root === 'apis') return routeIn(rest[0] ?? '', rest.slice(1), catalog)
  return undefined
}

/** The decoded segments; undefined for a path that cannot be decoded. */
export function splitPath(path: string): readonly string[] | undefined {
  try {
    const segments = path.split('/').slice(1)
    return path.includes('%') ? segments.map(decodeURIComponent) : segments
  } catch {
    return undefined
  }
}

function routeIn(group: string, [version = '', ...rest]: readonly string[], catalog: Catalog): Route | undefined {
  const [first, namespace, ...inner] = rest
  const isNamespacesOwn = inner.length === 1 && (inner[0] === 'status' || inner[0] === 'finalize')
  if (first === 'namespaces' && inner.length > 0 && !isNamespacesOwn) {
    const route = routeTo(group, version, inner, catalog)
    return route?.served.namespaced && namespace ? { ...route, namespace } : undefined
  }
  const route = routeTo(group, version, rest, catalog)
  // An object of a namespaced resource is found in its namespace only.
  return route && !(route.served.namespaced && route.name !== undefined) ? route : undefined
}

function routeTo(group: string, version: string, segments: readonly string[], catalog: Catalog): Route | undefined {
  const [plural = '', name, ...subresource] = segments
  const served = catalog.find(group, version, plural)
  if (!served || name === '') return undefined
  return { served, namespace: undefined, name, subresource: subresource.join('/') }
}
