/** Bearer tokens: the header that carries them. */

export interface BearerHeaders extends Readonly<Record<string, string>> {
  readonly authorization: string
}

export function bearer(token: string): BearerHeaders {
  return { authorization: `Bearer ${token}` }
}

/** Whether a token is valid in a header: one line, no spaces. */
export function isHeaderSafe(token: string): boolean {
  return /^[\x21-\x7E]+$/.test(token)
}
