/**
 * IP addresses and CIDRs. Old API fields accept any spelling of an address; newer ones require the canonical one.
 */
import type { FormatCheck } from '../../kube/validation/name-validation.ts'
import { noErrors, invalidField, type Problems } from '../../kube/validation/field-error.ts'

type IpFamily = 'IPv4' | 'IPv6'

interface IpAddress {
  readonly family: IpFamily
  readonly bits: bigint
  /** `010.1.2.3`: decimal to some parsers and octal to others, so it is rejected. */
  readonly hasLeadingZeros: boolean
  /** `::ffff:1.2.3.4`: an IPv4 address in IPv6 notation. */
  readonly isMapped: boolean
}

interface IpRange {
  readonly address: IpAddress
  readonly prefix: number
}

const widthOf = { IPv4: 32, IPv6: 128 } as const
const mappedPrefix = 0xffffn << 32n

export function parseIp(text: string): IpAddress | undefined {
  if (!text.includes(':')) {
    const bits = readIpv4(text)
    if (bits === undefined) return undefined
    return { family: 'IPv4', bits, hasLeadingZeros: /(?:^|\.)0\d/.test(text), isMapped: false }
  }
  const bits = readIpv6(text)
  if (bits === undefined) return undefined
  const isMapped = bits >> 32n === mappedPrefix >> 32n
  if (isMapped) return { family: 'IPv4', bits: bits & 0xffff_ffffn, hasLeadingZeros: false, isMapped }
  return { family: 'IPv6', bits, hasLeadingZeros: false, isMapped }
}

function readIpv4(text: string): bigint | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255)) return undefined
  return parts.reduce((bits, part) => (bits << 8n) | BigInt(Number(part)), 0n)
}

function readIpv6(text: string): bigint | undefined {
  let source = text
  const last = source.slice(source.lastIndexOf(':') + 1)
  if (last.includes('.')) {
    const tail = readIpv4(last)
    if (tail === undefined) return undefined
    source = `${source.slice(0, source.length - last.length)}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`
  }
  const halves = source.split('::')
  if (halves.length > 2) return undefined
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')))
  const given = groups.flat()
  const missing = 8 - given.length
  if (!given.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const filled = halves.length === 2 ? [...groups[0]!, ...Array<string>(missing).fill('0'), ...groups[1]!] : given
  return filled.reduce((bits, group) => (bits << 16n) | BigInt(Number.parseInt(group, 16)), 0n)
}

/** The canonical spelling (RFC 5952). */
export function formatIp({ family, bits }: Pick<IpAddress, 'family' | 'bits'>): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => ((bits >> BigInt(112 - 16 * index)) & 0xffffn).toString(16))
  // The longest run of zeros is shortened, the first of several; a single zero is not.
  let [start, length] = [0, 1]
  for (const [at, group] of groups.entries()) {
    if (group !== '0') continue
    const end = groups.findIndex((other, index) => index > at && other !== '0')
    const run = (end < 0 ? groups.length : end) - at
    if (run > length) [start, length] = [at, run]
  }
  if (length === 1) return groups.join(':')
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`
}

export function parseCidr(text: string): IpRange | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const address = parseIp(text.slice(0, slash))
  const length = text.slice(slash + 1)
  if (!address || !/^\d+$/.test(length)) return undefined
  const prefix = Number(length)
  const width = address.isMapped ? 128 : widthOf[address.family]
  return prefix <= width ? { address, prefix } : undefined
}

/** The address with the bits beyond the prefix cleared. */
function networkOf({ address, prefix }: IpRange): bigint {
  const hidden = BigInt(widthOf[address.family] - Math.min(prefix, widthOf[address.family]))
  return (address.bits >> hidden) << hidden
}

function formatCidr(range: IpRange): string {
  return `${formatIp({ family: range.address.family, bits: networkOf(range) })}/${range.prefix}`
}

export function isInRange({ family, bits }: IpAddress, range: IpRange): boolean {
  return (
    family === range.address.family &&
    networkOf({ address: { ...range.address, bits }, prefix: range.prefix }) === networkOf(range)
  )
}

/** Validates an address in an old field. Values in `known`, those of the live object, stay valid. */
export function checkIp(value: string, field: string, known: readonly string[] = []): Problems {
  if (known.includes(value)) return noErrors
  const ip = parseIp(value)
  if (!ip) return [invalidField(field, value, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
  return [
    ...(ip.hasLeadingZeros ? [invalidField(field, value, 'must not have leading 0s')] : []),
    ...(ip.isMapped ? [invalidField(field, value, 'must not be an IPv4-mapped IPv6 address')] : []),
  ]
}

/** Validates an address in a newer field. */
export function checkCanonicalIp(value: string, field: string): Problems {
  const problems = checkIp(value, field)
  if (problems.length > 0) return problems
  const canonical = formatIp(parseIp(value)!)
  return value === canonical ? noErrors : [invalidField(field, value, `must be in canonical form ("${canonical}")`)]
}

/** Validates the name of an object that is named after an IP address. */
export const canonicalIp: FormatCheck = (text) =>
  checkCanonicalIp(text, '').map(({ message = '' }) => message.slice(message.indexOf(': must') + 2))

/** Validates a CIDR in an old field. Values in `known`, those of the live object, stay valid. */
export function checkCidr(value: string, field: string, known: readonly string[] = []): Problems {
  if (known.includes(value)) return noErrors
  const range = parseCidr(value)
  if (!range) return [invalidField(field, value, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')]
  if (range.address.hasLeadingZeros || /\/0\d/.test(value)) {
    return [invalidField(field, value, 'must not have leading 0s in IP or prefix length')]
  }
  if (range.address.isMapped) return [invalidField(field, value, 'must not have an IPv4-mapped IPv6 address')]
  if (networkOf(range) !== range.address.bits) {
    return [invalidField(field, value, 'must not have bits set beyond the prefix length')]
  }
  return noErrors
}

export function checkCanonicalCidr(value: string, field: string): Problems {
  const problems = checkCidr(value, field)
  if (problems.length > 0) return problems
  const canonical = formatCidr(parseCidr(value)!)
  return value === canonical ? noErrors : [invalidField(field, value, `must be in canonical form ("${canonical}")`)]
}

const specialRanges: readonly (readonly [string, string])[] = [
  ['127.0.0.0/8', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ['::1/128', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ['169.254.0.0/16', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ['fe80::/10', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ['224.0.0.0/24', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
  ['ff02::/16', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
]

/** Validates an address to which other nodes send traffic: an endpoint. */
export function checkReachableIp(value: string, field: string): Problems {
  const ip = parseIp(value)
  if (!ip) return [invalidField(field, value, 'must be a valid IP address')]
  if (ip.bits === 0n) return [invalidField(field, value, `may not be unspecified (${value})`)]
  return specialRanges
    .filter(([range]) => isInRange(ip, parseCidr(range)!))
    .map(([, detail]) => invalidField(field, value, detail))
}
