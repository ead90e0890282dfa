/**
 * Calls of operators and functions at run time. Comparisons and sums of common types have a fast path; everything else looks
 * up the matching overload.
 */
import { compareCelValues, equalValues } from '../library/compare.ts'
import { type CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { type EvaluationFrame, absorbed, pay } from './frame.ts'
import type { CelOverload } from '../library/function.ts'
import { addInts } from '../value/integer.ts'
import { spendSteps } from '../value/steps.ts'
import { CelList, CelMap, CelOpaque, type CelValue, isOfType, celSizeOf, typeOfValue } from '../value/value.ts'

export const isCelOperator = (name: string): boolean => /^[_!@-]/.test(name)

/** Functions that check their arguments themselves report less. */
const terse = new Set(['contains', 'startsWith', 'endsWith', 'matches'])

/** The server's message for arguments without a matching overload. */
export function noMatchingOverload(name: string, values: readonly CelValue[]): CelRuntimeError {
  if (terse.has(name)) return noSuchOverload()
  if (name === 'size') return noSuchOverload(name)
  return noSuchOverload(`${name}(${values.map((value) => typeOfValue(value).name).join(', ')})`)
}

/** Operators have other messages than functions. */
export function dispatchOperator(
  name: string,
  overloads: readonly CelOverload[],
  values: readonly CelValue[],
): readonly [CelOverload, CelValue] {
  const fitting = overloads.find(
    (overload) =>
      overload.params.length === values.length &&
      overload.params.every((type, index) => isOfType(values[index]!, type)),
  )
  if (fitting && !fitting.cost) spendOnTexts(values)
  if (fitting) return [fitting, fitting.call(values)]
  // The implementation of the operator reports its own error.
  if (isCelOperator(name)) return [overloads[0]!, overloads[0]!.call(values)]
  throw noMatchingOverload(name, values)
}

/** A call of cost one may read its texts completely. */
export function spendOnTexts(values: readonly CelValue[]): void {
  for (const value of values) {
    if (typeof value === 'string' || value instanceof Uint8Array) spendSteps(Math.floor(value.length / 10))
  }
}

type FastBinary = (frame: EvaluationFrame, a: CelValue, b: CelValue) => CelValue

/** Comparisons and sums of common types, without overload lookup. */
export function fastBinary(name: string, overloads: readonly CelOverload[]): FastBinary | undefined {
  switch (name) {
    case '_==_':
      return (frame, a, b) => {
        pay(frame, equalityCost(a, b))
        return equalValues(a, b)
      }
    case '_!=_':
      return (frame, a, b) => {
        pay(frame, equalityCost(a, b))
        return isUnequal(a, b)
      }
    case '_<_':
      return relation(overloads, (order) => order < 0)
    case '_<=_':
      return relation(overloads, (order) => order <= 0)
    case '_>_':
      return relation(overloads, (order) => order > 0)
    case '_>=_':
      return relation(overloads, (order) => order >= 0)
    case '_+_':
      return (frame, a, b) => {
        if (typeof a === 'number' && typeof b === 'number') {
          pay(frame, 1)
          return addInts(a, b)
        }
        return generic(name, overloads, frame, a, b)
      }
    default:
      return undefined
  }
}

function relation(overloads: readonly CelOverload[], holds: (order: number) => boolean): FastBinary {
  return (frame, a, b) => {
    if (typeof a === 'number' && typeof b === 'number') {
      pay(frame, 1)
      return holds(a - b)
    }
    pay(frame, typeof a === 'string' ? equalityCost(a, b) : 1)
    if (typeOfValue(a).kind === 'object' || a === null || a instanceof CelList || a instanceof CelMap) {
      throw noSuchOverload(overloads[0]!.id.startsWith('less_equals') ? '_<=_' : operatorOf(overloads[0]!.id))
    }
    return holds(compareCelValues(a, b))
  }
}

function operatorOf(id: string): string {
  if (id.startsWith('greater_equals')) return '_>=_'
  return id.startsWith('greater') ? '_>_' : '_<_'
}

function generic(
  name: string,
  overloads: readonly CelOverload[],
  frame: EvaluationFrame,
  a: CelValue,
  b: CelValue,
): CelValue {
  const values = [a, b]
  const [overload, result] = dispatchOperator(name, overloads, values)
  pay(frame, overload.cost ? overload.cost(values, result) : 1)
  return result
}

function equalityCost(a: CelValue, b: CelValue): number {
  if (typeof a !== 'object' && typeof a !== 'string') return 1
  if (a instanceof CelOpaque) return 1
  return Math.ceil(Math.min(celSizeOf(a), celSizeOf(b)) * 0.1)
}

/** Values that cannot be compared are unequal: `!=` never fails where `==` does. */
function isUnequal(a: CelValue, b: CelValue): boolean {
  try {
    return !equalValues(a, b)
  } catch (error) {
    absorbed(error)
    return true
  }
}
