/**
 * All requirements of a selector on one label or field: may it be absent, and which values may it have.
 *
 * Requirements narrow a constraint one after the other; two constraints can be compared (is one within the other?) and joined
 * (what holds for both?). For this, selectors are converted to constraints and back to requirements.
 */
import { parseInt64 } from '../go/int64.ts'

export interface Constraint {
  readonly absent: boolean
  /** The allowed values. Empty: no value, so it must be absent; if it may not be absent either, the constraint is unsatisfiable. */
  readonly only?: ReadonlySet<string> | undefined
  readonly never: ReadonlySet<string>
  /** Integers: exclusive lower and upper bound. */
  readonly above?: bigint | undefined
  readonly below?: bigint | undefined
}

/** By label key or field path. */
export type Constraints = ReadonlyMap<string, Constraint>

/** A label may be absent. */
export const anyLabel: Constraint = { absent: true, never: new Set() }

/** A field always has a text, possibly empty. */
export const anyField: Constraint = { absent: false, never: new Set() }

export function mustExist(known: Constraint): Constraint {
  return { ...known, absent: false }
}

export function mustNotExist(known: Constraint): Constraint {
  return { ...known, only: new Set() }
}

export function mustBeIn(known: Constraint, values: readonly string[]): Constraint {
  return { ...known, absent: false, only: new Set(values.filter((value) => allows(known, value))) }
}

export function mustNotBeIn(known: Constraint, values: readonly string[]): Constraint {
  return sift({ ...known, never: new Set([...known.never, ...values]) })
}

export function mustBeAbove(known: Constraint, bound: bigint): Constraint {
  return sift({ ...known, absent: false, above: known.above === undefined ? bound : greater(known.above, bound) })
}

export function mustBeBelow(known: Constraint, bound: bigint): Constraint {
  return sift({ ...known, absent: false, below: known.below === undefined ? bound : lesser(known.below, bound) })
}

/** Removes values from `only` that the rest of the constraint forbids. */
function sift(constraint: Constraint): Constraint {
  const { only, ...rest } = constraint
  return only ? { ...constraint, only: new Set([...only].filter((value) => allows(rest, value))) } : constraint
}

function allows({ only, never, above, below }: Constraint, value: string): boolean {
  if (only) return only.has(value)
  if (never.has(value)) return false
  if (above === undefined && below === undefined) return true
  const number = parseInt64(value)
  return number !== undefined && (above === undefined || number > above) && (below === undefined || number < below)
}

function isUnsatisfiable(constraints: Constraints): boolean {
  return constraints.values().some(({ absent, only }) => !absent && only?.size === 0)
}

/** Whether everything that satisfies `a` satisfies `b`; `other` applies to keys that `a` does not name. Errs to false only. */
export function isWithin(a: Constraints, b: Constraints, other: Constraint): boolean {
  return isUnsatisfiable(a) || b.entries().every(([key, wide]) => isNarrower(a.get(key) ?? other, wide))
}

function isNarrower(tight: Constraint, wide: Constraint): boolean {
  if (tight.absent && !wide.absent) return false
  if (tight.only) return tight.only.values().every((value) => allows(wide, value))
  return (
    wide.only === undefined &&
    wide.never.values().every((value) => !allows(tight, value)) &&
    (wide.above === undefined || (tight.above !== undefined && tight.above >= wide.above)) &&
    (wide.below === undefined || (tight.below !== undefined && tight.below <= wide.below))
  )
}

/** What holds for everything that satisfies `a` or `b`, key by key. */
export function joinConstraints(a: Constraints, b: Constraints): Constraints {
  return new Map(
    a.entries().flatMap(([key, left]) => {
      const right = b.get(key)
      return right ? [[key, join(left, right)] as const] : []
    }),
  )
}

function join(a: Constraint, b: Constraint): Constraint {
  const never = [...a.never, ...b.never].filter((value) => !allows(a, value) && !allows(b, value))
  return {
    absent: a.absent || b.absent,
    only: a.only && b.only && new Set([...a.only, ...b.only]),
    never: new Set(never),
    above: a.above === undefined || b.above === undefined ? undefined : lesser(a.above, b.above),
    below: a.below === undefined || b.below === undefined ? undefined : greater(a.below, b.below),
  }
}

function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
