/** sprig's functions for URLs, parsed as Go parses them. */
import { quoteGo } from '../../kube/go/go-text.ts'
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError } from '../template/go-error.ts'
import { bytesText, textBytes } from '../template/text-bytes.ts'
import { type GoMap, hasMember, goKindOf } from '../template/values.ts'

interface Url {
  scheme: string
  opaque: string
  userinfo: string | undefined
  host: string
  path: string
  query: string
  fragment: string
}

export const sprigUrlFunctions: FunctionTable = new Map<string, GoFunction>([
  [
    'urlParse',
    goFunction('string', ([text]: [string]): GoMap => {
      const url = parseUrl(text)
      return { ...url, hostname: hostname(url.host), userinfo: url.userinfo ?? '' }
    }),
  ],
  ['urlJoin', goFunction('map', ([map]: [GoMap]) => joinUrl(map))],
])

/** A wrong part of a URL. */
function wrong(text: string, problem: string): GoError {
  return new GoError(`unable to parse url: parse ${quoteGo(text)}: ${problem}`)
}

function parseUrl(text: string): Url {
  // oxlint-disable-next-line no-control-regex -- these are what is to be found
  if (/[\0-\x1f\x7f]/.test(text)) throw wrong(text, 'net/url: invalid control character in URL')
  const url: Url = { scheme: '', opaque: '', userinfo: undefined, host: '', path: '', query: '', fragment: '' }
  const hash = text.indexOf('#')
  let rest = hash < 0 ? text : text.slice(0, hash)
  if (hash >= 0) url.fragment = unescape(text.slice(hash + 1), text)
  if (rest === '*') return { ...url, path: '*' }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(rest)
  if (scheme) {
    url.scheme = scheme[1]!.toLowerCase()
    rest = rest.slice(scheme[0].length)
  } else if (rest.startsWith(':')) throw wrong(text, 'missing protocol scheme')
  const question = rest.indexOf('?')
  if (question >= 0) {
    url.query = rest.slice(question + 1)
    rest = rest.slice(0, question)
  }
  if (!rest.startsWith('/')) {
    if (url.scheme !== '') return { ...url, opaque: rest }
    const [first = ''] = rest.split('/', 1)
    if (first.includes(':')) throw wrong(text, 'first path segment in URL cannot contain colon')
  }
  if (rest.startsWith('//') && (url.scheme !== '' || !rest.startsWith('///'))) {
    const slash = rest.indexOf('/', 2)
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash)
    rest = slash < 0 ? '' : rest.slice(slash)
    Object.assign(url, parseAuthority(authority, text))
  }
  return { ...url, path: unescape(rest, text) }
}

function parseAuthority(authority: string, text: string): Pick<Url, 'userinfo' | 'host'> {
  const at = authority.lastIndexOf('@')
  const host = parseHost(authority.slice(at + 1), text)
  if (at < 0) return { userinfo: undefined, host }
  const userinfo = authority.slice(0, at)
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:%@]*$/.test(userinfo)) throw wrong(text, 'net/url: invalid userinfo')
  const colon = userinfo.indexOf(':')
  if (colon < 0) return { userinfo: escapeUser(unescape(userinfo, text)), host }
  const [name, password] = [userinfo.slice(0, colon), userinfo.slice(colon + 1)]
  return { userinfo: `${escapeUser(unescape(name, text))}:${escapeUser(unescape(password, text))}`, host }
}

function parseHost(host: string, text: string): string {
  const close = host.startsWith('[') ? host.lastIndexOf(']') : -1
  if (host.startsWith('[') && close < 0) throw wrong(text, "missing ']' in host")
  const colon = host.startsWith('[') ? close + 1 : host.lastIndexOf(':')
  const port = colon >= 0 ? host.slice(colon) : ''
  if (port !== '' && !/^:\d*$/.test(port)) throw wrong(text, `invalid port ${quoteGo(port)} after host`)
  const invalid = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u{80}-\u{10ffff}]/u.exec(host)
  if (invalid) throw wrong(text, `invalid character ${quoteGo(invalid[0])} in host name`)
  return unescape(host, text)
}

function hostname(host: string): string {
  if (host.startsWith('[')) return host.slice(1, host.includes(']') ? host.indexOf(']') : undefined)
  const colon = host.lastIndexOf(':')
  return colon >= 0 && /^:\d*$/.test(host.slice(colon)) ? host.slice(0, colon) : host
}

function unescape(text: string, whole: string): string {
  if (!text.includes('%')) return text
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(text)
  if (bad) throw wrong(whole, `invalid URL escape ${quoteGo(bad[0])}`)
  const bytes: Buffer[] = []
  for (const part of text.split(/(%[0-9a-fA-F]{2})/)) {
    bytes.push(/^%[0-9a-fA-F]{2}$/.test(part) ? Buffer.from(part.slice(1), 'hex') : textBytes(part))
  }
  return bytesText(Buffer.concat(bytes))
}

function escape(text: string, allowed: RegExp): string {
  let escaped = ''
  for (const byte of textBytes(text)) {
    const character = String.fromCharCode(byte)
    escaped += allowed.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}

function escapeUser(text: string): string {
  return escape(text, /[A-Za-z0-9\-_.~$&+,;=]/)
}

function member(map: GoMap, key: string): string {
  if (!hasMember(map, key)) return ''
  const value = map[key]
  if (typeof value === 'string') return value
  if ((value ?? null) === null) throw new GoError('runtime error: invalid memory address or nil pointer dereference')
  throw new GoError(`unable to parse ${key} key, must be of type string, but ${goKindOf(value)} found`)
}

function joinUrl(map: GoMap): string {
  const [scheme, host, path, query, opaque, fragment, userinfo] = [
    'scheme',
    'host',
    'path',
    'query',
    'opaque',
    'fragment',
    'userinfo',
  ].map((key) => member(map, key)) as [string, string, string, string, string, string, string]
  const user = userinfo === '' ? undefined : joinedUser(userinfo)
  let text = scheme === '' ? '' : `${scheme}:`
  if (opaque !== '') text += opaque
  else {
    const escapedPath = escape(path, /[A-Za-z0-9\-_.~$&+,/:;=@]/)
    if (scheme !== '' || host !== '' || user !== undefined) {
      if (host !== '' || path !== '' || user !== undefined) text += '//'
      if (user !== undefined) text += `${user}@`
      text += escape(host, /[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/)
    }
    if (escapedPath !== '' && !escapedPath.startsWith('/') && host !== '') text += '/'
    if (text === '' && escapedPath.split('/', 1)[0]!.includes(':')) text += './'
    text += escapedPath
  }
  if (query !== '') text += `?${query}`
  if (fragment !== '') text += `#${escape(fragment, /[A-Za-z0-9\-_.~$&+,/:;=?@!()*]/)}`
  return text
}

function joinedUser(userinfo: string): string | undefined {
  try {
    return parseUrl(`proto://${userinfo}@host`).userinfo
  } catch (error) {
    if (error instanceof GoError) {
      throw new GoError(error.message.replace('unable to parse url', 'unable to parse userinfo in dict'))
    }
    throw error
  }
}
