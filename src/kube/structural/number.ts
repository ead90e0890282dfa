/** Limits of numbers. Integers and floats are distinguished by their value, as a JSON decoder does. */
import { formatGoFloat, formatGoNumber, isGoInteger } from '../go/go-text.ts'
import { type SchemaFailure, failedLimit, failedPlainly, failedValue } from './failure.ts'
import type { SchemaNode } from './node.ts'

type Numeric = number | bigint

/** Adds the failures of a number, in the order of the real server. */
export function checkNumber(value: Numeric, node: SchemaNode, path: () => string, failures: SchemaFailure[]): void {
  const { schema } = node
  const type = node.types.length === 1 ? node.types[0]! : ''
  const checkRange = (what: string, checked: Numeric): boolean => {
    if (fitsType(checked, type, node.format)) return true
    const format = node.format === '' ? '(default format)' : `with format ${node.format}`
    failures.push(failedPlainly(`${what} value must be of type ${type} ${format} in ${path()}`))
    return false
  }
  checkRange('Checked', value)
  const { multipleOf, minimum, maximum } = schema
  if (multipleOf !== undefined) {
    const isNative = checkRange('MultipleOf', multipleOf) && isGoInteger(value)
    checkMultiple(value, multipleOf, isNative, path, failures)
  }
  if (minimum !== undefined) {
    const isNative = checkRange('Minimum boundary', minimum) && isGoInteger(value)
    const [limit, shown] = limitOf(minimum, isNative)
    const isBelow = schema.exclusiveMinimum ? value <= limit : value < limit
    if (isBelow) {
      const words = schema.exclusiveMinimum ? 'greater than' : 'greater than or equal to'
      failures.push(failedLimit(path(), value, `should be ${words} ${shown}`))
    }
  }
  if (maximum !== undefined) {
    const isNative = checkRange('Maximum boundary', maximum) && isGoInteger(value)
    const [limit, shown] = limitOf(maximum, isNative)
    const isAbove = schema.exclusiveMaximum ? value >= limit : value > limit
    if (isAbove) {
      const words = schema.exclusiveMaximum ? 'less than' : 'less than or equal to'
      failures.push(failedLimit(path(), value, `should be ${words} ${shown}`))
    }
  }
}

/** Integers are compared with the integral part of a limit. */
function limitOf(limit: number, isNative: boolean): readonly [number, string] {
  if (!isNative) return [limit, formatGoFloat(limit)]
  const whole = Math.trunc(limit)
  return [whole, formatGoNumber(whole)]
}

function fitsType(value: Numeric, type: string, format: string): boolean {
  if (type === 'integer') {
    if (!isGoInteger(value)) return false
    return format !== 'int32' || (value >= -(2 ** 31) && value < 2 ** 31)
  }
  return format !== 'float' || Math.abs(Number(value)) <= 3.4028234663852886e38
}

function checkMultiple(
  value: Numeric,
  factor: number,
  isNative: boolean,
  path: () => string,
  failures: SchemaFailure[],
): void {
  const used = isNative ? Math.trunc(factor) : factor
  if (used <= 0) {
    const words = `factor MultipleOf declared for ${path()} must be positive: ${formatGoNumber(used)}`
    failures.push(failedValue(path(), used, words))
    return
  }
  const isMultiple = isNative
    ? BigInt(value) % BigInt(used) === 0n
    : isWhole(used < 1 ? (1 / used) * Number(value) : Number(value) / used)
  if (!isMultiple)
    failures.push(failedLimit(path(), value, `should be a multiple of ${isNative ? used : formatGoFloat(used)}`))
}

/** Rounding makes 0.3 / 0.1 slightly less than three. */
function isWhole(value: number): boolean {
  if (Number.isInteger(value)) return true
  const rounded = Math.round(value)
  return Math.abs(value - rounded) < 1e-9 * Math.max(1, Math.abs(value))
}
