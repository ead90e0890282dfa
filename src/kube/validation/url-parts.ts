/** The parts of a URL that the validation of webhooks checks. Missing parts are undefined, or empty. */
interface UrlParts {
  readonly scheme: string
  /** Between the two slashes and the path: user, host and port. */
  readonly authority: string
  readonly query: string
  readonly fragment: string
}

/** Splits at the separators from both ends; each is searched for once. */
export function urlParts(url: string): UrlParts {
  const [beforeFragment, fragment] = cut(url, '#')
  const [beforeQuery, query] = cut(beforeFragment, '?')
  const scheme = /^[a-z][-a-z0-9+.]*(?=:)/i.exec(beforeQuery)?.[0] ?? ''
  const rest = scheme === '' ? beforeQuery : beforeQuery.slice(scheme.length + 1)
  const authority = rest.startsWith('//') ? cut(rest.slice(2), '/')[0] : ''
  return { scheme, authority, query, fragment }
}

function cut(text: string, separator: string): readonly [before: string, after: string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
