/**
 * Inputs without secrets: each value of a Secret is replaced, wherever it occurs. Equal values get equal replacements, so what
 * belongs together still does. Certificates stay, for they are public and operators look into them; private keys do not.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { GatherContent } from './gather-folder.ts'
import { scalarText } from './scalar-text.ts'

/** A shorter one occurs by chance. */
const shortest = 6

/** `key`: the same key gives the same replacements. @default one that nobody knows */
export function redacted(content: GatherContent, key: string | Uint8Array = randomBytes(32)): GatherContent {
  const texts = new Set<string>()
  for (const { objects } of content.selected.values()) {
    for (const object of objects) for (const text of secretsIn(object)) texts.add(text)
  }
  const replacements = new Map<string, string>()
  for (const text of texts) {
    const replacement = `redacted-${createHmac('sha256', key).update(text).digest('hex').slice(0, 16)}`
    replacements.set(encoded(text), encoded(replacement))
    if (text.length >= shortest) replacements.set(text, replacement)
  }
  // Longer ones first: one may be a part of another.
  const ordered = [...replacements].toSorted(([a], [b]) => b.length - a.length)
  const replace = (object: UntypedObject): UntypedObject => {
    const isSecret = isSecretObject(object)
    return replaced(object as unknown as Json, (text) => inText(text, ordered, isSecret)) as unknown as UntypedObject
  }
  return {
    ...content,
    selected: new Map(
      [...content.selected].map(([name, { type, objects }]) => [name, { type, objects: objects.map(replace) }]),
    ),
  }
}

function isSecretObject({ apiVersion, kind }: UntypedObject): boolean {
  return apiVersion === 'v1' && kind === 'Secret'
}

function secretsIn(object: UntypedObject): readonly string[] {
  if (!isSecretObject(object)) return []
  const { data, stringData } = object as { readonly data?: JsonObject; readonly stringData?: JsonObject }
  const texts = [
    ...Object.values(data ?? {}).map((value) => Buffer.from(scalarText(value), 'base64').toString('latin1')),
    ...Object.values(stringData ?? {}).map((value) => Buffer.from(scalarText(value)).toString('latin1')),
  ]
  return texts.filter((text) => text !== '' && !isPublic(text))
}

function isPublic(text: string): boolean {
  return /^\s*(?:-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\s*)+$/.test(text)
}

/** Bytes as characters, so that what is no text survives. */
function encoded(text: string): string {
  return Buffer.from(text, 'latin1').toString('base64')
}

function inText(text: string, replacements: readonly (readonly [string, string])[], isSecret: boolean): string {
  let out = text
  for (const [from, to] of replacements) {
    // Of what is short only the whole of a value counts, and only in a Secret.
    if (from.length >= shortest + 2) out = out.replaceAll(from, to)
    else if (isSecret && out === from) out = to
  }
  return out
}

function replaced(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => replaced(item, change))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner ?? null, change)]))
}
