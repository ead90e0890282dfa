/**
 * `url('https://example.com:80/path')`: URLs as Go parses them, which differs from browsers. Only absolute URLs and absolute
 * paths are valid.
 */
import { parseAddress } from './address.ts'
import { CelRuntimeError } from '../value/error.ts'
import { type CelFunction, byLength, functionNamed } from './function.ts'
import { quoteGo } from '../../go/go-text.ts'
import { type CelType, boolType, listOf, mapOf, objectTypeNamed, stringType } from '../value/type.ts'
import { CelArray, CelEntries, CelOpaque, type CelValue } from '../value/value.ts'

export const urlType: CelType = objectTypeNamed('kubernetes.URL')

interface Url {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
  /** Rebuilt from its parts, for comparison. */
  readonly text: string
}

class UrlError extends Error {}

const fail = (message: string): UrlError => new UrlError(message)

type Part = 'host' | 'path' | 'query' | 'user' | 'zone'

/** Characters besides letters and digits that are not escaped. */
const plain: Readonly<Record<Part, string>> = {
  host: '-_.~!$&\'()*+,;=:[]<>"',
  zone: '-_.~!$&\'()*+,;=:[]<>"',
  path: '-_.~$&+,/:;=@',
  query: '-_.~',
  user: '-_.~$&+,;=',
}

const isPlain = (character: string, part: Part): boolean =>
  /[A-Za-z0-9]/.test(character) || plain[part].includes(character)

function unescape(text: string, part: Part): string {
  for (const [found, index] of [...text.matchAll(/%[0-9a-fA-F]{0,2}/g)].map(
    (match) => [match[0], match.index] as const,
  )) {
    if (found.length < 3) throw fail(`invalid URL escape ${quoteGo(text.slice(index, index + 3))}`)
    const byte = Number.parseInt(found.slice(1), 16)
    if (part === 'host' && byte < 0x80 && found !== '%25') throw fail(`invalid URL escape ${quoteGo(found)}`)
    if (part === 'zone' && found !== '%25' && byte !== 0x20 && !isPlain(String.fromCharCode(byte), 'host')) {
      throw fail(`invalid URL escape ${quoteGo(found)}`)
    }
  }
  if (part === 'host' || part === 'zone') {
    for (const character of text.replaceAll(/%[0-9a-fA-F]{2}/g, '')) {
      if (character < '\u{80}' && !isPlain(character, part)) {
        throw fail(`invalid character ${quoteGo(character)} in host name`)
      }
    }
  }
  const spaced = part === 'query' ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  const bytes: number[] = []
  for (let index = 0; index < spaced.length;) {
    if (spaced[index] === '%') {
      bytes.push(Number.parseInt(spaced.slice(index + 1, index + 3), 16))
      index += 3
    } else {
      const character = String.fromCodePoint(spaced.codePointAt(index)!)
      bytes.push(...Buffer.from(character))
      index += character.length
    }
  }
  return Buffer.from(bytes).toString('utf8')
}

function escape(text: string, part: Part): string {
  let escaped = ''
  for (const character of text) {
    if (isPlain(character, part)) escaped += character
    else for (const byte of Buffer.from(character)) escaped += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}

/** The path as it was written, if that is a valid encoding. */
function escapedPath(raw: string): string {
  const path = unescape(raw, 'path')
  const proper = Array.from(raw).every((character) => isPlain(character, 'path') || "!'()*[]%".includes(character))
  return proper ? raw : path === '*' ? '*' : escape(path, 'path')
}

const hasControl = (text: string): boolean =>
  Array.from(text).some((character) => character < ' ' || character === '\u{7f}')

/** `forRequest`: no relative forms and no fragments. */
function parseReference(text: string, forRequest: boolean): Url {
  if (hasControl(text)) throw fail('net/url: invalid control character in URL')
  if (text === '' && forRequest) throw fail('empty url')
  if (text === '*') return { scheme: '', host: '', path: '*', query: '', text: '*' }
  if (text.startsWith(':')) throw fail('missing protocol scheme')
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(text)?.[0] ?? ''
  const afterScheme = scheme === '' ? text : text.slice(scheme.length + 1)
  const mark = afterScheme.indexOf('?')
  let rest = mark < 0 ? afterScheme : afterScheme.slice(0, mark)
  const query = mark < 0 ? '' : afterScheme.slice(mark + 1)
  const head = scheme === '' ? '' : `${scheme.toLowerCase()}:`
  const tail = mark < 0 ? '' : `?${query}`
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { scheme: scheme.toLowerCase(), host: '', path: '', query, text: head + rest + tail }
    if (forRequest) throw fail('invalid URI for request')
    if (rest.split('/')[0]!.includes(':')) throw fail('first path segment in URL cannot contain colon')
  }
  let host = ''
  let user = ''
  let hasAuthority = false
  if ((scheme !== '' || (!forRequest && !rest.startsWith('///'))) && rest.startsWith('//')) {
    const slash = rest.indexOf('/', 2)
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash)
    rest = slash < 0 ? '' : rest.slice(slash)
    hasAuthority = true
    const at = authority.lastIndexOf('@')
    host = parseHost(scheme.toLowerCase(), authority.slice(at + 1))
    if (at >= 0) user = `${parseUser(authority.slice(0, at))}@`
  }
  const path = escapedPath(rest)
  const origin = hasAuthority && (host !== '' || path !== '' || user !== '') ? `//${user}${escape(host, 'host')}` : ''
  return { scheme: scheme.toLowerCase(), host, path, query, text: head + origin + path + tail }
}

function parseUser(text: string): string {
  if (!/^[-A-Za-z0-9._:~!$&'()*+,;=%@]*$/.test(text)) throw fail('net/url: invalid userinfo')
  const colon = text.indexOf(':')
  if (colon < 0) return escape(unescape(text, 'user'), 'user')
  return [text.slice(0, colon), text.slice(colon + 1)].map((part) => escape(unescape(part, 'user'), 'user')).join(':')
}

const isPort = (text: string): boolean => /^(?::\d*)?$/.test(text)

function parseHost(scheme: string, text: string): string {
  const open = text.lastIndexOf('[')
  if (open > 0) throw fail('invalid IP-literal')
  if (open === 0) {
    const close = text.lastIndexOf(']')
    if (close < 0) throw fail("missing ']' in host")
    const port = text.slice(close + 1)
    if (!isPort(port)) throw fail(`invalid port ${quoteGo(port)} after host`)
    const name = text.slice(1, close)
    const zone = name.indexOf('%25')
    const host =
      zone < 0 ? unescape(name, 'host') : unescape(name.slice(0, zone), 'host') + unescape(name.slice(zone), 'zone')
    assertIpv6(host)
    return `[${host}]${port}`
  }
  const colon = scheme === 'http' || scheme === 'https' ? text.indexOf(':') : text.lastIndexOf(':')
  if (colon >= 0 && !isPort(text.slice(colon))) throw fail(`invalid port ${quoteGo(text.slice(colon))} after host`)
  return unescape(text, 'host')
}

function assertIpv6(host: string): void {
  let isIpv4: boolean
  try {
    isIpv4 = parseAddress(host).bytes.length === 4
  } catch (error) {
    throw fail(`invalid host: ${(error as Error).message}`)
  }
  if (isIpv4) throw fail('invalid IP-literal')
}

/** The server's message for an invalid URL; undefined: it is valid. */
export function urlProblem(text: string): string | undefined {
  try {
    parseReference(text, true)
    return undefined
  } catch (error) {
    if (error instanceof UrlError) return `parse ${quoteGo(text)}: ${error.message}`
    throw error
  }
}

function parseUrl(text: string): Url {
  const problem = urlProblem(text)
  if (problem !== undefined) throw new CelRuntimeError(`URL parse error during conversion from string: ${problem}`)
  const hash = text.indexOf('#')
  if (hash < 0) return parseReference(text, false)
  const url = parseReference(text.slice(0, hash), false)
  return { ...url, text: url.text + text.slice(hash) }
}

function hostAndPort(host: string): readonly [string, string] {
  const colon = host.lastIndexOf(':')
  const hasPort = colon >= 0 && isPort(host.slice(colon))
  const name = hasPort ? host.slice(0, colon) : host
  return [name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name, hasPort ? host.slice(colon + 1) : '']
}

function queryOf(query: string): CelValue {
  const values = new Map<string, string[]>()
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const equals = pair.indexOf('=')
    try {
      const key = unescape(equals < 0 ? pair : pair.slice(0, equals), 'query')
      const value = unescape(equals < 0 ? '' : pair.slice(equals + 1), 'query')
      values.set(key, [...(values.get(key) ?? []), value])
    } catch (error) {
      // An invalid pair is skipped.
      if (!(error instanceof UrlError)) throw error
    }
  }
  return CelEntries.of([...values].map(([key, list]) => [key, new CelArray(list)] as const))
}

const read = (value: CelValue | undefined): Url => (value as CelOpaque).content as Url
const part = (name: string, id: string, result: CelType, get: (url: Url) => CelValue): CelFunction =>
  functionNamed(name, [{ id, member: true, params: [urlType], result, call: ([url]) => get(read(url)) }])

export const urlFunctions: readonly CelFunction[] = [
  functionNamed('url', [
    {
      id: 'string_to_url',
      params: [stringType],
      result: urlType,
      call: ([text]) => new CelOpaque(urlType, parseUrl(text as string)),
      cost: byLength(0, 0.1),
    },
  ]),
  functionNamed('isURL', [
    {
      id: 'is_url_string',
      params: [stringType],
      result: boolType,
      call: ([text]) => urlProblem(text as string) === undefined,
    },
  ]),
  part('getScheme', 'url_get_scheme', stringType, ({ scheme }) => scheme),
  part('getHost', 'url_get_host', stringType, ({ host }) => host),
  part('getHostname', 'url_get_hostname', stringType, ({ host }) => hostAndPort(host)[0]),
  part('getPort', 'url_get_port', stringType, ({ host }) => hostAndPort(host)[1]),
  part('getEscapedPath', 'url_get_escaped_path', stringType, ({ path }) => path),
  part('getQuery', 'url_get_query', mapOf(stringType, listOf(stringType)), ({ query }) => queryOf(query)),
]
