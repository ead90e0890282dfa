/** 64-bit integers in text, as Go parses them. A text with too many digits is rejected without computing it. */

/** With or without leading zeros; more digits than 2^64 has do not match. */
const digitsOf = (text: string): string | undefined => {
  const digits = text.replace(/^0+(?=\d)/, '')
  return digits.length > 20 ? undefined : digits
}

/** `-12`, `+7`, `007`; undefined if invalid or out of range. */
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
