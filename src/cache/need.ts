/**
 * A need: what a consumer subscribes to of one resource: which objects (scopes), and how much of each (shape).
 *
 * A {@link Watch} is a scope and a shape, too. `watch-plan.ts` decides which watches serve which needs.
 */
import {
  everyField,
  type FieldSelector,
  formatFields,
  formatLabels,
  impliesFields,
  impliesLabels,
  type LabelSelector,
  matchFields,
  matchLabels,
} from '../kube/selector/selector.ts'
import type { ObjectRef } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'

/** Which objects. Created by {@link scopeOf}. */
export interface WatchScope {
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  /** A prefix of the names. API servers cannot select by it. */
  readonly prefix: string | undefined
  /** The only possible name, if the field selector fixes it. */
  readonly name: string | undefined
  /** The scope as text, for comparison, logs and reports. */
  readonly key: string
}

/** How much of each object: everything, metadata alone, or metadata and these paths (`spec.nodeName`). */
export type Detail = 'full' | 'metadata' | readonly string[]

/** Which part of an object is kept. */
export interface ObjectShape {
  readonly detail: Detail
  readonly managedFields: boolean
}

export interface Need {
  /** With different namespaces: no object is in two of them. */
  readonly scopes: readonly WatchScope[]
  readonly shape: ObjectShape
}

/** A watch request. */
export interface Watch {
  /** Without a prefix. */
  readonly scope: WatchScope
  readonly shape: ObjectShape
}

export function scopeOf({
  namespace,
  labels,
  fields,
  prefix,
}: Pick<WatchScope, 'namespace' | 'labels' | 'fields'> & { readonly prefix?: string | undefined }): WatchScope {
  const name = fields.find(({ path, operator }) => path === 'metadata.name' && operator === '=')?.value
  const names = prefix === undefined ? '' : `[${prefix}*]`
  const key = `${namespace ?? '*'}[${formatLabels(labels)}][${formatFields(fields)}]${names}`
  return { namespace, labels, fields, prefix, name, key }
}

export function describeShape({ detail, managedFields }: ObjectShape): string {
  const what = typeof detail === 'string' ? detail : detail.join(',')
  return `${what}${managedFields ? ' with managedFields' : ''}`
}

export function describeWatch({ scope, shape }: Watch): string {
  return `${scope.key} ${describeShape(shape)}`
}

/** Every object of `asked` is certainly in `held`. */
export function scopeServes(held: WatchScope, asked: WatchScope): boolean {
  return (
    (held.namespace === undefined || held.namespace === asked.namespace) &&
    (held.prefix === undefined || (asked.prefix ?? asked.name ?? '').startsWith(held.prefix)) &&
    impliesLabels(asked.labels, held.labels) &&
    impliesFields(asked.fields, held.fields)
  )
}

/** Scopes that are held completely; answers whether another scope lies within one of them. There may be thousands of names. */
export interface ScopeSet {
  readonly scopes: readonly WatchScope[]
  serves(asked: WatchScope): boolean
}

export function scopeSet(scopes: Iterable<WatchScope>): ScopeSet {
  const byKey = new Map<string, WatchScope>()
  for (const scope of scopes) byKey.set(scope.key, scope)
  const unique = [...byKey.values()]
  // A scope with a name serves only that name.
  let byName: Map<string | undefined, WatchScope[]> | undefined
  const isWithin = (asked: WatchScope, name: string | undefined): boolean => {
    byName ??= Map.groupBy(unique, (scope) => scope.name)
    return byName.get(name)?.some((held) => scopeServes(held, asked)) ?? false
  }
  return {
    scopes: unique,
    serves: (asked) =>
      byKey.has(asked.key) || isWithin(asked, undefined) || (asked.name !== undefined && isWithin(asked, asked.name)),
  }
}

export function shapeServes(held: ObjectShape, asked: ObjectShape): boolean {
  return (held.managedFields || !asked.managedFields) && detailServes(held.detail, asked.detail)
}

function detailServes(held: Detail, asked: Detail): boolean {
  if (held === 'full' || asked === 'metadata') return true
  if (asked === 'full') return false
  const kept = held === 'metadata' ? [] : held
  return asked.every((path) => kept.some((other) => path === other || path.startsWith(`${other}.`)))
}

export function joinShapes(a: ObjectShape, b: ObjectShape): ObjectShape {
  return { detail: joinDetails(a.detail, b.detail), managedFields: a.managedFields || b.managedFields }
}

function joinDetails(a: Detail, b: Detail): Detail {
  if (a === 'full' || b === 'full') return 'full'
  if (b === 'metadata' || b.length === 0) return a
  if (a === 'metadata' || a.length === 0) return b
  const paths = [...new Set([...a, ...b])].toSorted()
  // A path below another kept path adds nothing.
  return paths.filter((path) => !paths.some((other) => path.startsWith(`${other}.`)))
}

/**
 * The scope as the cache applies it to the objects of a watch. Fields that the server already selects by are not checked
 * again: they may not have been kept.
 */
export function localScope(scope: WatchScope, watched: WatchScope): WatchScope {
  return impliesFields(watched.fields, scope.fields) ? { ...scope, fields: everyField } : scope
}

/** The paths to keep, besides metadata, so that the scope can be applied to the objects of a watch. */
export function pathsToSelect(scope: WatchScope, watched: WatchScope): readonly string[] {
  return localScope(scope, watched)
    .fields.map(({ path }) => path)
    .filter((path) => !path.startsWith('metadata.'))
}

/** Does the object belong to the scope? */
export function inWatchScope({ namespace, labels, fields, prefix }: WatchScope, object: KubeObject): boolean {
  const { metadata } = object
  return (
    (namespace === undefined || namespace === metadata.namespace) &&
    (prefix === undefined || (metadata.name ?? '').startsWith(prefix)) &&
    matchLabels(labels, metadata.labels) &&
    matchFields(fields, object)
  )
}

/** The filter of listeners that receive every object of their watch. */
export const matchesAll = (): boolean => true

/** Which objects of a watch belong to the scope. {@link matchesAll}: no object has to be checked. */
export function filterOf(scope: WatchScope, watched: WatchScope): (object: KubeObject) => boolean {
  const local = localScope(scope, watched)
  const { namespace, prefix, labels, fields } = local
  const isWhole = namespace === watched.namespace && prefix === undefined && labels.length === 0 && fields.length === 0
  return isWhole ? matchesAll : (object) => inWatchScope(local, object)
}

/** May an object of this name be in the scope? */
export function mayConcern(scope: WatchScope, { namespace, name }: ObjectRef): boolean {
  return (
    (scope.namespace === undefined || scope.namespace === namespace) &&
    (scope.name === undefined || scope.name === name)
  )
}

/** May an object be in both scopes? */
export function mayMeet(a: WatchScope, b: WatchScope): boolean {
  return (
    (a.namespace === undefined || b.namespace === undefined || a.namespace === b.namespace) &&
    (a.name === undefined || b.name === undefined || a.name === b.name)
  )
}
