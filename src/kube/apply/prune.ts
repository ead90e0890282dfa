/**
 * Taking away what an applier no longer applies. A field goes when the applier owned it, leaves it out now, and
 * nobody else owns it. A struct in which nobody owns anything any more goes with all that is in it (defaults, say);
 * so does an item of a list or map that nobody claims as such.
 *
 * It is done by removing everything the applier had, then putting back what is owned by somebody, then putting back
 * what was swept away with it although it is none of the applier's.
 */
import { difference, type FieldSet, intersection, union } from './field-set.ts'
import { removeItems } from './items.ts'
import { managerId, type Managers, type Ownership } from './managed-fields.ts'
import { fieldSetOf, withDeclaredFields } from './value-fields.ts'
import type { ConvertVersion, Versioned } from './version.ts'

/**
 * @param merged the live object with the new configuration laid over it
 * @param last what the applier owned before
 * @param managers who owns what, the new configuration included
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

/** Usually all of it is, and there is nothing to take away. */
function isAppliedAgain(last: Ownership, now: Ownership | undefined): boolean {
  return last.apiVersion === now?.apiVersion && difference(last.fields, now.fields).length === 0
}

function without(object: Versioned, fields: FieldSet): Versioned {
  return { ...object, value: removeItems(object.value, fields, object.shape) }
}

/** Puts back what anybody owns, version by version, the pruned one first: conversion may need what it restores. */
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

/** Of what is missing, only what the applier once owned stays away. */
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
