/**
 * The plural of a kind, as the name of its API resource: `Policy` → `policies`, `Proxy` → `proxies`, `Index` →
 * `indices`. English has more exceptions than rules; a kind whose plural is guessed wrongly declares it.
 */

/** By the last word of the kind: `PodIndex` is an Index. */
const irregular: ReadonlyMap<string, string> = new Map([
  ['index', 'indices'],
  ['vertex', 'vertices'],
  ['matrix', 'matrices'],
  ['dns', 'dnses'],
  ['person', 'people'],
  ['child', 'children'],
  ['data', 'data'],
  ['metadata', 'metadata'],
])

/** Words that end in s and are singular: class, status, analysis, alias. All others are plural already: endpoints, settings. */
const singularEnding = /(?:ss|us|is|as)$/

export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase()
  const last = lastWord(kind).toLowerCase()
  const rest = lower.slice(0, lower.length - last.length)
  return rest + pluralWord(last)
}

/** `Index` of `PodIndex`, `DNS` of `ClusterDNS`. */
function lastWord(kind: string): string {
  let at = kind.length
  const isCapital = (position: number): boolean => /^[A-Z]$/.test(kind.charAt(position))
  while (at > 0 && !isCapital(at - 1)) at--
  // Small letters belong to the one capital before them; without any, all capitals are one word.
  const isAcronym = at === kind.length
  while (at > 0 && isCapital(at - 1)) {
    at--
    if (!isAcronym) break
  }
  return kind.slice(at)
}

function pluralWord(word: string): string {
  const known = irregular.get(word)
  if (known !== undefined) return known
  if (word.endsWith('sis')) return `${word.slice(0, -2)}es`
  if (word.endsWith('s')) return singularEnding.test(word) ? `${word}es` : word
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return /(?:x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`
}
