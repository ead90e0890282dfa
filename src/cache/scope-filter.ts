/**
 * What is wanted of what a watch brings, where the watch is wider than the needs it serves. The rest is dropped on arrival:
 * a cache holds what somebody asked for, and nothing beside it.
 */
import type { KubeObject } from '../kube/object.ts'
import { inWatchScope, localScope, type WatchScope } from './need.ts'

export interface ScopeFilter {
  /** Is the object in one of the scopes? */
  readonly has: (object: KubeObject) => boolean
  /** Might it be, by its name and labels? One that is not need not be decoded. */
  readonly mayHave: (glimpse: KubeObject) => boolean
}

/** The union of the scopes, applied to what a watch of `watched` brings. */
export function createScopeFilter(scopes: readonly WatchScope[], watched: WatchScope): ScopeFilter {
  const local = scopes.map((scope) => localScope(scope, watched))
  const coarse = local.map((scope) => ({ ...scope, fields: scope.fields.filter(({ path }) => isGlimpsed(path)) }))
  return { has: union(local), mayHave: union(coarse) }
}

function isGlimpsed(path: string): boolean {
  return path === 'metadata.name' || path === 'metadata.namespace'
}

function union(scopes: readonly WatchScope[]): (object: KubeObject) => boolean {
  // Thousands of names must not make each arrival thousands of comparisons.
  const byName = Map.groupBy(scopes, ({ name }) => name)
  const nameless = byName.get(undefined) ?? []
  return (object) => {
    const isIn = (scope: WatchScope): boolean => inWatchScope(scope, object)
    return (byName.get(object.metadata.name ?? '')?.some(isIn) ?? false) || nameless.some(isIn)
  }
}
