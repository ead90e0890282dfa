/**
 * The arithmetic of a rolling update: the next replicas of the new ReplicaSet and of each old one, so that there are
 * never more than `desired + surge` pods and never fewer than `desired - unavailable` available ones.
 */

export interface Sizes {
  readonly desired: number
  readonly surge: number
  readonly unavailable: number
}

/** The sizes of a ReplicaSet. */
export interface SetSize {
  readonly spec: number
  readonly available: number
}

interface Shift {
  readonly present: number
  /** In the order of the input. */
  readonly old: readonly number[]
}

/** One step. `old` is ordered oldest first. */
export function shiftOf({ desired, surge, unavailable }: Sizes, present: SetSize, old: readonly SetSize[]): Shift {
  const total = present.spec + sum(old, 'spec')
  return {
    present: nextPresent(desired, desired + surge, present.spec, total),
    old: nextOld(desired - unavailable, present, old, total),
  }
}

function nextPresent(desired: number, most: number, spec: number, total: number): number {
  if (spec >= desired) return desired
  return spec + Math.max(0, Math.min(most - total, desired - spec))
}

function nextOld(least: number, present: SetSize, old: readonly SetSize[], total: number): readonly number[] {
  const left = old.map(({ spec }) => spec)
  // New replicas that are not available yet cannot replace old ones.
  let mayGo = total - least - (present.spec - present.available)
  if (mayGo <= 0) return left
  // Unavailable replicas are removed first.
  for (const [index, { spec, available }] of old.entries()) {
    const gone = Math.min(Math.max(mayGo, 0), spec - available)
    left[index] = spec - gone
    mayGo -= gone
  }
  let mayStop = present.available + sum(old, 'available') - least
  for (const [index, spec] of left.entries()) {
    const gone = Math.min(Math.max(mayStop, 0), spec)
    left[index] = spec - gone
    mayStop -= gone
  }
  return left
}

function sum(sets: readonly SetSize[], member: keyof SetSize): number {
  return sets.reduce((total, set) => total + set[member], 0)
}

/** The desired replicas of these sets together. */
export function oldReplicasOf(sets: readonly { readonly spec: { readonly replicas?: number } }[]): number {
  return sets.reduce((total, { spec }) => total + (spec.replicas ?? 1), 0)
}

interface RolloutMember {
  readonly name: string
  readonly created: string
  readonly replicas: number
  /** The maximum replicas of the Deployment when the set was last scaled. */
  readonly maximum: number
}

/** The sizes of all sets when a Deployment is scaled during a rollout: each grows or shrinks proportionally. */
export function proportions(members: readonly RolloutMember[], allowed: number): ReadonlyMap<string, number> {
  const total = members.reduce((count, { replicas }) => count + replicas, 0)
  const toAdd = allowed - total
  const newerFirst = toAdd > 0 ? 1 : -1
  const ordered = members.toSorted(
    (a, b) =>
      b.replicas - a.replicas ||
      (a.created === b.created ? (a.name < b.name ? -1 : 1) : (a.created < b.created ? 1 : -1) * newerFirst),
  )
  const sizes = new Map<string, number>()
  let added = 0
  for (const { name, replicas, maximum } of ordered) {
    const share = Math.round((replicas * allowed) / maximum) - replicas
    const part = toAdd > 0 ? Math.min(Math.max(share, 0), toAdd - added) : Math.max(Math.min(share, 0), toAdd - added)
    sizes.set(name, replicas + (toAdd === 0 ? 0 : part))
    added += toAdd === 0 ? 0 : part
  }
  const largest = ordered[0]
  if (largest) sizes.set(largest.name, Math.max(0, sizes.get(largest.name)! + toAdd - added))
  return sizes
}
