/** Numbers in text as Go's `strconv` reads them. */
import { parseGoFloat } from '../template/literals.ts'

/** `strconv.ParseFloat`, which accepts underscores nowhere. */
export function parseDecimalFloat(text: string): number | undefined {
  return text.includes('_') ? undefined : parseGoFloat(text)
}

const digitPatterns: ReadonlyMap<number, RegExp> = new Map([
  [8, /^[+-]?[0-7]+$/],
  [10, /^[+-]?\d+$/],
])

/** `strconv.ParseInt` with a fixed base; undefined if it is invalid or out of range. */
export function parseInBase(text: string, base: 8 | 10): bigint | undefined {
  if (!digitPatterns.get(base)!.test(text)) return undefined
  const digits = text.replace(/^[+-]/, '').replace(/^0+(?=\d)/, '')
  if (digits.length > 22) return undefined
  const magnitude = BigInt(base === 8 ? `0o${digits}` : digits)
  const value = text.startsWith('-') ? -magnitude : magnitude
  return BigInt.asIntN(64, value) === value ? value : undefined
}
