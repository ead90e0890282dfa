/**
 * The rule that turns needs into watches.
 *
 * 1. Needs for the same objects share one watch; it keeps the fields that any of them needs.
 * 2. Selectors that differ in the values of one label become one watch for all the values.
 * 3. A scope within another one has no watch of its own, if the other keeps enough of each object.
 * 4. Each of the others has its own watch, fifty at most. Beyond that, the watches of each namespace are joined; if that is
 *    not enough, all are. A *joined* watch delivers more than is needed; the rest is dropped on arrival (`scope-filter.ts`).
 * 5. A watch that the server forbids serves only needs for exactly its scope. So a joined watch is split again: an account
 *    that may read three Secrets by name gets three watches, not a Forbidden.
 *
 * A joined watch is never extended, since that would list all of its objects again: later needs get watches of their own
 * until there are too many again. Joined watches are split when no more than half of the limit is needed.
 */
import { coverFields, coverLabels, type LabelRequirement, type LabelSelector } from '../kube/selector/selector.ts'
import {
  describeShape,
  joinShapes,
  pathsToSelect,
  type WatchScope,
  scopeOf,
  type ScopeSet,
  scopeServes,
  scopeSet,
  type ObjectShape,
  shapeServes,
  type Watch,
} from './need.ts'

/** The default limit of watches per resource; exceeded where the server forbids joined watches. */
export const mostWatches = 50

/** One scope of a need. */
export interface ScopedNeed {
  readonly scope: WatchScope
  readonly shape: ObjectShape
}

export interface PlannedWatch {
  readonly watch: Watch
  /** The needs it serves. */
  readonly needs: readonly ScopedNeed[]
  /** Joined from several watches, and wider than each. */
  readonly isJoined: boolean
}

interface PlanInput {
  readonly needs: Iterable<ScopedNeed>
  /** Existing joined watches, with the scopes they hold. */
  readonly joined?: readonly PlannedWatch[] | undefined
  /** Did the server forbid this watch? @default none */
  readonly isRefused?: ((watch: Watch) => boolean) | undefined
  /** @default {@link mostWatches} */
  readonly most?: number | undefined
}

export function planWatches({
  needs,
  joined = [],
  isRefused = () => false,
  most = mostWatches,
}: PlanInput): readonly PlannedWatch[] {
  const different = foldEqual(needs)
  if (different.length <= 1 && joined.length === 0) return different
  const single = foldImplied(joinValues(different, isRefused), isRefused)
  const usable =
    single.length > most / 2 ? joined.filter((one) => !isRefused(one.watch) && !isOutgrown(one, single)) : []
  const kept = usable.length === 0 ? single : useJoined(single, usable)
  if (kept.length <= most) return kept
  const join = (group: readonly PlannedWatch[], namespace: string | undefined): readonly PlannedWatch[] => {
    const one = joinAll(group, namespace)
    return group.length === 1 || isRefused(one.watch) ? group : [one]
  }
  const namespaces = Map.groupBy(single, ({ watch }) => watch.scope.namespace)
  const all = namespaces.size > most ? join(single, undefined) : single
  const byNamespace = [...namespaces].flatMap(([namespace, group]) => join(group, namespace))
  return all.length === 1 ? all : foldImplied(byNamespace, isRefused)
}

// ── 1. equal scopes ──────────────────────────────────────────────────────────────────────────────────────────────────

function foldEqual(needs: Iterable<ScopedNeed>): readonly PlannedWatch[] {
  const byScope = new Map<string, { scope: WatchScope; shape: ObjectShape; readonly needs: Map<string, ScopedNeed> }>()
  for (const need of needs) {
    const { shape } = need
    const scope = need.scope.prefix === undefined ? need.scope : scopeOf({ ...need.scope, prefix: undefined })
    const known = byScope.get(scope.key)
    const key = `${need.scope.key} ${describeShape(shape)}`
    if (!known) byScope.set(scope.key, { scope, shape, needs: new Map([[key, need]]) })
    else if (!known.needs.has(key)) {
      known.needs.set(key, need)
      known.shape = joinShapes(known.shape, shape)
    }
  }
  return [...byScope.values()].map(({ scope, shape, needs: all }) => ({
    watch: { scope, shape },
    needs: [...all.values()],
    isJoined: false,
  }))
}

// ── 2. values of one label ───────────────────────────────────────────────────────────────────────────────────────────

function joinValues(watches: readonly PlannedWatch[], isRefused: (watch: Watch) => boolean): readonly PlannedWatch[] {
  const [plain, labelled] = partition(watches, ({ watch }) => watch.scope.labels.length === 0)
  if (labelled.length < 2) return watches
  const joined: PlannedWatch[] = []
  for (const one of labelled) {
    const index = joined.findIndex((other) => {
      const both = withValuesOf(other.watch, one.watch)
      return both !== undefined && !isRefused(both)
    })
    const other = joined[index]
    if (!other) joined.push(one)
    else
      joined[index] = {
        watch: withValuesOf(other.watch, one.watch)!,
        needs: [...other.needs, ...one.needs],
        isJoined: false,
      }
  }
  return [...plain, ...joined]
}

/** One watch for exactly the objects of two, if one label selector can express that. */
function withValuesOf(a: Watch, b: Watch): Watch | undefined {
  if (a.scope.namespace !== b.scope.namespace || describeShape(a.shape) !== describeShape(b.shape)) return undefined
  if (scopeOf({ ...a.scope, labels: [] }).key !== scopeOf({ ...b.scope, labels: [] }).key) return undefined
  const labels = uniteValues(a.scope.labels, b.scope.labels)
  return labels && { scope: scopeOf({ ...a.scope, labels }), shape: a.shape }
}

function uniteValues(a: LabelSelector, b: LabelSelector): LabelSelector | undefined {
  const different = a.flatMap((one, index) => (isSameRequirement(one, b[index]) ? [] : [index]))
  const [at] = different
  if (a.length !== b.length || different.length !== 1 || at === undefined) return undefined
  const [left, right] = [a[at]!, b[at]!]
  const isOnly = a.filter(({ key }) => key === left.key).length === 1
  if (left.key !== right.key || !isOnly || !isValues(left) || !isValues(right)) return undefined
  const values = [...new Set([...left.values, ...right.values])].toSorted()
  return a.with(at, { key: left.key, operator: 'in', values })
}

function isValues({ operator }: LabelRequirement): boolean {
  return operator === '=' || operator === '==' || operator === 'in'
}

function isSameRequirement(a: LabelRequirement, b: LabelRequirement | undefined): boolean {
  return a.key === b?.key && a.operator === b.operator && a.values.join() === b.values.join()
}

// ── 3. scopes within others ──────────────────────────────────────────────────────────────────────────────────────────

function foldImplied(watches: readonly PlannedWatch[], isRefused: (watch: Watch) => boolean): readonly PlannedWatch[] {
  // A scope of one name contains no other scope, and there may be thousands of them.
  const wide = watches.filter(({ watch }) => watch.scope.name === undefined && !isRefused(watch))
  const roots = wide.filter(
    (one, index) =>
      !wide.some((other, at) => other !== one && serves(other, one) && (at < index || !serves(one, other))),
  )
  const absorbed = new Map<PlannedWatch, ScopedNeed[]>(roots.map((root) => [root, []]))
  const others: PlannedWatch[] = []
  for (const one of watches) {
    if (absorbed.has(one)) continue
    const root = roots.find((candidate) => serves(candidate, one))
    if (root) absorbed.get(root)!.push(...one.needs)
    else others.push(one)
  }
  const hosts = [...absorbed].map(([root, more]): PlannedWatch => {
    const { watch, needs, isJoined } = root
    return more.length === 0 ? root : { watch, needs: [...needs, ...more], isJoined }
  })
  return [...hosts, ...others]
}

/** Does a watch deliver and keep everything that the needs of the other require? */
function serves(one: PlannedWatch, other: PlannedWatch): boolean {
  const { scope, shape } = one.watch
  return other.needs.every(
    (need) =>
      shapeServes(shape, need.shape) &&
      shapeServes(shape, { detail: pathsToSelect(need.scope, scope), managedFields: false }) &&
      heldBy(one).serves(need.scope),
  )
}

const held = new WeakMap<PlannedWatch, ScopeSet>()

function heldBy(one: PlannedWatch): ScopeSet {
  let set = held.get(one)
  if (!set) held.set(one, (set = scopeSet(one.needs.map(({ scope }) => scope))))
  return set
}

// ── 4. joined watches ────────────────────────────────────────────────────────────────────────────────────────────────

/** Existing joined watches serve the needs they hold; the others keep their own watches. */
function useJoined(single: readonly PlannedWatch[], joined: readonly PlannedWatch[]): readonly PlannedWatch[] {
  const absorbed = new Map<PlannedWatch, ScopedNeed[]>(joined.map((one) => [one, []]))
  const rest: PlannedWatch[] = []
  for (const one of single) {
    // The latest was created to replace the ones before.
    const host = joined.findLast((candidate) => serves(candidate, one))
    if (host) absorbed.get(host)!.push(...one.needs)
    else rest.push(one)
  }
  const used = [...absorbed].filter(([, needs]) => needs.length > 0)
  return [...used.map(([{ watch }, needs]) => ({ watch, needs, isJoined: true })), ...rest]
}

/** Would another watch at least as wide exist beside it? Then the two are better joined again. */
function isOutgrown(joined: PlannedWatch, single: readonly PlannedWatch[]): boolean {
  return single.some((one) => scopeServes(one.watch.scope, joined.watch.scope) && !serves(joined, one))
}

function joinAll(watches: readonly PlannedWatch[], namespace: string | undefined): PlannedWatch {
  const scopes = watches.map(({ watch }) => watch.scope)
  const scope = scopeOf({
    namespace,
    labels: scopes.map(({ labels }) => labels).reduce(coverLabels),
    fields: scopes.map(({ fields }) => fields).reduce(coverFields),
  })
  const needs = watches.flatMap((one) => one.needs)
  const paths = needs.flatMap((need) => pathsToSelect(need.scope, scope))
  const shape = watches.map(({ watch }) => watch.shape).reduce(joinShapes, { detail: paths, managedFields: false })
  return { watch: { scope, shape }, needs, isJoined: true }
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}
