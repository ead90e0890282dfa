/** Validation of single values that occur in many kinds: counts, ids, percentages, quantities, paths. */
import {
  compareQuantities,
  makeQuantity,
  parseQuantity,
  type Quantity,
  signOfQuantity,
} from '../../../kube/units/quantity.ts'
import type { IntOrString } from '../../../kube/types/meta/v1.ts'
import { patternRemark } from '../../../kube/validation/name-validation.ts'
import { noErrors, invalidField, type Problems } from '../../../kube/validation/field-error.ts'

export const maxInt32: number = 2 ** 31 - 1

/** An absent value counts as zero. */
export function checkNotNegative(value: number | undefined, field: string): Problems {
  return (value ?? 0) < 0 ? [invalidField(field, value, 'must be greater than or equal to 0')] : noErrors
}

export function checkPositive(value: number | undefined, field: string): Problems {
  return (value ?? 0) <= 0 ? [invalidField(field, value ?? 0, 'must be greater than zero')] : noErrors
}

export function checkRange(value: number | undefined, lowest: number, highest: number, field: string): Problems {
  if (value === undefined || (value >= lowest && value <= highest)) return noErrors
  return [invalidField(field, value, `must be between ${lowest} and ${highest}, inclusive`)]
}

/** Ids of users and groups. */
export function checkId(id: number | undefined, field: string): Problems {
  return checkRange(id, 0, maxInt32, field)
}

/** File permissions. */
export function checkMode(mode: number | undefined, field: string): Problems {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return noErrors
  return [invalidField(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
}

/** A count or a percentage. */
export function checkCountOrPercent(value: IntOrString | undefined, field: string): Problems {
  if (typeof value !== 'string') return checkNotNegative(value, field)
  if (isPercent(value)) return noErrors
  const rule = "a valid percent string must be a numeric string followed by an ending '%'"
  return [invalidField(field, value, patternRemark(rule, '[0-9]+%', '1%', '93%'))]
}

export function checkAtMostAll(value: IntOrString | undefined, field: string): Problems {
  const isMore = typeof value === 'string' && isPercent(value) && countOf(value) > 100
  return isMore ? [invalidField(field, value, 'must not be greater than 100%')] : noErrors
}

/** The number before the percent sign, or the count itself. */
export function countOf(value: IntOrString | undefined): number {
  if (typeof value !== 'string') return value ?? 0
  if (isPercent(value)) return Number(value.slice(0, -1))
  return /^[+-]?\d+$/.test(value) ? Number(value) : 0
}

function isPercent(value: string): boolean {
  return /^[0-9]+%$/.test(value)
}

const nothing = makeQuantity(0)

export function isNegative(amount: string | undefined): boolean {
  return amount !== undefined && compareQuantities(parseQuantity(amount), nothing) < 0
}

export function checkPositiveAmount(amount: string, field: string): Problems {
  return signOfQuantity(parseQuantity(amount)) > 0
    ? noErrors
    : [invalidField(field, amount, 'must be greater than zero')]
}

export function checkAmount(amount: string, field: string): Problems {
  return isNegative(amount) ? [invalidField(field, amount, 'must be greater than or equal to 0')] : noErrors
}

export function isWholeNumber(quantity: Quantity): boolean {
  return quantity.exponent >= 0
}

/** A relative path without `..`. */
export function checkLocalDescendingPath(path: string, field: string): Problems {
  return [
    ...(path.startsWith('/') ? [invalidField(field, path, 'must be a relative path')] : noErrors),
    ...checkNoBackSteps(path, field),
  ]
}

export function checkNoBackSteps(path: string, field: string): Problems {
  return path.split('/').includes('..') ? [invalidField(field, path, "must not contain '..'")] : noErrors
}

/** The path must not begin with `..` either: such file names are reserved for the kubelet. */
export function checkLocalNonReservedPath(path: string, field: string): Problems {
  const isReserved = path.startsWith('..') && !path.startsWith('../')
  return [
    ...checkLocalDescendingPath(path, field),
    ...(isReserved ? [invalidField(field, path, "must not start with '..'")] : noErrors),
  ]
}
