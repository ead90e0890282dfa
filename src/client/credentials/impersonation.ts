/** Impersonation headers. */
import type { Impersonation } from '../connection.ts'

/** Bytes that a header name may contain; `%` is one, but starts an escape here. */
const plain = /^[a-z0-9!#$&'*+.^_`|~-]$/

/**
 * Header names in lower case, values as UTF-8 bytes (Node writes a header character by character). Several groups are several
 * values, which a transport sends as several header lines: joined by commas they would be the name of one group.
 */
export function impersonationHeaders(
  impersonation: Impersonation | undefined,
): Readonly<Record<string, string | readonly string[]>> {
  if (!impersonation) return {}
  const { user, uid, groups = [], extra = {} } = impersonation
  const extras: Record<string, readonly string[]> = {}
  for (const [key, values] of Object.entries(extra)) {
    const name = `impersonate-extra-${escapeKey(key)}`
    if (values.length > 0) extras[name] = [...(extras[name] ?? []), ...values.map(utf8)]
  }
  return {
    'impersonate-user': utf8(user),
    ...(uid ? { 'impersonate-uid': utf8(uid) } : {}),
    ...(groups.length > 0 ? { 'impersonate-group': groups.map(utf8) } : {}),
    ...extras,
  }
}

/** Percent-encodes characters that a header name cannot contain. Servers read names in lower case, so keys are sent that way. */
function escapeKey(key: string): string {
  let escaped = ''
  for (const byte of Buffer.from(key, 'utf8')) {
    const character = String.fromCharCode(byte).toLowerCase()
    escaped += byte < 0x80 && plain.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`
  }
  return escaped
}

function utf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
