/**
 * The rule by which needs become watches.
 *
 * 1. Needs for the same objects are one watch; it keeps what any of them needs.
 * 2. Selections that differ in the values of one label are one watch for all the values.
 * 3. A selection within another has no watch of its own, if the other keeps enough of each object.
 * 4. Each of the others has its own, fifty of them at the most. Beyond, those of each namespace become one; if that does
 *    not suffice, all do. Such a *joined* watch brings more than is needed, which is dropped on arrival (`scope-filter.ts`).
 * 5. A watch that the server refuses serves nobody but those who asked for just that. So a joined one is taken apart
 *    again: an account that may read three Secrets by name gets three watches, not a Forbidden.
 *
 * A joined watch never takes in more, since all would have to be listed for the sake of one: what comes later stands
 * beside it until there are too many again. It is taken apart when half as many selections are left as made it.
 */
import { coverFields, coverLabels, type LabelRequirement, type LabelSelector } from '../kube/selector.ts'
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

/** Watches of one resource, unless the server refuses to have several made one. */
export const mostWatches = 50

/** One scope that somebody needs. */
export interface Want {
  readonly scope: WatchScope
  readonly shape: ObjectShape
}

export interface PlannedWatch {
  readonly watch: Watch
  /** What it is wanted for. */
  readonly wants: readonly Want[]
  /** Made of several, and wider than each. */
  readonly isJoined: boolean
}

export interface PlanInput {
  readonly wants: Iterable<Want>
  /** Joined watches that are there, with what they hold. */
  readonly joined?: readonly PlannedWatch[] | undefined
  /** Did the server refuse this watch? @default none */
  readonly isRefused?: ((watch: Watch) => boolean) | undefined
  /** @default {@link mostWatches} */
  readonly most?: number | undefined
}

export function planWatches({
  wants,
  joined = [],
  isRefused = () => false,
  most = mostWatches,
}: PlanInput): readonly PlannedWatch[] {
  const different = foldEqual(wants)
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
  const places = Map.groupBy(single, ({ watch }) => watch.scope.namespace)
  const all = places.size > most ? join(single, undefined) : single
  const byPlace = [...places].flatMap(([namespace, group]) => join(group, namespace))
  return all.length === 1 ? all : foldImplied(byPlace, isRefused)
}

// ── 1. ───────────────────────────────────────────────────────────────────────────────────────────────────────

function foldEqual(wants: Iterable<Want>): readonly PlannedWatch[] {
  const byScope = new Map<string, { scope: WatchScope; shape: ObjectShape; readonly wants: Map<string, Want> }>()
  for (const want of wants) {
    const { shape } = want
    const scope = want.scope.prefix === undefined ? want.scope : scopeOf({ ...want.scope, prefix: undefined })
    const known = byScope.get(scope.key)
    const key = `${want.scope.key} ${describeShape(shape)}`
    if (!known) byScope.set(scope.key, { scope, shape, wants: new Map([[key, want]]) })
    else if (!known.wants.has(key)) {
      known.wants.set(key, want)
      known.shape = joinShapes(known.shape, shape)
    }
  }
  return [...byScope.values()].map(({ scope, shape, wants: all }) => ({
    watch: { scope, shape },
    wants: [...all.values()],
    isJoined: false,
  }))
}

// ── 2. ───────────────────────────────────────────────────────────────────────────────────────────────────────

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
        wants: [...other.wants, ...one.wants],
        isJoined: false,
      }
  }
  return [...plain, ...joined]
}

/** One watch for exactly what two select, if labels can say it. */
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

// ── 3. ───────────────────────────────────────────────────────────────────────────────────────────────────────

function foldImplied(watches: readonly PlannedWatch[], isRefused: (watch: Watch) => boolean): readonly PlannedWatch[] {
  // One name implies nothing that is worth looking for, and there may be thousands.
  const wide = watches.filter(({ watch }) => watch.scope.name === undefined && !isRefused(watch))
  const roots = wide.filter(
    (one, index) =>
      !wide.some((other, at) => other !== one && serves(other, one) && (at < index || !serves(one, other))),
  )
  const guests = new Map<PlannedWatch, Want[]>(roots.map((root) => [root, []]))
  const others: PlannedWatch[] = []
  for (const one of watches) {
    if (guests.has(one)) continue
    const root = roots.find((candidate) => serves(candidate, one))
    if (root) guests.get(root)!.push(...one.wants)
    else others.push(one)
  }
  const hosts = [...guests].map(([root, more]): PlannedWatch => {
    const { watch, wants, isJoined } = root
    return more.length === 0 ? root : { watch, wants: [...wants, ...more], isJoined }
  })
  return [...hosts, ...others]
}

/** Does a watch bring, and keep, all that the other is wanted for? */
function serves(one: PlannedWatch, other: PlannedWatch): boolean {
  const { scope, shape } = one.watch
  return other.wants.every(
    (want) =>
      shapeServes(shape, want.shape) &&
      shapeServes(shape, { detail: pathsToSelect(want.scope, scope), managedFields: false }) &&
      heldBy(one).serves(want.scope),
  )
}

const held = new WeakMap<PlannedWatch, ScopeSet>()

function heldBy(one: PlannedWatch): ScopeSet {
  let set = held.get(one)
  if (!set) held.set(one, (set = scopeSet(one.wants.map(({ scope }) => scope))))
  return set
}

// ── 4. ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Those that joined watches hold are theirs; the rest stands beside them. */
function useJoined(single: readonly PlannedWatch[], joined: readonly PlannedWatch[]): readonly PlannedWatch[] {
  const guests = new Map<PlannedWatch, Want[]>(joined.map((one) => [one, []]))
  const rest: PlannedWatch[] = []
  for (const one of single) {
    // The latest was made to take the place of those before.
    const host = joined.findLast((candidate) => serves(candidate, one))
    if (host) guests.get(host)!.push(...one.wants)
    else rest.push(one)
  }
  const used = [...guests].filter(([, wants]) => wants.length > 0)
  return [...used.map(([{ watch }, wants]) => ({ watch, wants, isJoined: true })), ...rest]
}

/** Is something as wide to be watched beside it? Then the two had better be one. */
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
  const wants = watches.flatMap((one) => one.wants)
  const paths = wants.flatMap((want) => pathsToSelect(want.scope, scope))
  const shape = watches.map(({ watch }) => watch.shape).reduce(joinShapes, { detail: paths, managedFields: false })
  return { watch: { scope, shape }, wants, isJoined: true }
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}
