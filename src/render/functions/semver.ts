/** Semantic versions and their constraints, as Masterminds' library reads them. */
import { quoteGo } from '../../kube/go/go-text.ts'
import { parseUint64 } from '../../kube/go/int64.ts'
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError } from '../template/go-error.ts'
import { GoInteger, GoObject } from '../template/values.ts'

interface Version {
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  readonly pre: string
  readonly metadata: string
  readonly original: string
}

const identifiers = String.raw`[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`
const versionPattern = new RegExp(
  String.raw`^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-(${identifiers}))?(?:\+(${identifiers}))?$`,
)

/** @throws GoError */
function parseVersion(text: string): Version {
  if (text.length > 256) throw new GoError('version string is too long (max 256 bytes)')
  const match = versionPattern.exec(text)
  if (!match) throw new GoError('invalid semantic version')
  const [, major, minor, patch, pre = '', metadata = ''] = match
  for (const part of pre === '' ? [] : pre.split('.')) {
    if (/^0\d+$/.test(part)) throw new GoError('version segment starts with 0')
  }
  return { major: segment(major), minor: segment(minor), patch: segment(patch), pre, metadata, original: text }
}

function segment(text: string | undefined): bigint {
  const value = parseUint64(text ?? '0')
  if (value === undefined) {
    throw new GoError(
      `error parsing version segment: strconv.ParseUint: parsing ${quoteGo(text ?? '')}: value out of range`,
    )
  }
  return value
}

function versionText({ major, minor, patch, pre, metadata }: Version): string {
  return `${major}.${minor}.${patch}${pre === '' ? '' : `-${pre}`}${metadata === '' ? '' : `+${metadata}`}`
}

function compare(a: Version, b: Version): number {
  for (const part of ['major', 'minor', 'patch'] as const) {
    if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1
  }
  if (a.pre === b.pre) return 0
  if (a.pre === '') return 1
  return b.pre === '' ? -1 : comparePre(a.pre, b.pre)
}

function comparePre(a: string, b: string): number {
  const [left, right] = [a.split('.'), b.split('.')]
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const order = comparePart(left[index] ?? '', right[index] ?? '')
    if (order !== 0) return order
  }
  return 0
}

function comparePart(a: string, b: string): number {
  if (a === b) return 0
  if (a === '') return -1
  if (b === '') return 1
  const [x, y] = [parseUint64(a), parseUint64(b)]
  if (x === undefined && y === undefined) return a > b ? 1 : -1
  if (y === undefined) return -1
  if (x === undefined) return 1
  return x > y ? 1 : -1
}

interface Constraint {
  readonly operator: string
  readonly version: Version
  /** Parts that are not given, or `x`. */
  readonly isDirty: boolean
  readonly isMinorDirty: boolean
  readonly isPatchDirty: boolean
}

const wild = String.raw`[0-9|xX*]+`
const wildVersion = String.raw`v?(?:${wild})(?:\.${wild})?(?:\.${wild})?(?:-${identifiers})?(?:\+${identifiers})?`
const operators = String.raw`(?:!=|>=|=>|<=|=<|~>|=|>|<|~|\^|)`
const onePattern = new RegExp(
  String.raw`(${operators})\s*(v?(${wild})(\.${wild})?(\.${wild})?(-${identifiers})?(?:\+${identifiers})?)`,
  'y',
)
const rangePattern = new RegExp(String.raw`\s*(${wildVersion})\s+-\s+(${wildVersion})\s*`, 'g')

/** Alternatives, each a list of constraints that must all hold. @throws GoError */
function parseConstraints(source: string): readonly (readonly Constraint[])[] {
  if (source.length > 512) throw new GoError('constraint string is too long (max 512 bytes)')
  const text = source.replaceAll(rangePattern, (_whole, low: string, high: string) => `>= ${low}, <= ${high} `)
  const alternatives = text.split('||')
  if (alternatives.length > 32) throw new GoError('too many constraint groups (max 32)')
  return alternatives.map(parseAlternative)
}

function parseAlternative(text: string): readonly Constraint[] {
  const improper = (): GoError => new GoError(`improper constraint: ${quoteGo(text)}`)
  const found: RegExpExecArray[] = []
  let at = skipSpace(text, 0)
  for (;;) {
    onePattern.lastIndex = at
    const match = onePattern.exec(text)
    if (!match) throw improper()
    found.push(match)
    const end = onePattern.lastIndex
    at = skipSpace(text, end)
    if (at === text.length) return found.map(constraintOf)
    if (text[at] === ',') at = skipSpace(text, at + 1)
    else if (at === end) throw improper()
  }
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (/[\t\n\f\r ]/.test(text[at] ?? '')) at++
  return at
}

function isWild(part: string | undefined): boolean {
  return part === undefined || part === '' || part === 'x' || part === 'X' || part === '*'
}

function constraintOf(match: RegExpExecArray): Constraint {
  const [, operator = '', whole = '', major, minor, patch, pre = ''] = match
  const isMajorWild = isWild(major)
  const isMinorWild = !isMajorWild && isWild(minor?.slice(1))
  const isPatchWild = !isMajorWild && !isMinorWild && isWild(patch?.slice(1))
  let text = whole
  if (isMajorWild) text = `0.0.0${pre}`
  else if (isMinorWild) text = `${major}.0.0${pre}`
  else if (isPatchWild) text = `${major}${minor}.0${pre}`
  let version: Version
  try {
    version = parseVersion(text)
  } catch (error) {
    if (error instanceof GoError) throw new GoError('constraint parser error')
    throw error
  }
  return {
    operator,
    version,
    isDirty: isMajorWild || isMinorWild || isPatchWild,
    isMinorDirty: isMinorWild,
    isPatchDirty: isPatchWild,
  }
}

function satisfies(version: Version, alternatives: readonly (readonly Constraint[])[]): boolean {
  return alternatives.some((constraints) => {
    const hasPre = constraints.some((constraint) => constraint.version.pre !== '')
    return (version.pre === '' || hasPre) && constraints.every((constraint) => holds(version, constraint))
  })
}

function holds(version: Version, constraint: Constraint): boolean {
  const { operator, version: limit, isDirty, isMinorDirty, isPatchDirty } = constraint
  switch (operator) {
    case '!=':
      return isOther(version, constraint)
    case '>':
      if (!isDirty || version.major !== limit.major)
        return isDirty ? version.major > limit.major : compare(version, limit) > 0
      if (isMinorDirty) return false
      return isPatchDirty ? version.minor > limit.minor : compare(version, limit) > 0
    case '<':
      return compare(version, limit) < 0
    case '>=':
    case '=>':
      return compare(version, limit) >= 0
    case '<=':
    case '=<':
      if (!isDirty) return compare(version, limit) <= 0
      return !(
        version.major > limit.major ||
        (version.major === limit.major && version.minor > limit.minor && !isMinorDirty)
      )
    case '~':
    case '~>':
      return isNear(version, constraint)
    case '^':
      return isCompatible(version, constraint)
    default:
      return isDirty ? isNear(version, constraint) : compare(version, limit) === 0
  }
}

function isOther(version: Version, { version: limit, isDirty, isMinorDirty, isPatchDirty }: Constraint): boolean {
  if (!isDirty) return compare(version, limit) !== 0
  if (limit.major !== version.major) return true
  if (isMinorDirty) return false
  if (limit.minor !== version.minor) return true
  if (isPatchDirty) return (version.pre !== '' || limit.pre !== '') && version.pre !== limit.pre
  return limit.patch !== version.patch || compare(version, limit) !== 0
}

/** `~1.2`: the same minor version. */
function isNear(version: Version, { version: limit, isMinorDirty, isPatchDirty }: Constraint): boolean {
  if (compare(version, limit) < 0) return false
  const isZero = limit.major === 0n && limit.minor === 0n && limit.patch === 0n
  if (isZero && !isMinorDirty && !isPatchDirty) return true
  return version.major === limit.major && (version.minor === limit.minor || isMinorDirty)
}

/** `^1.2`: no change of the first part that is not zero. */
function isCompatible(version: Version, { version: limit, isMinorDirty, isPatchDirty }: Constraint): boolean {
  if (compare(version, limit) < 0) return false
  if (limit.major > 0n || isMinorDirty) return version.major === limit.major
  if (version.major > 0n) return false
  if (limit.minor > 0n || isPatchDirty) return version.minor === limit.minor
  return version.minor === 0n && limit.patch === version.patch
}

function uint64(value: bigint): GoInteger {
  return new GoInteger('uint64', value)
}

function versionObject(version: Version, type = '*semver.Version'): GoObject {
  const value = (result: unknown): GoFunction => goFunction('', () => result)
  const compared = (test: (order: number) => unknown): GoFunction =>
    goFunction('any', ([other]: readonly unknown[]) => {
      if (!(other instanceof GoObject)) throw new GoError('wrong type')
      return test(compare(version, other.inner as Version))
    })
  const next = (parts: Partial<Version>): GoFunction =>
    goFunction('', () => {
      const changed = { ...version, pre: '', metadata: '', ...parts }
      const prefix = version.original.startsWith('v') ? 'v' : ''
      return versionObject({ ...changed, original: prefix + versionText(changed) }, 'semver.Version')
    })
  const text = versionText(version)
  return new GoObject(type, {
    inner: version,
    json: text,
    text: () => text,
    methods: {
      Major: value(uint64(version.major)),
      Minor: value(uint64(version.minor)),
      Patch: value(uint64(version.patch)),
      Prerelease: value(version.pre),
      Metadata: value(version.metadata),
      Original: value(version.original),
      String: value(text),
      Compare: compared((order) => BigInt(order)),
      Equal: compared((order) => order === 0),
      LessThan: compared((order) => order < 0),
      LessThanEqual: compared((order) => order <= 0),
      GreaterThan: compared((order) => order > 0),
      GreaterThanEqual: compared((order) => order >= 0),
      IncMajor: next({ major: version.major + 1n, minor: 0n, patch: 0n }),
      IncMinor: next({ minor: version.minor + 1n, patch: 0n }),
      IncPatch: next({ patch: version.pre === '' ? version.patch + 1n : version.patch }),
    },
  })
}

export const sprigSemverFunctions: FunctionTable = new Map<string, GoFunction>([
  ['semver', goFunction('string', ([text]: [string]) => versionObject(parseVersion(text)))],
  [
    'semverCompare',
    goFunction('string string', ([constraint, version]: [string, string]) => {
      const alternatives = parseConstraints(constraint)
      return satisfies(parseVersion(version), alternatives)
    }),
  ],
])
