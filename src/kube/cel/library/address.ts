/**
 * IP addresses and networks in expressions: `ip('::1')`, `cidr('10.0.0.0/8')`. An address is its bytes; ambiguous forms
 * (leading zeros, IPv4 inside of IPv6, zones) are rejected.
 */
import { CelRuntimeError, noSuchOverload } from '../value/error.ts'
import { type CelFunction, byLength, fixedCost, functionNamed } from './function.ts'
import { quoteGo } from '../../go/go-text.ts'
import { type CelType, boolType, intType, opaqueTypeNamed, stringType } from '../value/type.ts'
import { CelOpaque, type CelValue, celSizeOf } from '../value/value.ts'

export const ipType: CelType = opaqueTypeNamed('net.IP')
export const cidrType: CelType = opaqueTypeNamed('net.CIDR')

export interface Address {
  /** 4 or 16. */
  readonly bytes: readonly number[]
  /** The size of the address for cost accounting. */
  readonly size: number
}

export interface Prefix {
  readonly address: Address
  readonly bits: number
  readonly size: number
}

class AddressError extends Error {}

function fail(text: string, message: string, at = ''): AddressError {
  return new AddressError(`ParseAddr(${quoteGo(text)}): ${message}${at === '' ? '' : ` (at ${quoteGo(at)})`}`)
}

/** Throws an AddressError with the message of Go. */
export function parseAddress(text: string): Address {
  const mark = /[.:%]/.exec(text)?.[0]
  if (mark === '.') return addressOf(parseFields(text, text))
  if (mark === ':') return addressOf(parseGroups(text))
  throw fail(text, mark === '%' ? 'missing IPv6 address' : 'unable to parse IP')
}

function addressOf(bytes: readonly number[]): Address {
  return { bytes, size: bytes.length }
}

function parseFields(whole: string, text: string): readonly number[] {
  const fields: number[] = []
  let value = 0
  let digits = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!
    if (character >= '0' && character <= '9') {
      if (digits === 1 && value === 0) throw fail(whole, 'IPv4 field has octet with leading zero')
      value = value * 10 + Number(character)
      digits++
      if (value > 255) throw fail(whole, 'IPv4 field has value >255')
    } else if (character === '.') {
      if (index === 0 || index === text.length - 1 || text[index - 1] === '.') {
        throw fail(whole, 'IPv4 field must have at least one digit', text.slice(index))
      }
      if (fields.length === 3) throw fail(whole, 'IPv4 address too long')
      fields.push(value)
      value = 0
      digits = 0
    } else {
      throw fail(whole, 'unexpected character', text.slice(index))
    }
  }
  if (fields.length < 3) throw fail(whole, 'IPv4 address too short')
  return [...fields, value]
}

function parseGroups(whole: string): readonly number[] {
  const zone = whole.indexOf('%')
  if (zone === whole.length - 1) throw fail(whole, 'zone must be a non-empty string')
  let rest = zone < 0 ? whole : whole.slice(0, zone)
  const bytes: number[] = []
  let gap = -1
  if (rest.startsWith('::')) {
    gap = 0
    rest = rest.slice(2)
  }
  let isFirst = true
  while (bytes.length < 16 && (rest !== '' || (isFirst && gap < 0))) {
    isFirst = false
    const digits = /^[0-9a-fA-F]*/.exec(rest)![0]
    if (digits.length > 4) throw fail(whole, 'each group must have 4 or less digits', rest)
    if (digits === '') throw fail(whole, 'each colon-separated field must have at least one digit', rest)
    if (rest[digits.length] === '.') {
      if (gap < 0 && bytes.length !== 12) {
        throw fail(whole, 'embedded IPv4 address must replace the final 2 fields of the address', rest)
      }
      if (bytes.length > 12) {
        throw fail(whole, 'too many hex fields to fit an embedded IPv4 at the end of the address', rest)
      }
      bytes.push(...parseFields(whole, rest))
      rest = ''
      break
    }
    const value = Number.parseInt(digits, 16)
    bytes.push(value >> 8, value & 0xff)
    rest = rest.slice(digits.length)
    if (rest === '') break
    if (!rest.startsWith(':')) throw fail(whole, 'unexpected character, want colon', rest)
    if (rest.length === 1) throw fail(whole, 'colon must be followed by more characters', rest)
    rest = rest.slice(1)
    if (rest.startsWith(':')) {
      if (gap >= 0) throw fail(whole, 'multiple :: in address', rest)
      gap = bytes.length
      rest = rest.slice(1)
      if (rest === '') break
    }
  }
  if (rest !== '') throw fail(whole, 'trailing garbage after address', rest)
  if (bytes.length === 16) {
    if (gap >= 0) throw fail(whole, 'the :: must expand to at least one field of zeros')
    return bytes
  }
  if (gap < 0) throw fail(whole, 'address string too short')
  return [...bytes.slice(0, gap), ...Array.from({ length: 16 - bytes.length }, () => 0), ...bytes.slice(gap)]
}

function isMapped(bytes: readonly number[]): boolean {
  return (
    bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff
  )
}

/** The canonical text: RFC 5952. */
export function addressText({ bytes }: Address): string {
  if (bytes.length === 4) return bytes.join('.')
  if (isMapped(bytes)) return `::ffff:${bytes.slice(12).join('.')}`
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((bytes[index * 2]! << 8) | bytes[index * 2 + 1]!).toString(16),
  )
  let [start, length] = [-1, 1]
  for (let index = 0; index < 8; index++) {
    let end = index
    while (end < 8 && groups[end] === '0') end++
    if (end - index > length) [start, length] = [index, end - index]
  }
  if (start < 0) return groups.join(':')
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`
}

export function prefixText({ address, bits }: Prefix): string {
  return `${addressText(address)}/${bits}`
}

function readAddress(text: string): Address {
  let address: Address
  try {
    address = parseAddress(text)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    throw new CelRuntimeError(`IP Address ${quoteGo(text)} parse error during conversion from string: ${error.message}`)
  }
  if (text.includes('%')) throw new CelRuntimeError(`IP address ${quoteGo(text)} with zone value is not allowed`)
  if (isMapped(address.bytes)) throw new CelRuntimeError(`IPv4-mapped IPv6 address ${quoteGo(text)} is not allowed`)
  return address
}

function readPrefix(text: string): Prefix {
  const context = 'network address parse error during conversion from string: '
  const slash = text.lastIndexOf('/')
  const wrong = (message: string): CelRuntimeError =>
    new CelRuntimeError(`${context}${context}netip.ParsePrefix(${quoteGo(text)}): ${message}`)
  if (slash < 0) throw wrong("no '/'")
  const [start, length] = [text.slice(0, slash), text.slice(slash + 1)]
  let address: Address
  try {
    address = parseAddress(start)
  } catch (error) {
    if (error instanceof AddressError) throw wrong(error.message)
    throw error
  }
  if (start.includes('%')) throw wrong('IPv6 zones cannot be present in a prefix')
  if (!/^(?:\d|[1-9]\d*)$/.test(length)) throw wrong(`bad bits after slash: ${quoteGo(length)}`)
  const bits = Number(length)
  if (bits > address.bytes.length * 8) throw wrong('prefix length out of range')
  if (isMapped(address.bytes)) {
    throw new CelRuntimeError(`${context}IPv4-mapped IPv6 address ${quoteGo(text)} is not allowed`)
  }
  return { address, bits, size: Math.ceil(bits / 8) }
}

function isReadable(read: (text: string) => unknown, text: string): boolean {
  try {
    read(text)
    return true
  } catch (error) {
    if (error instanceof CelRuntimeError) return false
    throw error
  }
}

/** The first `bits` of the address, the rest zero. */
function masked({ address, bits, size }: Prefix): Prefix {
  const bytes = address.bytes.map((byte, index) => byte & (0xff00 >> Math.max(0, Math.min(8, bits - index * 8))) & 0xff)
  return { address: addressOf(bytes), bits, size }
}

function contains(prefix: Prefix, { bytes }: Address): boolean {
  if (bytes.length !== prefix.address.bytes.length) return false
  const own = masked(prefix).address
  const other = masked({ ...prefix, address: addressOf(bytes) }).address
  return addressText(own) === addressText(other)
}

function containsPrefix(prefix: Prefix, other: Prefix): boolean {
  return prefix.bits <= other.bits && contains(prefix, other.address)
}

const readIp = (value: CelValue | undefined): Address => (value as CelOpaque).content as Address
const readCidr = (value: CelValue | undefined): Prefix => (value as CelOpaque).content as Prefix
const bytesOf = (value: CelValue | undefined): readonly number[] => readIp(value).bytes
const isAll = (bytes: readonly number[], value: number): boolean => bytes.every((byte) => byte === value)

function isLoopback(bytes: readonly number[]): boolean {
  return bytes.length === 4 ? bytes[0] === 127 : isAll(bytes.slice(0, 15), 0) && bytes[15] === 1
}

function isLinkLocal(bytes: readonly number[]): boolean {
  if (bytes.length === 4) return bytes[0] === 169 && bytes[1] === 254
  return bytes[0] === 0xfe && (bytes[1]! & 0xc0) === 0x80
}

function isLinkLocalMulticast(bytes: readonly number[]): boolean {
  if (bytes.length === 4) return bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0
  return bytes[0] === 0xff && (bytes[1]! & 0x0f) === 2
}

function isMulticast(bytes: readonly number[]): boolean {
  return bytes.length === 4 ? (bytes[0]! & 0xf0) === 0xe0 : bytes[0] === 0xff
}

function isGlobal(bytes: readonly number[]): boolean {
  if (isAll(bytes, 0) || (bytes.length === 4 && isAll(bytes, 255))) return false
  return !isLoopback(bytes) && !isMulticast(bytes) && !isLinkLocal(bytes)
}

const ipProperty = (name: string, id: string, test: (bytes: readonly number[]) => boolean): CelFunction =>
  functionNamed(name, [
    { id, member: true, params: [ipType], result: boolType, call: ([ip]) => test(bytesOf(ip)), cost: fixedCost(1) },
  ])

const containsCost =
  (extra: number, parsesText: boolean) =>
  (args: readonly CelValue[]): number => {
    const size = celSizeOf(args[0]!)
    const text = parsesText ? Math.ceil(celSizeOf(args[1]!) * 0.1) : 0
    return Math.ceil(size * 2 * 0.1) + extra * (Math.ceil(size * 0.1) + 1) + text
  }

export const addressFunctions: readonly CelFunction[] = [
  functionNamed('ip', [
    {
      id: 'string_to_ip',
      params: [stringType],
      result: ipType,
      call: ([text]) => new CelOpaque(ipType, readAddress(text as string)),
      cost: byLength(0, 0.1),
    },
    {
      id: 'cidr_ip',
      member: true,
      params: [cidrType],
      result: ipType,
      call: ([cidr]) => new CelOpaque(ipType, readCidr(cidr).address),
    },
  ]),
  functionNamed('isIP', [
    {
      id: 'is_ip',
      params: [stringType],
      result: boolType,
      call: ([text]) => isReadable(readAddress, text as string),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('ip.isCanonical', [
    {
      id: 'ip_is_canonical',
      params: [stringType],
      result: boolType,
      call: ([text]) => addressText(readAddress(text as string)) === text,
      cost: byLength(0, 0.2),
    },
  ]),
  functionNamed('family', [
    {
      id: 'ip_family',
      member: true,
      params: [ipType],
      result: intType,
      call: ([ip]) => (bytesOf(ip).length === 4 ? 4 : 6),
    },
  ]),
  ipProperty('isUnspecified', 'ip_is_unspecified', (bytes) => isAll(bytes, 0)),
  ipProperty('isLoopback', 'ip_is_loopback', isLoopback),
  ipProperty('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
  ipProperty('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocal),
  ipProperty('isGlobalUnicast', 'ip_is_global_unicast', isGlobal),
  functionNamed('string', [
    { id: 'ip_to_string', params: [ipType], result: stringType, call: ([ip]) => addressText(readIp(ip)) },
    { id: 'cidr_to_string', params: [cidrType], result: stringType, call: ([cidr]) => prefixText(readCidr(cidr)) },
  ]),
  functionNamed('cidr', [
    {
      id: 'string_to_cidr',
      params: [stringType],
      result: cidrType,
      call: ([text]) => new CelOpaque(cidrType, readPrefix(text as string)),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('isCIDR', [
    {
      id: 'is_cidr',
      params: [stringType],
      result: boolType,
      call: ([text]) => isReadable(readPrefix, text as string),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('containsIP', [
    {
      id: 'cidr_contains_ip_string',
      member: true,
      params: [cidrType, stringType],
      result: boolType,
      call: ([cidr, text]) => {
        // The server does not report the error of the text.
        if (!isReadable(readAddress, text as string)) throw noSuchOverload()
        return contains(readCidr(cidr), readAddress(text as string))
      },
      cost: containsCost(0, true),
    },
    {
      id: 'cidr_contains_ip_ip',
      member: true,
      params: [cidrType, ipType],
      result: boolType,
      call: ([cidr, ip]) => contains(readCidr(cidr), readIp(ip)),
      cost: containsCost(0, false),
    },
  ]),
  functionNamed('containsCIDR', [
    {
      id: 'cidr_contains_cidr_string',
      member: true,
      params: [cidrType, stringType],
      result: boolType,
      call: ([cidr, text]) => containsPrefix(readCidr(cidr), readPrefix(text as string)),
      cost: containsCost(1, true),
    },
    {
      id: 'cidr_contains_cidr',
      member: true,
      params: [cidrType, cidrType],
      result: boolType,
      call: ([cidr, other]) => containsPrefix(readCidr(cidr), readCidr(other)),
      cost: containsCost(1, false),
    },
  ]),
  functionNamed('prefixLength', [
    {
      id: 'cidr_prefix_length',
      member: true,
      params: [cidrType],
      result: intType,
      call: ([cidr]) => readCidr(cidr).bits,
    },
  ]),
  functionNamed('masked', [
    {
      id: 'cidr_masked',
      member: true,
      params: [cidrType],
      result: cidrType,
      call: ([cidr]) => new CelOpaque(cidrType, masked(readCidr(cidr))),
    },
  ]),
]
