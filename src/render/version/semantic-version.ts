/**
 * Semantic versions as Helm reads them: a leading `v`, missing parts and leading zeros are accepted (`v1.2`, `1.02.3`).
 *
 * Versions are scanned by hand: text from charts and registries is matched in linear time.
 */

export interface SemanticVersion {
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  /** Without the dash: `rc.1`; empty for a release. */
  readonly prerelease: string
  /** Without the plus sign. */
  readonly metadata: string
}

const longestVersion = 256
const largestPart = 2n ** 64n - 1n

/** Undefined if the text is no version. */
export function parseVersion(text: string): SemanticVersion | undefined {
  if (text.length > longestVersion) return undefined
  const plus = text.indexOf('+')
  const metadata = plus < 0 ? '' : text.slice(plus + 1)
  const rest = plus < 0 ? text : text.slice(0, plus)
  const dash = rest.indexOf('-')
  const prerelease = dash < 0 ? '' : rest.slice(dash + 1)
  const numbers = (dash < 0 ? rest : rest.slice(0, dash)).replace(/^v/, '').split('.')
  if (numbers.length > 3 || !numbers.every((part) => /^\d+$/.test(part))) return undefined
  if (plus >= 0 && !isIdentifiers(metadata)) return undefined
  if (dash >= 0 && (!isIdentifiers(prerelease) || prerelease.split('.').some(startsWithZero))) return undefined
  const [major = 0n, minor = 0n, patch = 0n] = numbers.map(BigInt)
  if (major > largestPart || minor > largestPart || patch > largestPart) return undefined
  return { major, minor, patch, prerelease, metadata }
}

function isIdentifiers(text: string): boolean {
  return text.split('.').every((part) => /^[0-9A-Za-z-]+$/.test(part))
}

/** A numeric identifier must not have leading zeros. */
function startsWithZero(part: string): boolean {
  return part.length > 1 && part.startsWith('0') && /^\d+$/.test(part)
}

/** Negative, zero or positive; metadata does not count. */
export function compareSemanticVersions(a: SemanticVersion, b: SemanticVersion): number {
  for (const part of ['major', 'minor', 'patch'] as const) if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1
  return comparePrereleases(a.prerelease, b.prerelease)
}

export function comparePrereleases(a: string, b: string): number {
  if (a === b) return 0
  // A release comes after its pre-releases.
  if (a === '') return 1
  if (b === '') return -1
  const [left, right] = [a.split('.'), b.split('.')]
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const order = compareIdentifiers(left[at], right[at])
    if (order !== 0) return order
  }
  return 0
}

function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0
  if (a === undefined) return -1
  if (b === undefined) return 1
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber && isOtherNumber) return BigInt(a) < BigInt(b) ? -1 : 1
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return a < b ? -1 : 1
}
