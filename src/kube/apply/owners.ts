/**
 * How ownership moves between field managers. A manager that changes a field becomes its owner: an update always, an apply
 * only by force or if the value stays the same (then both own it). A manager that removes a field removes it from all others.
 */
import { type FieldComparison, compareValues } from './comparison.ts'
import { ApplyConflict, type FieldConflict, conflictsOver } from './conflict.ts'
import { compareText } from './canonical.ts'
import { difference, type FieldSet, intersection, noFields, union } from './field-set.ts'
import { managerId, type Managers, type Ownership, withoutUnownable } from './managed-fields.ts'
import { mergeValues } from './merge.ts'
import { pruneApplied } from './prune.ts'
import { fieldSetOf, reshapeFields } from './value-fields.ts'
import type { ConvertVersion, Versioned } from './version.ts'

export interface OwnerRules {
  readonly convert: ConvertVersion
  /** Removes the fields that this write cannot change. */
  readonly ownable: (fields: FieldSet, apiVersion: string) => FieldSet
}

/** An update: all other managers lose the fields it changed (`taken`). */
export function ownersAfterUpdate(
  live: Versioned,
  updated: Versioned,
  managers: Managers,
  rules: OwnerRules,
): { readonly managers: Managers; readonly taken: FieldSet } {
  const { changed, ...move } = moveOwners(live, updated, reshape(live, managers, rules), undefined, rules)
  return { managers: move.managers, taken: withoutUnownable(union(changed.modified, changed.added)) }
}

interface Applier extends Pick<Ownership, 'manager' | 'subresource'> {
  readonly force: boolean
}

/** An apply: the merged and pruned object, and the owners of its fields. Throws {@link ApplyConflict}. */
export function ownersAfterApply(
  live: Versioned,
  applied: Versioned,
  managers: Managers,
  applier: Applier,
  rules: OwnerRules,
): { readonly object: Versioned; readonly managers: Managers } {
  const { apiVersion } = applied
  const claim = { manager: applier.manager, operation: 'Apply', apiVersion, subresource: applier.subresource } as const
  const id = managerId(claim)
  const current = new Map(reshape(live, managers, rules))
  const last = current.get(id)
  const fields = rules.ownable(fieldSetOf(applied.value, applied.shape), apiVersion)
  current.set(id, { ...claim, time: last?.time, fields })

  const merged = { ...live, value: mergeValues(live.value, applied.value, live.shape) }
  const object = last ? pruneApplied(merged, last, current, rules.convert) : merged
  const move = moveOwners(live, object, current, id, rules)
  if (move.contested.length > 0 && !applier.force) throw new ApplyConflict(conflictsIn(move.contested))

  const owned = withoutUnownable(fields)
  const out = new Map(move.managers)
  if (owned.length > 0) out.set(id, { ...claim, time: last?.time, fields: owned })
  else out.delete(id)
  return { object, managers: out }
}

/** Converts field sets that were written under an older schema; drops entries of versions that are no longer served. */
function reshape(live: Versioned, managers: Managers, { convert }: OwnerRules): Managers {
  const out = new Map<string, Ownership>()
  for (const [id, ownership] of managers) {
    const shape = ownership.apiVersion === live.apiVersion ? live.shape : convert(live, ownership.apiVersion)?.shape
    if (!shape) continue
    const fields = reshapeFields(ownership.fields, shape)
    out.set(id, fields === ownership.fields ? ownership : { ...ownership, fields })
  }
  return out
}

/** Removes the difference of two objects from all managers but one. */
function moveOwners(
  live: Versioned,
  next: Versioned,
  managers: Managers,
  self: string | undefined,
  { convert, ownable }: OwnerRules,
): { readonly managers: Managers; readonly changed: FieldComparison; readonly contested: readonly Contested[] } {
  const compareAt = (apiVersion: string): FieldComparison | undefined => {
    const before = convert(live, apiVersion)
    const after = convert(next, apiVersion)
    if (!before || !after) return undefined
    const { added, modified, removed } = compareValues(before.value, after.value, before.shape)
    return {
      added: ownable(added, apiVersion),
      modified: ownable(modified, apiVersion),
      removed: ownable(removed, apiVersion),
    }
  }
  const changed = compareAt(next.apiVersion) ?? { added: noFields, modified: noFields, removed: noFields }
  const changes = new Map<string, FieldComparison | undefined>([[next.apiVersion, changed]])
  const out = new Map<string, Ownership>()
  const lost: Contested[] = []
  for (const [id, ownership] of managers) {
    const { apiVersion, fields } = ownership
    if (!changes.has(apiVersion)) changes.set(apiVersion, compareAt(apiVersion))
    const change = changes.get(apiVersion)
    if (!change) continue
    let left = fields
    if (id !== self) {
      const contested = intersection(fields, union(change.modified, change.added))
      if (contested.length > 0) lost.push({ id, fields: contested, ownership })
      left = difference(difference(fields, contested), change.removed)
    }
    if (left.length > 0) out.set(id, left === fields ? ownership : { ...ownership, fields: left })
  }
  return { managers: out, changed, contested: lost }
}

/** The fields that a manager lost by a change. */
interface Contested {
  readonly id: string
  readonly fields: FieldSet
  readonly ownership: Ownership
}

function conflictsIn(contested: readonly Contested[]): readonly FieldConflict[] {
  return contested
    .toSorted((a, b) => compareText(a.id, b.id))
    .flatMap(({ fields, ownership }) => conflictsOver(fields, ownership))
}
