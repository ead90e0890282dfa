/** The format `duration` of schemas: Go's notation, or numbers with words, as in `3 days` and `1 week 2 hours`. */
import { type Duration, parseDuration } from './duration.ts'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import { parseInt64 } from '../go/int64.ts'

/** The names of each unit; of the last one a prefix is enough. */
const units: readonly (readonly [unitNames: readonly string[], nanoseconds: bigint])[] = [
  [['ns', 'nano'], 1n],
  [['us', 'µs', 'micro'], 1000n],
  [['ms', 'milli'], 1_000_000n],
  [['s', 'sec'], 1_000_000_000n],
  [['m', 'min'], 60_000_000_000n],
  [['h', 'hr', 'hour'], 3_600_000_000_000n],
  [['d', 'day'], 86_400_000_000_000n],
  [['w', 'wk', 'week'], 604_800_000_000_000n],
]

/** Digits, blanks, words, and everything else: each character belongs to one token. */
const piece = /\d+|[\t\n\f\r ]+|[A-Za-zµ]+|[^]/g

/** Undefined if the text is invalid. Values beyond 64 bits wrap, as in Go. */
export function parseSchemaDuration(text: string): Duration | undefined {
  const plain = goDuration(text)
  if (plain !== undefined) return plain
  let total: bigint | undefined
  let digits = ''
  for (const [found] of text.matchAll(piece)) {
    if (/^\d/.test(found)) digits = found
    else if (/^[A-Za-zµ]/.test(found) && digits !== '') {
      const factor = parseInt64(digits)
      if (factor === undefined) return undefined
      const word = found.toLowerCase()
      for (const [unitNames, nanoseconds] of units) {
        if (!unitNames.includes(word) && !word.startsWith(unitNames.at(-1)!)) continue
        total = BigInt.asIntN(64, (total ?? 0n) + factor * nanoseconds)
      }
      digits = ''
    } else if (!/^[\t\n\f\r ]/.test(found)) digits = ''
  }
  return total
}

function goDuration(text: string): Duration | undefined {
  try {
    return parseDuration(text)
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidDuration)) return undefined
    throw error
  }
}
