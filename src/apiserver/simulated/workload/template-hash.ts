/**
 * The hash of a pod template, for names and labels: a short string of letters that form no words. Equal templates have
 * equal hashes, in whatever order their members are.
 */
import { isJsonObject, type Json } from '../../../kube/json.ts'

const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/** `collisions` changes the hash of the same template, if the first one is taken by a different template. */
export function templateHash(template: unknown, collisions = 0): string {
  const text = canonical(template as Json) + (collisions > 0 ? `#${collisions}` : '')
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return String(hash).replaceAll(/\d/g, (digit) => alphabet[digit.charCodeAt(0) % alphabet.length]!)
}

function canonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value ?? null)
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`
}
