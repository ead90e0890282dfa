/**
 * The key of an action: `UID.NUMBER.FROM.TO`. Whoever knows the CR and its status can make it again, so a process that
 * comes after a crash asks for the same action, not for another one. Every attempt has a number of its own.
 */

export interface ActionKey {
  readonly uid: string
  readonly number: number
  /** Undefined for the first transition of all. */
  readonly from: string | undefined
  readonly to: string
}

/** Names of states start with a letter: this is none. */
const nowhere = '-'

export function formatActionKey({ uid, number, from = nowhere, to }: ActionKey): string {
  return [uid, number, from, to].join('.')
}

/** The number of a key that belongs to this CR; undefined for keys of others. */
export function numberOfKey(key: string, uid: string): number | undefined {
  if (!key.startsWith(`${uid}.`)) return undefined
  const [digits = '', , to] = key.slice(uid.length + 1).split('.')
  return to !== undefined && /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
}
