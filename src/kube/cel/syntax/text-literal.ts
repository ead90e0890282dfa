/** The value of a string or bytes literal: without quotes, escapes resolved, line ends as `\n`. */

const simple: ReadonlyMap<string, number> = new Map([
  ['a', 7],
  ['b', 8],
  ['f', 12],
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['v', 11],
  ['\\', 92],
  ["'", 39],
  ['"', 34],
  ['`', 96],
  ['?', 63],
])

/** The text or bytes, or the error. In bytes, an escape is a byte; in a string, a character. */
export function unquote(source: string, isBytes: boolean): string | Uint8Array | Error {
  const normal = source.replaceAll(/\r\n?/g, '\n')
  const isRaw = /^[rR]/.test(normal)
  const quoted = isRaw ? normal.slice(1) : normal
  const width = quoted.length >= 6 && (quoted.startsWith("'''") || quoted.startsWith('"""')) ? 3 : 1
  const body = quoted.slice(width, -width)
  if (isRaw || !body.includes('\\')) return isBytes ? Buffer.from(body) : body
  return isBytes ? unescapeBytes(body) : unescapeText(body)
}

const escapes =
  /\\(?:(?<simple>[abfnrtv"'\\?`])|(?<hex>[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?<octal>[0-3][0-7]{2}))/g

function unescapeText(body: string): string | Error {
  let problem: Error | undefined
  const text = body.replaceAll(escapes, (...match) => {
    const code = codeOf(match.at(-1) as Record<string, string | undefined>)
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      problem = new Error('invalid unicode code point')
      return ''
    }
    return String.fromCodePoint(code)
  })
  return problem ?? text
}

function unescapeBytes(body: string): Uint8Array | Error {
  const parts: Uint8Array[] = []
  let end = 0
  for (const match of body.matchAll(escapes)) {
    if (/^\\[uU]/.test(match[0])) return new Error('unable to unescape string')
    parts.push(Buffer.from(body.slice(end, match.index)), Uint8Array.of(codeOf(match.groups!)))
    end = match.index + match[0].length
  }
  return Buffer.concat([...parts, Buffer.from(body.slice(end))])
}

function codeOf(groups: Readonly<Record<string, string | undefined>>): number {
  if (groups['simple'] !== undefined) return simple.get(groups['simple'])!
  if (groups['hex'] !== undefined) return Number.parseInt(groups['hex'].slice(1), 16)
  return Number.parseInt(groups['octal']!, 8)
}
