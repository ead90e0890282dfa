/**
 * Removes fields that an applier no longer applies: fields that it owned, omits now, and that no other manager owns. A struct
 * in which no manager owns a field is removed with all its contents (defaults, say); so is an item of a list or map that no
 * manager owns.
 *
 * First all fields that the applier owned are removed, then those with another owner are restored, then those that were
 * removed with them although they were not the applier's.
 */
import { difference, type FieldSet, intersection, union } from './field-set.ts'
import { removeItems } from './items.ts'
import { managerId, type Managers, type Ownership } from './managed-fields.ts'
import { fieldSetOf, withDeclaredFields } from './value-fields.ts'
import type { ConvertVersion, Versioned } from './version.ts'

/**
 * @param merged the live object with the new configuration merged in
 * @param last what the applier owned before
 * @param managers all owners, including those of the new configuration
 */
export function pruneApplied(
  merged: Versioned,
  last: Ownership,
  managers: Managers,
  convert: ConvertVersion,
): Versioned {
  if (isAppliedAgain(last, managers.get(managerId(last)))) return merged
  const before = convert(merged, last.apiVersion)
  if (!before) return merged
  const swept = without(before, withDeclaredFields(last.fields, before.shape))
  const owned = withOwned(before, swept, managers, convert)
  const pruned = withUnrelated(before, owned, last, convert)
  return convert(pruned, merged.apiVersion) ?? merged
}

/** Usually all fields are still owned, and nothing is removed. */
function isAppliedAgain(last: Ownership, now: Ownership | undefined): boolean {
  return last.apiVersion === now?.apiVersion && difference(last.fields, now.fields).length === 0
}

function without(object: Versioned, fields: FieldSet): Versioned {
  return { ...object, value: removeItems(object.value, fields, object.shape) }
}

/** Restores owned fields, version by version, the pruned one first: conversion may need the restored fields. */
function withOwned(before: Versioned, swept: Versioned, managers: Managers, convert: ConvertVersion): Versioned {
  const byVersion = new Map<string, FieldSet>([[before.apiVersion, []]])
  for (const { apiVersion, fields } of managers.values()) {
    byVersion.set(apiVersion, union(byVersion.get(apiVersion) ?? [], fields))
  }
  let pruned = swept
  for (const [apiVersion, owned] of byVersion) {
    const whole = convert(before, apiVersion)
    const part = convert(pruned, apiVersion)
    if (!whole || !part) continue
    const keep = union(declared(fieldSetOf(part.value, part.shape), whole), declared(owned, whole))
    pruned = without(whole, difference(declared(fieldSetOf(whole.value, whole.shape), whole), keep))
  }
  return pruned
}

/** Of the missing fields, only those that the applier once owned stay removed. */
function withUnrelated(before: Versioned, pruned: Versioned, last: Ownership, convert: ConvertVersion): Versioned {
  const part = convert(pruned, last.apiVersion)
  if (!part) return before
  const missing = difference(
    declared(fieldSetOf(before.value, before.shape), before),
    declared(fieldSetOf(part.value, part.shape), before),
  )
  return without(before, intersection(missing, declared(last.fields, before)))
}

function declared(fields: FieldSet, { shape }: Versioned): FieldSet {
  return withDeclaredFields(fields, shape)
}
