/** Integers of 64 bits in text, as Go reads them. A text with more digits than they have is none: it is never computed. */

/** With zeros in front, or without; more digits than 2^64 has are cut off here. */
const digitsOf = (text: string): string | undefined => {
  const digits = text.replace(/^0+(?=\d)/, '')
  return digits.length > 20 ? undefined : digits
}

/** `-12`, `+7`, `007`; undefined when it is none or does not fit. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined
  const digits = digitsOf(text.replace(/^[+-]/, ''))
  if (digits === undefined) return undefined
  const value = text.startsWith('-') ? -BigInt(digits) : BigInt(digits)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

export function parseUint64(text: string): bigint | undefined {
  const digits = /^\d+$/.test(text) ? digitsOf(text) : undefined
  if (digits === undefined) return undefined
  const value = BigInt(digits)
  return BigInt.asUintN(64, value) === value ? value : undefined
}
