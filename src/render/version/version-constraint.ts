/**
 * Version constraints as Helm's library reads them: `>=1.2 <2 || ~3.1`, `^0.2.3`, `1.2.x`, `1.0 - 2.0`. Constraints joined by
 * blanks or commas must all hold, groups joined by `||` are alternatives. A pre-release satisfies a group only if one of its
 * constraints names a pre-release.
 */
import { comparePrereleases, compareSemanticVersions, parseVersion, type SemanticVersion } from './semantic-version.ts'

interface Constraint {
  readonly operator: string
  readonly version: SemanticVersion
  /** The parts left open: `1.x` leaves open minor and patch. */
  readonly open: 'nothing' | 'patch' | 'minor' | 'all'
}

/** Alternatives; all constraints of one must hold. */
type VersionConstraint = readonly (readonly Constraint[])[]

const longestConstraint = 512
const mostGroups = 32

/** Undefined if the text is no constraint; the empty text is none either. */
export function parseConstraint(text: string): VersionConstraint | undefined {
  if (text.length > longestConstraint) return undefined
  const groups = text.split('||')
  if (groups.length > mostGroups) return undefined
  const parsed = groups.map(parseGroup)
  return parsed.every((group) => group !== undefined) ? parsed : undefined
}

/** Whether a version is within a range; false if one of them cannot be read. */
export function isVersionInRange(range: string, version: string): boolean {
  const constraint = parseConstraint(range)
  const parsed = parseVersion(version)
  return constraint !== undefined && parsed !== undefined && satisfies(parsed, constraint)
}

export function satisfies(version: SemanticVersion, constraint: VersionConstraint): boolean {
  return constraint.some((group) => {
    const wantsPrereleases = group.some((one) => one.version.prerelease !== '')
    if (version.prerelease !== '' && !wantsPrereleases) return false
    return group.every((one) => holds(version, one))
  })
}

/** `>=`, blanks, then a version whose parts may be `x` or `*`. */
const constraintPattern = /^(!=|>=|=>|<=|=<|~>|[=><~^]|)\s*([0-9A-Za-z.*+-]+)$/

function parseGroup(text: string): readonly Constraint[] | undefined {
  const words = splitWords(text)
  const constraints: (Constraint | undefined)[] = []
  for (let at = 0; at < words.length; at++) {
    if (words[at + 1] === '-' && words[at + 2] !== undefined) {
      constraints.push(parseOne(`>=${words[at]}`), parseOne(`<=${words[at + 2]}`))
      at += 2
    } else constraints.push(parseOne(words[at]!))
  }
  return constraints.length > 0 && constraints.every((one) => one !== undefined) ? constraints : undefined
}

/** Words separated by blanks or one comma; an operator that stands alone belongs to the following word. */
function splitWords(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.split(/\s/).filter((word) => word !== ''))
  // Nothing before, between or after commas is no constraint.
  if (parts.some((part) => part.length === 0)) return []
  const words: string[] = []
  let operator = ''
  for (const word of parts.flat()) {
    if (/^[!=><~^]+$/.test(word)) {
      if (operator !== '') return []
      operator = word
    } else {
      words.push(operator + word)
      operator = ''
    }
  }
  return operator === '' ? words : []
}

function parseOne(text: string): Constraint | undefined {
  const [, operator, given] = constraintPattern.exec(text) ?? []
  if (operator === undefined || given === undefined) return undefined
  const plus = given.indexOf('+')
  const core = plus < 0 ? given : given.slice(0, plus)
  const dash = core.indexOf('-')
  const prerelease = dash < 0 ? '' : core.slice(dash)
  const parts = (dash < 0 ? core : core.slice(0, dash)).replace(/^v/, '').split('.')
  if (parts.length > 3 || !parts.every((part) => /^[\dxX*]+$/.test(part))) return undefined
  const isOpen = (part: string | undefined): boolean => part === undefined || /^[xX*]$/.test(part)
  const [major, minor, patch] = parts
  const open = isOpen(major) ? 'all' : isOpen(minor) ? 'minor' : isOpen(patch) ? 'patch' : 'nothing'
  const closed = {
    all: '0.0.0',
    minor: `${major}.0.0`,
    patch: `${major}.${minor}.0`,
    nothing: `${major}.${minor}.${patch}`,
  }
  const metadata = open === 'nothing' && plus >= 0 ? given.slice(plus) : ''
  const version = parseVersion(closed[open] + prerelease + metadata)
  return version && { operator, version, open }
}

function holds(version: SemanticVersion, constraint: Constraint): boolean {
  const { operator, version: bound, open } = constraint
  const order = compareSemanticVersions(version, bound)
  switch (operator) {
    case '':
    case '=':
      return open === 'nothing' ? order === 0 : isNear(version, constraint)
    case '!=':
      return isOther(version, constraint)
    case '>':
      return isGreater(version, constraint)
    case '<':
      return order < 0
    case '>=':
    case '=>':
      return order >= 0
    case '<=':
    case '=<':
      return isAtMost(version, constraint)
    case '^':
      return isCompatible(version, constraint)
    default:
      return isNear(version, constraint)
  }
}

function isOther(version: SemanticVersion, { version: bound, open }: Constraint): boolean {
  if (open === 'nothing') return compareSemanticVersions(version, bound) !== 0
  if (version.major !== bound.major) return true
  if (open === 'minor') return false
  if (version.minor !== bound.minor) return true
  if (open === 'all') return version.patch !== bound.patch || compareSemanticVersions(version, bound) !== 0
  return comparePrereleases(version.prerelease, bound.prerelease) !== 0
}

/** `>11` means 12 and later, `>11.1` means 11.2 and later. */
function isGreater(version: SemanticVersion, { version: bound, open }: Constraint): boolean {
  if (open === 'nothing' || version.major !== bound.major) return compareSemanticVersions(version, bound) > 0
  if (open === 'minor') return false
  if (open === 'patch') return version.minor > bound.minor
  return compareSemanticVersions(version, bound) > 0
}

/** `<=11` includes 11.5, `<=11.1` includes 11.1.5. */
function isAtMost(version: SemanticVersion, { version: bound, open }: Constraint): boolean {
  if (open === 'nothing') return compareSemanticVersions(version, bound) <= 0
  if (version.major !== bound.major) return version.major < bound.major
  return open === 'minor' || version.minor <= bound.minor
}

/** `~1.2.3`: the same minor version; `~1`: the same major version; `~0.0.0` and `~*`: any. */
function isNear(version: SemanticVersion, { version: bound, open }: Constraint): boolean {
  if (compareSemanticVersions(version, bound) < 0) return false
  const isZero = bound.major === 0n && bound.minor === 0n && bound.patch === 0n
  if (isZero && (open === 'nothing' || open === 'all')) return true
  return version.major === bound.major && (open === 'minor' || version.minor === bound.minor)
}

/** `^1.2.3`: the same first part that is not zero. */
function isCompatible(version: SemanticVersion, { version: bound, open }: Constraint): boolean {
  if (compareSemanticVersions(version, bound) < 0) return false
  if (bound.major > 0n || open === 'minor') return version.major === bound.major
  if (version.major > 0n) return false
  if (bound.minor > 0n || open === 'patch') return version.minor === bound.minor
  return version.minor === 0n && version.patch === bound.patch
}
