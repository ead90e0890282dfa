/** `eq`, `lt` and the like: strict about types, and with Go's messages. */
import { noFlags } from './format-number.ts'
import { formatValue } from './format-value.ts'
import { GoError } from './go-error.ts'
import {
  compareGoText,
  deepEqual,
  GoInteger,
  GoObject,
  integerValue,
  isInteger,
  isNilList,
  isNilMap,
  goKindOf,
  isMap,
  typeOf,
} from './values.ts'

type Kind = 'none' | 'bool' | 'int' | 'uint' | 'float' | 'string'

function basicKind(value: unknown): Kind {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'number':
      return 'float'
    case 'string':
      return 'string'
    case 'bigint':
      return 'int'
    default:
      if (value instanceof GoInteger) return goKindOf(value).startsWith('uint') ? 'uint' : 'int'
      return 'none'
  }
}

function isNil(value: unknown): boolean {
  return value === undefined || value === null || isNilList(value) || (isMap(value) && isNilMap(value))
}

function incompatible(a: unknown, b: unknown): GoError {
  return new GoError(`incompatible types for comparison: ${typeOf(a)} and ${typeOf(b)}`)
}

/** Whether the first equals any of the others. */
export function equalsAny(first: unknown, others: readonly unknown[]): boolean {
  if (others.length === 0) throw new GoError('missing argument for comparison')
  return others.some((other) => equals(first, other))
}

function equals(a: unknown, b: unknown): boolean {
  const [kindA, kindB] = [basicKind(a), basicKind(b)]
  if (isInteger(a) && isInteger(b)) return integerValue(a) === integerValue(b)
  if (kindA !== kindB) {
    if ((a ?? null) !== null && (b ?? null) !== null) throw incompatible(a, b)
    return false
  }
  if (kindA !== 'none') return a === b
  return equalComposites(a, b)
}

function equalComposites(a: unknown, b: unknown): boolean {
  const [kindA, kindB] = [goKindOf(a), goKindOf(b)]
  if (kindA !== kindB && kindA !== 'invalid' && kindB !== 'invalid') {
    throw new GoError(
      `non-comparable types ${formatValue(a, 's', noFlags)}: ${typeOf(a)}, ${typeOf(b)}: ${formatValue(b, 'v', noFlags)}`,
    )
  }
  if (isNil(a) || isNil(b)) return isNil(a) === isNil(b)
  if (!(b instanceof GoObject)) throw new GoError(`non-comparable type ${formatValue(b, 's', noFlags)}: ${typeOf(b)}`)
  return a === b || (!b.type.startsWith('*') && deepEqual(a, b))
}

function isLess(a: unknown, b: unknown): boolean {
  const [kindA, kindB] = [basicKind(a), basicKind(b)]
  if (kindA === 'none' || kindB === 'none') throw new GoError('invalid type for comparison')
  if (isInteger(a) && isInteger(b)) return integerValue(a) < integerValue(b)
  if (kindA !== kindB) throw incompatible(a, b)
  if (typeof a === 'string') return compareGoText(a, b as string) < 0
  if (typeof a === 'number') return a < (b as number)
  throw new GoError('invalid type for comparison')
}

function isLessOrEqual(a: unknown, b: unknown): boolean {
  return isLess(a, b) || equals(a, b)
}

export const orders: Readonly<Record<'lt' | 'le' | 'gt' | 'ge', (a: unknown, b: unknown) => boolean>> = {
  lt: isLess,
  le: isLessOrEqual,
  gt: (a, b) => !isLessOrEqual(a, b),
  ge: (a, b) => !isLess(a, b),
}
