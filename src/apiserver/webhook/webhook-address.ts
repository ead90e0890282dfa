/** The address of a webhook, as Go's HTTP client derives it from a configuration: cleaned, and escaped anew. */

export interface WebhookUrlParts {
  /** `127.0.0.1:9443`, as it is written. */
  readonly authority: string
  /** The path, ready to be sent. */
  readonly path: string
}

/** A URL of the form `https://host[/path]`, whose escapes are read before the path is cleaned. */
export function partsOfUrl(url: string): WebhookUrlParts {
  const [, authority = '', path = ''] = /^[^:]*:\/\/([^/?#]*)([^?#]*)/.exec(url) ?? []
  const bytes = bytesOf(path).replaceAll(/%([\da-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return { authority, path: escaped(cleaned(bytes)) }
}

/** The path of a service, which has no escapes. */
export function pathOfService(path: string): string {
  return escaped(cleaned(bytesOf(path)))
}

/** One character a byte. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** Absolute, without empty segments, without `.` and `..`, without a slash at the end. */
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
