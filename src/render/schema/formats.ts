/** Values of the keyword `format`. Formats that are not known are not checked. */
import { isIP } from 'node:net'
import { parseVersion } from '../version/semantic-version.ts'

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => {
    const [date = '', time = '', ...more] = text.split(/[tT ]/)
    return more.length === 0 && isDate(date) && isTime(time)
  },
  date: isDate,
  time: isTime,
  email: (text) => {
    const at = text.lastIndexOf('@')
    return at > 0 && at <= 64 && text.length <= 254 && !/\s/.test(text) && isHost(text.slice(at + 1))
  },
  hostname: isHost,
  ipv4: (text) => isIP(text) === 4,
  ipv6: (text) => isIP(text) === 6 && !text.includes('%'),
  uuid: (text) => /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text),
  uri: (text) => /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) && !/[\s<>"{}|\\^`]/.test(text) && isUrl(text),
  'uri-reference': (text) => !/[\s<>"{}|\\^`]/.test(text),
  'json-pointer': (text) => (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text),
  semver: (text) => text.split(/[-+]/, 1)[0]!.split('.').length === 3 && parseVersion(text) !== undefined,
}

export function isOfFormat(format: string, text: string): boolean {
  return !Object.hasOwn(formats, format) || formats[format]!(text)
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

function isTime(text: string): boolean {
  const [, hours, minutes, seconds] = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|[+-]\d\d:\d\d)$/.exec(text) ?? []
  return Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) <= 60
}

function isHost(text: string): boolean {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  if (name.length === 0 || name.length > 253) return false
  return name.split('.').every((part) => part.length <= 63 && /^[a-zA-Z0-9-]+$/.test(part) && !/^-|-$/.test(part))
}

function isUrl(text: string): boolean {
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\//.test(text) ? URL.canParse(text) : true
}
