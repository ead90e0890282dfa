/**
 * Validation of names. Kubernetes has a handful of name formats: most objects have a DNS subdomain, namespaces a DNS label,
 * services a DNS-1035 label, label keys and finalizers a qualified name, RBAC objects anything that is valid as a URL path
 * segment.
 *
 * A check returns all problems, and an empty list if there are none: a server reports all problems at once.
 * Lengths are in bytes, as the server counts them.
 */
import type { Random } from '../../clock/random.ts'
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'

/** Problems of a name, each a clause that continues "the name …"; empty if it is valid. */
export type NameCheck = (name: string) => readonly string[]

const labelPattern = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/
const label1035Pattern = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/
const subdomainPattern = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const qualifiedPattern = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/

const longestLabel = 63
const longestSubdomain = 253

/** A DNS label (RFC 1123): namespaces, most pieces of names. */
export const checkDnsLabel: NameCheck = (name) => {
  const problems = tooLong(name, longestLabel)
  if (labelPattern.test(name)) return problems
  if (subdomainPattern.test(name)) return [...problems, 'must not contain dots']
  return [...problems, 'must be lower-case letters, digits and "-", with a letter or digit at both ends']
}

/** A DNS subdomain (RFC 1123), labels joined by dots: the name of most objects. */
export const checkDnsSubdomain: NameCheck = (name) => [
  ...tooLong(name, longestSubdomain),
  ...unless(
    subdomainPattern.test(name),
    'must be lower-case letters, digits, "-" and ".", with a letter or digit at both ends of every part',
  ),
]

/** A DNS label that starts with a letter (RFC 1035): services. */
export const checkDns1035Label: NameCheck = (name) => [
  ...tooLong(name, longestLabel),
  ...unless(
    label1035Pattern.test(name),
    'must be lower-case letters, digits and "-", with a letter in front and a letter or digit at the end',
  ),
]

/** A name with an optional DNS prefix, `example.com/MyName`: label keys, finalizers, condition types. */
export const checkQualifiedName: NameCheck = (name) => {
  const parts = name.split('/')
  if (parts.length > 2) return ['must have at most one "/", between a DNS subdomain and a name']
  const own = parts.at(-1)!
  return [
    ...(parts.length === 2 ? prefixProblems(parts[0]!) : []),
    ...(own === ''
      ? ['must have a name part that is not empty']
      : tooLong(own, longestLabel, 'must have a name part of')),
    ...unless(
      qualifiedPattern.test(own),
      'must have a name part of letters, digits, "-", "_" and ".", with a letter or digit at both ends',
    ),
  ]
}

/** The value of a label, which may be empty. */
export const checkLabelValue: NameCheck = (value) => [
  ...tooLong(value, longestLabel),
  ...unless(
    value === '' || qualifiedPattern.test(value),
    'must be empty, or letters, digits, "-", "_" and ".", with a letter or digit at both ends',
  ),
]

/** A valid URL path segment: roles, bindings. As on the server, it may be empty. */
export const checkPathSegment: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`must not be "${name}"`]
  return ['/', '%'].filter((character) => name.includes(character)).map((found) => `must not contain "${found}"`)
}

/** Throws InvalidName with every problem. `what` is the purpose of the name: `namespace`, `label key`. */
export function assertName(check: NameCheck, name: string, what: string): void {
  const problems = check(name)
  if (problems.length > 0) throw new MusterError(kubeErrors.InvalidName, `${what} "${name}" ${problems.join(' and ')}.`)
}

/** No vowels or similar characters, so that no words appear by chance. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5

/** How the server expands `metadata.generateName`: the base, truncated so that five random characters fit into 63. */
export function generateName(base: string, random: Random): string {
  const suffix = Array.from(
    { length: suffixLength },
    () => suffixAlphabet[Math.floor(random.next() * suffixAlphabet.length)],
  )
  return base.slice(0, longestLabel - suffixLength) + suffix.join('')
}

function prefixProblems(prefix: string): readonly string[] {
  if (prefix === '') return ['must have a prefix before "/" that is not empty']
  return checkDnsSubdomain(prefix).map((problem) => `has a prefix that ${problem}`)
}

function tooLong(name: string, limit: number, lead = 'must be'): readonly string[] {
  return unless(Buffer.byteLength(name) <= limit, `${lead} at most ${limit} bytes`)
}

function unless(fine: boolean, problem: string): readonly string[] {
  return fine ? [] : [problem]
}
