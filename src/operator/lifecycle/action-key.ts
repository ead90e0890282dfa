/**
 * The key of an action: `UID.NUMBER.FROM.TO`. It is derived from the CR and its status, so after a crash the next
 * process requests the same action. Every attempt has its own number.
 */

interface ActionKey {
  readonly uid: string
  readonly number: number
  /** Undefined for the first transition. */
  readonly from: string | undefined
  readonly to: string
}

/** Names of states start with a letter, so this is none. */
const nowhere = '-'

export function formatActionKey({ uid, number, from = nowhere, to }: ActionKey): string {
  return [uid, number, from, to].join('.')
}

/** The number of a key of this CR; undefined for other keys. */
export function numberOfKey(key: string, uid: string): number | undefined {
  if (!key.startsWith(`${uid}.`)) return undefined
  const [digits = '', , to] = key.slice(uid.length + 1).split('.')
  return to !== undefined && /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
}
