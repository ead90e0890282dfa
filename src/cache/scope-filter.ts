/**
 * Selects the objects to keep where a watch is wider than the needs it serves. All others are dropped on arrival: a cache
 * holds only objects that a consumer subscribed to.
 */
import type { KubeObject } from '../kube/object.ts'
import { inWatchScope, localScope, type WatchScope } from './need.ts'

export interface ScopeFilter {
  /** Is the object in one of the scopes? */
  readonly has: (object: KubeObject) => boolean
  /** Can it be, judged by name and labels alone? If not, it need not be decoded. */
  readonly mayHave: (peeked: KubeObject) => boolean
}

/** The union of the scopes, applied to the objects of a watch of `watched`. */
export function createScopeFilter(scopes: readonly WatchScope[], watched: WatchScope): ScopeFilter {
  const local = scopes.map((scope) => localScope(scope, watched))
  const coarse = local.map((scope) => ({ ...scope, fields: scope.fields.filter(({ path }) => isPeeked(path)) }))
  return { has: union(local), mayHave: union(coarse) }
}

function isPeeked(path: string): boolean {
  return path === 'metadata.name' || path === 'metadata.namespace'
}

function union(scopes: readonly WatchScope[]): (object: KubeObject) => boolean {
  // With thousands of names, each event must not cost thousands of comparisons.
  const byName = Map.groupBy(scopes, ({ name }) => name)
  const nameless = byName.get(undefined) ?? []
  return (object) => {
    const isIn = (scope: WatchScope): boolean => inWatchScope(scope, object)
    return (byName.get(object.metadata.name ?? '')?.some(isIn) ?? false) || nameless.some(isIn)
  }
}
