/**
 * The name of a version of a template: a short hash, spelled in letters that make no words. Two templates that say the
 * same have the same, in whatever order they say it.
 */
import { isJsonObject, type Json } from '../../kube/json.ts'

const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/** `collisions` makes another one of the same template, where the first is taken by a different one. */
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
