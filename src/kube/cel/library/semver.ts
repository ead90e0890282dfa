/** `semver('1.2.3-rc.1')`: versions in expressions, ordered by the rules of semver.org. */
import { parseUint64 } from '../../go/int64.ts'
import { CelRuntimeError } from '../value/error.ts'
import { type CelFunction, byLength, functionNamed } from './function.ts'
import { type CelType, boolType, intType, objectTypeNamed, stringType } from '../value/type.ts'
import { CelOpaque, type CelValue, intOf } from '../value/value.ts'

export const semverType: CelType = objectTypeNamed('kubernetes.Semver')

export interface Semver {
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  readonly prerelease: readonly (string | bigint)[]
}

const problem = (message: string): CelRuntimeError => new CelRuntimeError(message)
const quoted = (text: string): string => JSON.stringify(text)

function parse(text: string): Semver {
  if (text === '') throw problem('Version string empty')
  const [major, minor, ...rest] = text.split('.')
  if (major === undefined || minor === undefined || rest.length === 0) {
    throw problem('No Major.Minor.Patch elements found')
  }
  const tail = rest.join('.')
  const [beforeBuild, build] = cut(tail, '+')
  const [patch, prerelease] = cut(beforeBuild, '-')
  const version = {
    major: number(major, 'major', 'Major'),
    minor: number(minor, 'minor', 'Minor'),
    patch: number(patch, 'patch', 'Patch'),
    prerelease: prerelease === undefined ? [] : prerelease.split('.').map(prereleasePart),
  }
  for (const part of build?.split('.') ?? []) {
    if (part === '') throw problem('Build meta data is empty')
    if (!/^[0-9A-Za-z-]+$/.test(part)) throw problem(`Invalid character(s) found in build meta data ${quoted(part)}`)
  }
  return version
}

function cut(text: string, mark: string): readonly [string, string | undefined] {
  const index = text.indexOf(mark)
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)]
}

function number(text: string, what: string, title: string): bigint {
  if (!/^\d*$/.test(text)) throw problem(`Invalid character(s) found in ${what} number ${quoted(text)}`)
  if (text.length > 1 && text.startsWith('0'))
    throw problem(`${title} number must not contain leading zeroes ${quoted(text)}`)
  return unsigned(text)
}

function unsigned(text: string): bigint {
  if (text === '') throw problem('strconv.ParseUint: parsing "": invalid syntax')
  const value = parseUint64(text)
  if (value === undefined) throw problem(`strconv.ParseUint: parsing ${quoted(text)}: value out of range`)
  return value
}

function prereleasePart(text: string): string | bigint {
  if (text === '') throw problem('Prerelease is empty')
  if (/^\d+$/.test(text)) {
    if (text.length > 1 && text.startsWith('0')) {
      throw problem(`Numeric PreRelease version must not contain leading zeroes ${quoted(text)}`)
    }
    return unsigned(text)
  }
  if (!/^[0-9A-Za-z-]+$/.test(text)) throw problem(`Invalid character(s) found in prerelease ${quoted(text)}`)
  return text
}

/** `v1.2` and `01.2.3` are accepted as versions, too. */
function normalize(text: string): string {
  const whole = text.replace(/^v/, '')
  const [major = '', minor, ...rest] = whole.split('.')
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length === 0 ? [] : [rest.join('.')])]
  const trimmed = parts.map((part) =>
    part.length > 1 ? part.replace(/^0+(?=$|[^0-9])/, '0').replace(/^0+(?=[0-9])/, '') : part,
  )
  if (trimmed.length < 3 && /[+-]/.test(trimmed.at(-1)!)) {
    throw problem('short version cannot contain PreRelease/Build meta data')
  }
  while (trimmed.length < 3) trimmed.push('0')
  return trimmed.join('.')
}

export function compareSemvers(a: Semver, b: Semver): -1 | 0 | 1 {
  return (
    order(a.major, b.major) ||
    order(a.minor, b.minor) ||
    order(a.patch, b.patch) ||
    comparePrereleases(a.prerelease, b.prerelease)
  )
}

function order<T extends string | bigint>(a: T, b: T): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0
}

function comparePrereleases(a: Semver['prerelease'], b: Semver['prerelease']): -1 | 0 | 1 {
  // A version without a pre-release is the released one, and newer.
  if (a.length === 0 || b.length === 0)
    return order(BigInt(b.length), BigInt(a.length)) === 0 ? 0 : a.length === 0 ? 1 : -1
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [left, right] = [a[index]!, b[index]!]
    const byKind = typeof left === typeof right ? 0 : typeof left === 'bigint' ? -1 : 1
    const result = byKind || order(left as string, right as string)
    if (result !== 0) return result
  }
  return order(BigInt(a.length), BigInt(b.length))
}

function isSemver(text: string): boolean {
  try {
    parse(text)
    return true
  } catch (error) {
    if (error instanceof CelRuntimeError) return false
    throw error
  }
}

function isNormalizable(text: string): boolean {
  try {
    return isSemver(normalize(text))
  } catch (error) {
    if (error instanceof CelRuntimeError) return false
    throw error
  }
}

const make = (text: CelValue, normalized: CelValue = false): CelOpaque =>
  new CelOpaque(semverType, parse(normalized === true ? normalize(text as string) : (text as string)))
const read = (value: CelValue | undefined): Semver => (value as CelOpaque).content as Semver
const s = semverType

export const semverFunctions: readonly CelFunction[] = [
  functionNamed('semver', [
    { id: 'string_to_semver', params: [stringType], result: s, call: ([text]) => make(text!), cost: byLength(0, 0.1) },
    {
      id: 'string_bool_to_semver',
      params: [stringType, boolType],
      result: s,
      call: ([text, flag]) => make(text!, flag),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('isSemver', [
    {
      id: 'is_semver_string',
      params: [stringType],
      result: boolType,
      call: ([text]) => isSemver(text as string),
      cost: byLength(0, 0.1),
    },
    {
      id: 'is_semver_string_bool',
      params: [stringType, boolType],
      result: boolType,
      call: ([text, flag]) => (flag === true ? isNormalizable(text as string) : isSemver(text as string)),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('isGreaterThan', [
    {
      id: 'semver_is_greater_than',
      member: true,
      params: [s, s],
      result: boolType,
      call: ([a, b]) => compareSemvers(read(a), read(b)) > 0,
    },
  ]),
  functionNamed('isLessThan', [
    {
      id: 'semver_is_less_than',
      member: true,
      params: [s, s],
      result: boolType,
      call: ([a, b]) => compareSemvers(read(a), read(b)) < 0,
    },
  ]),
  functionNamed('compareTo', [
    {
      id: 'semver_compare_to',
      member: true,
      params: [s, s],
      result: intType,
      call: ([a, b]) => compareSemvers(read(a), read(b)),
    },
  ]),
  ...(['major', 'minor', 'patch'] as const).map((part) =>
    functionNamed(part, [
      {
        id: `semver_${part}`,
        member: true,
        params: [s],
        result: intType,
        call: ([a]) => intOf(BigInt.asIntN(64, read(a)[part])),
      },
    ]),
  ),
]
