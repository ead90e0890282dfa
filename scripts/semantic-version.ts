/** Versions as Semantic Versioning has them: 0.2.0, 1.0.0-rc.1. */

interface SemanticVersion {
  readonly numbers: readonly [number, number, number]
  /** The parts of a pre-release: rc, 1. */
  readonly preRelease: readonly string[]
}

/** Undefined if it is no version. Build metadata is not accepted: registries drop it. */
export function parseVersion(text: string): SemanticVersion | undefined {
  const match = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-([\da-zA-Z.-]{1,64}))?$/.exec(text)
  if (!match) return undefined
  const [, major, minor, patch, rest] = match
  const preRelease = rest?.split('.') ?? []
  if (preRelease.some((part) => part === '' || /^0\d+$/.test(part))) return undefined
  return { numbers: [Number(major), Number(minor), Number(patch)], preRelease }
}

/** Whether the first version comes after the second one. Both must be valid. */
export function isNewer(one: string, other: string): boolean {
  const [a, b] = [parseVersion(one)!, parseVersion(other)!]
  for (const [index, number] of a.numbers.entries()) {
    if (number !== b.numbers[index]) return number > b.numbers[index]!
  }
  return comparePreReleases(a.preRelease, b.preRelease) > 0
}

/** A pre-release comes before its version; numbers before words; more parts after fewer. */
function comparePreReleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length
  for (const [index, part] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (part === other) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(part), /^\d+$/.test(other)]
    if (isNumber && isOtherNumber) return Number(part) - Number(other)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return part < other ? -1 : 1
  }
  return a.length - b.length
}
