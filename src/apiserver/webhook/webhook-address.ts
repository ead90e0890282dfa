/** The address of a webhook, normalized and escaped as Go's HTTP client does. */

interface WebhookUrlParts {
  /** `127.0.0.1:9443`, as configured. */
  readonly authority: string
  /** The escaped path. */
  readonly path: string
}

/** The parts of a URL of the form `https://host[/path]`. Escapes are decoded before the path is cleaned. */
export function partsOfUrl(url: string): WebhookUrlParts {
  const [, authority = '', path = ''] = /^[^:]*:\/\/([^/?#]*)([^?#]*)/.exec(url) ?? []
  const bytes = bytesOf(path).replaceAll(/%([\da-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return { authority, path: escaped(cleaned(bytes)) }
}

/** The escaped path of a service reference, which itself contains no escapes. */
export function pathOfService(path: string): string {
  return escaped(cleaned(bytesOf(path)))
}

/** The UTF-8 bytes, one character each. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** Go's path.Clean: absolute, without empty segments, `.`, `..` or a trailing slash. */
function cleaned(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return `/${segments.join('/')}`
}

function escaped(bytes: string): string {
  return bytes.replaceAll(
    /[^\w.~$&+,/:;=@-]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
