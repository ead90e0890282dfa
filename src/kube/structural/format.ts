/**
 * String formats, as the libraries of the API server define them, which is not always what the name suggests: a `duration` may
 * be "3 days", a `uri` just a path.
 */
import { isIP, isIPv4 } from 'node:net'
import { parseSchemaDuration } from '../units/schema-duration.ts'
import { isEmail } from './email.ts'

type Check = (text: string) => boolean

const matching =
  (pattern: RegExp): Check =>
  (text) =>
    pattern.test(text)

const uuid = (third: string, fourth: string): Check =>
  matching(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${third}-?${fourth}-?[0-9a-f]{12}$`, 'i'))

const anyHex = '[0-9a-f]{4}'
const variant = '[89ab][0-9a-f]{3}'

/** By name, without dashes, as they are looked up. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['bsonobjectid', matching(/^[0-9a-f]{24}$/i)],
  ['byte', matching(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/)],
  ['cidr', isCidr],
  ['creditcard', isCreditCard],
  ['date', isDate],
  ['datetime', isDateTime],
  ['duration', (text) => isDuration(text)],
  ['email', isEmail],
  ['hexcolor', matching(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['hostname', isHostname],
  ['ipv4', (text) => text.includes('.') && isAddress(text, true)],
  ['ipv6', (text) => text.includes(':') && isAddress(text, false)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  [
    'k8slongname',
    (text) => text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
  ],
  ['k8sshortname', (text) => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text)],
  ['mac', isMac],
  ['password', () => true],
  [
    'rgbcolor',
    matching(
      /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/,
    ),
  ],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['uri', isRequestUri],
  ['uuid', uuid(anyHex, anyHex)],
  ['uuid3', uuid('3[0-9a-f]{3}', anyHex)],
  ['uuid4', uuid('4[0-9a-f]{3}', variant)],
  ['uuid5', uuid('5[0-9a-f]{3}', variant)],
])

/** Whether it is a string format that is validated at all. */
export function isKnownFormat(format: string): boolean {
  return checks.has(format.replaceAll('-', ''))
}

export function formatCheckOf(format: string): Check | undefined {
  return format === '' ? undefined : checks.get(format.replaceAll('-', ''))
}

/** An address; the server accepts leading zeros in IPv4, and no zones. */
function isAddress(text: string, isSloppy: boolean): boolean {
  if (text.includes('%')) return false
  const plain = isSloppy ? text.replaceAll(/(^|[.:])0+(?=\d)/g, '$1') : text
  return text.includes(':') ? isIP(text) === 6 : isIPv4(plain)
}

function isCidr(text: string): boolean {
  const match = /^([^/]+)\/(\d{1,3})$/.exec(text)
  if (!match) return false
  const [, address = '', length = ''] = match
  return isAddress(address, true) && Number(length) <= (address.includes(':') ? 128 : 32) && !/^0\d/.test(length)
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (!match) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  const date = new Date(Date.UTC(2000, 0, 1))
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t')
  if (time === undefined || !isDate(date)) return false
  const match = /^(\d\d):(\d\d):(\d\d)(.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time)
  return match !== null && match[1]! <= '23' && match[2]! <= '59' && match[3]! <= '59'
}

const isDuration = (text: string): boolean => parseSchemaDuration(text) !== undefined

const macParts = new Set([6, 8, 20])

/** Two digits between colons or dashes, or four between dots: six, eight or twenty bytes. */
function isMac(text: string): boolean {
  if (text.length > longestMac) return false
  if (text[4] === '.') {
    const parts = text.split('.')
    return macParts.has(parts.length * 2) && parts.every((part) => /^[0-9a-f]{4}$/i.test(part))
  }
  const parts = text.split(text[2] === ':' ? ':' : '-')
  return macParts.has(parts.length) && parts.every((part) => /^[0-9a-f]{2}$/i.test(part))
}

const longestMac = 'xx:'.length * 20

const hostname =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.))+([a-zA-Z\p{L}]){2,63})$/u

function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255 || !hostname.test(text)) return false
  return text.split('.').every((part) => Buffer.byteLength(part) <= 63)
}

/** Valid in the first line of an HTTP request: an absolute URI or an absolute path. */
function isRequestUri(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- control characters are exactly what it rejects
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text)) return false
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0]
  if (text === '*') return true
  const rest = text.slice(scheme?.length ?? 0)
  if (!scheme && !rest.startsWith('/')) return false
  // Without a slash after the scheme it is opaque, which is valid.
  if (scheme && !rest.startsWith('/')) return true
  const [location = ''] = rest.split('?', 1)
  if (/%(?![0-9a-fA-F]{2})/.test(location)) return false
  if (!scheme || !rest.startsWith('//')) return true
  const authority = location.slice(2).split('/', 1)[0]!
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const [, port] = /:([^:\]]*)$/.exec(host) ?? []
  if (port !== undefined && !/^\d*$/.test(port)) return false
  if (host.startsWith('[')) return host.includes(']')
  return !/[\s"<>\\^`{|}]/.test(host)
}

function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D+/g, '')
  if (
    !/^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/.test(
      digits,
    )
  ) {
    return false
  }
  let sum = 0
  for (const [index, digit] of Array.from(digits).toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '')
  if (!/^(?:\d{9}X|\d{10})$/.test(digits)) return false
  const sum = Array.from(digits).reduce(
    (total, digit, index) => total + (index + 1) * (digit === 'X' ? 10 : Number(digit)),
    0,
  )
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  const sum = Array.from(digits).reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0)
  return sum % 10 === 0
}
