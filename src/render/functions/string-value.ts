/** Values as sprig turns them into text and numbers. */
import { parseDecimalFloat } from './go-numbers.ts'
import { fitsInt64, parseGoInteger } from '../template/literals.ts'
import { formatPlain } from '../template/format-value.ts'
import { bytesText } from '../template/text-bytes.ts'
import { GoInteger, isInteger, integerValue, isGoList } from '../template/values.ts'

export function stringValue(value: unknown): string {
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? bytesText(value) : formatPlain(value)
}

/** The elements of a list as text, without nil; a single value is a list of one. */
export function stringValues(value: unknown): string[] {
  if ((value ?? null) === null) return []
  if (value instanceof Uint8Array) return Array.from(value, String)
  if (!isGoList(value)) return [stringValue(value)]
  return value.filter((item) => (item ?? null) !== null).map(stringValue)
}

const int64Limit = 2 ** 63

/** What a float becomes on amd64 if no 64-bit integer has its value. */
const overflown = -(2n ** 63n)

export function toInt64(value: unknown): bigint {
  switch (typeof value) {
    case 'bigint':
      return value
    case 'number':
      if (!(value > -int64Limit - 1 && value < int64Limit)) return overflown
      return BigInt(Math.trunc(value))
    case 'boolean':
      return value ? 1n : 0n
    case 'string': {
      const number = parseGoInteger(withoutZeroDecimals(value))
      return number !== undefined && fitsInt64(number) ? number : 0n
    }
    default:
      return value instanceof GoInteger && !isOpaque(value) ? BigInt.asIntN(64, value.value) : 0n
  }
}

/** Durations are not converted. */
function isOpaque({ type }: GoInteger): boolean {
  return type === 'time.Duration'
}

function withoutZeroDecimals(text: string): string {
  return /^[^.]*\.0+$/.test(text) ? text.slice(0, text.indexOf('.')) : zeroTail(text)
}

/** Only the last point counts. */
function zeroTail(text: string): string {
  const point = text.lastIndexOf('.')
  if (point < 0 || point === text.length - 1) return text
  for (let at = point + 1; at < text.length; at++) if (text[at] !== '0') return text
  return text.slice(0, point)
}

export function toFloat64(value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'string') return parseDecimalFloat(value) ?? 0
  return isInteger(value) && !(value instanceof GoInteger && isOpaque(value)) ? Number(integerValue(value)) : 0
}
