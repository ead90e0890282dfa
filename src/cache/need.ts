/**
 * What consumers ask of one resource, and the least that serves them all.
 *
 * A {@link Need} is one consumer's wish. A {@link Cover} is the join of all wishes: it decides which watches run
 * and what is kept of each object. A namespace nobody asked for is never watched, so a consumer that may read only
 * two namespaces needs no right on the others; once somebody asks for all namespaces, one watch serves everyone.
 */
import {
  coverFields,
  coverLabels,
  everyField,
  type FieldSelector,
  formatFields,
  formatLabels,
  impliesFields,
  impliesLabels,
  type LabelSelector,
  matchFields,
  matchLabels,
} from '../kube/selector.ts'
import type { KubeObject } from '../kube/object.ts'

/** Which objects: `namespace` undefined means all of them. */
export interface Scope {
  readonly namespace: string | undefined
  readonly labels: LabelSelector
  readonly fields: FieldSelector
}

/** How much of each object: everything, metadata alone, or metadata and these paths (`spec.nodeName`). */
export type Detail = 'full' | 'metadata' | readonly string[]

export interface Need {
  readonly scopes: readonly Scope[]
  readonly detail: Detail
  readonly managedFields: boolean
}

/** The join of needs: at most one scope a namespace, or a single one over all. */
export interface Cover {
  readonly scopes: readonly Scope[]
  readonly detail: Detail
  readonly managedFields: boolean
}

export function coverNeeds(needs: readonly Need[]): Cover {
  const scopes = new Map<string | undefined, Scope>()
  let detail: Detail | undefined
  let managedFields = false
  for (const need of needs) {
    for (const scope of need.scopes) {
      const held = scopes.get(scope.namespace)
      scopes.set(scope.namespace, held ? joinScopes(held, scope, scope.namespace) : scope)
    }
    detail = detail === undefined ? need.detail : joinDetails(detail, need.detail)
    managedFields ||= need.managedFields
  }
  const folded = foldNamespaces(scopes)
  for (const need of needs) detail = joinDetails(detail ?? 'metadata', unfilteredPaths(need, folded))
  return { scopes: folded, detail: detail ?? 'metadata', managedFields }
}

/** Does the watch that serves the scope apply its field selector already? */
function isFilteredBy(cover: readonly Scope[], { namespace, fields }: Scope): boolean {
  const held = cover.find((candidate) => candidate.namespace === undefined || candidate.namespace === namespace)
  return held !== undefined && impliesFields(held.fields, fields)
}

/**
 * Field selectors that the server no longer applies, because the join is wider, are applied here: so the fields they
 * look at must be kept.
 */
function unfilteredPaths(need: Need, cover: readonly Scope[]): readonly string[] {
  return need.scopes
    .filter((scope) => !isFilteredBy(cover, scope))
    .flatMap(({ fields }) => fields.map(({ path }) => path))
    .filter((path) => !path.startsWith('metadata.'))
}

function joinScopes(a: Scope, b: Scope, namespace: string | undefined): Scope {
  return { namespace, labels: coverLabels(a.labels, b.labels), fields: coverFields(a.fields, b.fields) }
}

/** One watch over all namespaces serves the single ones too. */
function foldNamespaces(scopes: ReadonlyMap<string | undefined, Scope>): readonly Scope[] {
  const all = scopes.get(undefined)
  if (!all) return [...scopes.values()].toSorted((a, b) => (a.namespace! < b.namespace! ? -1 : 1))
  return [[...scopes.values()].reduce((cover, scope) => joinScopes(cover, scope, undefined), all)]
}

function joinDetails(a: Detail, b: Detail): Detail {
  if (a === 'full' || b === 'full') return 'full'
  if (b === 'metadata' || b.length === 0) return a
  if (a === 'metadata' || a.length === 0) return b
  const paths = [...new Set([...a, ...b])].toSorted()
  // A path below one that is kept anyway adds nothing.
  return paths.filter((path) => !paths.some((other) => path.startsWith(`${other}.`)))
}

export function sameCover(a: Cover, b: Cover): boolean {
  return describeCover(a) === describeCover(b)
}

/** One line for logs, metrics and comparison. */
export function describeCover({ scopes, detail, managedFields }: Cover): string {
  const where = scopes.map((scope) => describeScope(scope)).join(' ')
  const what = typeof detail === 'string' ? detail : detail.join(',')
  return `${where} ${what}${managedFields ? ' with managedFields' : ''}`
}

export function describeScope({ namespace, labels, fields }: Scope): string {
  return `${namespace ?? '*'}[${formatLabels(labels)}][${formatFields(fields)}]`
}

/** True when a watch of `cover` delivers, for certain, all that `need` asks. */
export function coverServes(cover: Cover, need: Need): boolean {
  return (
    (cover.managedFields || !need.managedFields) &&
    detailServes(cover.detail, need.detail) &&
    need.scopes.every((scope) => cover.scopes.some((held) => scopeServes(held, scope)))
  )
}

function scopeServes(held: Scope, asked: Scope): boolean {
  return (
    (held.namespace === undefined || held.namespace === asked.namespace) &&
    impliesLabels(asked.labels, held.labels) &&
    impliesFields(asked.fields, held.fields)
  )
}

function detailServes(held: Detail, asked: Detail): boolean {
  if (held === 'full' || asked === 'metadata') return true
  if (asked === 'full' || held === 'metadata') return false
  return asked.every((path) => held.some((kept) => path === kept || path.startsWith(`${kept}.`)))
}

export function sameScope(a: Scope, b: Scope): boolean {
  return describeScope(a) === describeScope(b)
}

/** Which keys (see key.ts) a watch of the scope may speak of. */
export function concernedBy({ namespace }: Scope): (key: string) => boolean {
  return namespace === undefined ? () => true : (key) => key.startsWith(`${namespace}/`)
}

/** Does the object belong to the scope? */
export function inScope({ namespace, labels, fields }: Scope, object: KubeObject): boolean {
  return (
    (namespace === undefined || namespace === object.metadata.namespace) &&
    matchLabels(labels, object.metadata.labels) &&
    matchFields(fields, object)
  )
}

/**
 * The filter of one consumer over what a cover delivers. A field selector that the server applies already is not
 * applied again: the fields it looks at may not have been kept.
 */
export function filterFor({ scopes }: Need, cover: Cover): (object: KubeObject) => boolean {
  const local = scopes.map((scope) => (isFilteredBy(cover.scopes, scope) ? { ...scope, fields: everyField } : scope))
  const [only] = local
  if (local.length === 1 && only) return (object) => inScope(only, object)
  return (object) => local.some((scope) => inScope(scope, object))
}
