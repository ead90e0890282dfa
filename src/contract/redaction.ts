/**
 * Inputs without secrets: each value of a Secret is replaced, wherever it occurs and in whatever form. Equal values get equal
 * replacements, so what belongs together still does. Certificates stay, for they are public and operators look into them; private
 * keys do not.
 *
 * Names stay, too: what an object, its namespace or its kind is called stands in the names of files, and others refer to it. So do
 * versions, uids and times. And what is too short is everywhere by chance, see `kube/hidden-text.ts`: it goes from Secrets alone.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { type HiddenValue, hidingText } from '../kube/hidden-text.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../kube/json.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { GatherContent } from './gather-folder.ts'
import { scalarText } from './scalar-text.ts'

/** `key`: the same key gives the same replacements. @default one that nobody knows */
export function redacted(content: GatherContent, key: string | Uint8Array = randomBytes(32)): GatherContent {
  const { selected, namespaces = [], secrets: others = [] } = content
  const objects = [...[...selected.values()].flatMap((each) => each.objects), ...namespaces, ...others]
  const names = new Set(objects.flatMap(({ metadata }) => [metadata.name, metadata.namespace]))
  const secrets = secretsAmong(objects as unknown as readonly Json[])
  const standIn = (bytes: Buffer): string =>
    `redacted-${createHmac('sha256', key).update(bytes).digest('hex').slice(0, 16)}`
  const values = [...secrets.values.values()].filter((bytes) => !names.has(bytes.toString()))
  const redaction: Redaction = {
    names,
    keys: secrets.keys,
    numbers: new Set(values.map((bytes) => bytes.toString()).filter((text) => /^-?\d{6,}$/.test(text))),
    standIn,
    hide: hidingText(values.map((bytes): HiddenValue => ({ bytes, standIn: standIn(bytes) }))),
  }
  const all = (each: readonly UntypedObject[]): readonly UntypedObject[] =>
    each.map((object) => withoutSecrets(object, redaction))
  return {
    ...content,
    selected: new Map([...selected].map(([name, { type, objects: of }]) => [name, { type, objects: all(of) }])),
    ...(content.namespaces && { namespaces: all(namespaces) }),
  }
}

interface Redaction {
  /** Of everything that is written, and of every Secret. */
  readonly names: ReadonlySet<string | undefined>
  /** Under which Secrets keep their values. */
  readonly keys: ReadonlySet<string>
  /** Values that elsewhere may stand as numbers. */
  readonly numbers: ReadonlySet<string>
  readonly standIn: (bytes: Buffer) => string
  readonly hide: (text: string) => string
}

interface Secrets {
  readonly values: Map<string, Buffer>
  readonly keys: Set<string>
}

/** Of objects, and of all that is in them: some carry others, or the text of what they were. */
function secretsAmong(objects: readonly Json[]): Secrets {
  const found: Secrets = { values: new Map(), keys: new Set() }
  const look = (value: Json | undefined): void => {
    if (typeof value === 'string') look(secretText(value))
    else if (Array.isArray(value)) for (const item of value as readonly Json[]) look(item)
    if (!isJsonObject(value)) return
    if (isSecret(value)) {
      for (const [member, read] of [
        ['data', bytesOfData],
        ['stringData', bytesOfText],
      ] as const) {
        for (const [name, each] of membersOf(value[member])) {
          found.keys.add(name)
          const { bytes } = trimmed(read(each))
          if (bytes.length > 0 && !isPublic(bytes)) found.values.set(bytes.toString('latin1'), bytes)
        }
      }
    }
    for (const inner of Object.values(value)) look(inner)
  }
  for (const object of objects) look(object)
  return found
}

function isSecret({ apiVersion, kind }: JsonObject): boolean {
  return apiVersion === 'v1' && kind === 'Secret'
}

/** Text that is a Secret, or holds one: so `kubectl apply` notes in an annotation what it was given. */
function secretText(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text) || !text.includes('"Secret"')) return undefined
  try {
    const value = parseJson(text)
    return holdsSecret(value) ? value : undefined
  } catch {
    return undefined
  }
}

function holdsSecret(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.some(holdsSecret)
  return isJsonObject(value) && (isSecret(value) || Object.values(value).some(holdsSecret))
}

function membersOf(value: Json | undefined): readonly (readonly [string, string])[] {
  return isJsonObject(value) ? Object.entries(value).map(([name, each]) => [name, scalarText(each)]) : []
}

/** Somebody may have put there what is no base64: then it is that. */
function bytesOfData(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  const bare = (base64: string): string => base64.replaceAll(/[\s=]/g, '')
  return bare(bytes.toString('base64')) === bare(text) ? bytes : bytesOfText(text)
}

function bytesOfText(text: string): Buffer {
  return Buffer.from(text)
}

/** White space around a value is an accident: with or without it, it is the same. */
function trimmed(bytes: Buffer): { readonly before: string; readonly bytes: Buffer; readonly after: string } {
  const isSpace = (at: number): boolean => /[\t-\r ]/.test(String.fromCharCode(bytes[at] ?? 0))
  let [from, to] = [0, bytes.length]
  while (from < to && isSpace(from)) from++
  while (to > from && isSpace(to - 1)) to--
  return {
    before: bytes.toString('latin1', 0, from),
    bytes: bytes.subarray(from, to),
    after: bytes.toString('latin1', to),
  }
}

/** Nothing but certificates. A key between two of them is none. */
function isPublic(bytes: Buffer): boolean {
  const certificates = /^(?:-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/
  return certificates.test(bytes.toString('latin1'))
}

/** What says who an object is and when it was, and nothing that somebody might have put there. */
const identity = new Set([
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'ownerReferences',
])

function withoutSecrets(object: UntypedObject, redaction: Redaction): UntypedObject {
  const { apiVersion, kind, metadata } = object as unknown as { readonly [key: string]: Json }
  const changed = hidden(object as unknown as Json, redaction) as JsonObject
  const kept = Object.entries(metadata as JsonObject).filter(([key]) => identity.has(key))
  const changedMetadata = { ...(changed['metadata'] as JsonObject), ...Object.fromEntries(kept) }
  return { ...changed, apiVersion, kind, metadata: changedMetadata } as unknown as UntypedObject
}

/** Whose members somebody names as they like. Others are named by a schema, and stay. */
const free = new Set(['data', 'stringData', 'binaryData', 'labels', 'annotations', 'matchLabels', 'nodeSelector'])

/** `parent`: the key that it stands under. */
function hidden(value: Json, redaction: Redaction, parent = ''): Json {
  const { names, keys, numbers, hide, standIn } = redaction
  if (typeof value === 'string') {
    if (names.has(value)) return value
    const inner = secretText(value)
    return inner === undefined
      ? hide(value)
      : stringifyJson(hidden(inner, redaction)) + value.slice(value.trimEnd().length)
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    const text = String(value)
    if (!numbers.has(text)) return value
    // A number stays one, and of 32 bits: schemas ask for it.
    return Number.parseInt(standIn(bytesOfText(text)).slice(-7), 16)
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => hidden(item, redaction, parent))
  if (!isJsonObject(value)) return value
  // Who owns a field says so with its key, and of lists with values.
  const isFree = free.has(parent.replace(/^f:/, ''))
  const keyOf = (key: string): string =>
    (isFree && !keys.has(key.replace(/^f:/, ''))) || /^[kv]:/.test(key) ? hide(key) : key
  const changed = Object.entries(value).map(
    ([key, inner]) => [keyOf(key), inner === undefined ? inner : hidden(inner, redaction, key)] as const,
  )
  if (!isSecret(value)) return Object.fromEntries(changed)
  return {
    ...Object.fromEntries(changed),
    ...replacedMembers(value, 'data', redaction),
    ...replacedMembers(value, 'stringData', redaction),
  }
}

/** Each as a whole: here it is known to be a value, however short. */
function replacedMembers(secret: JsonObject, member: 'data' | 'stringData', { hide, standIn }: Redaction): JsonObject {
  if (!isJsonObject(secret[member])) return {}
  const replace = (text: string): string => {
    const { before, bytes, after } = trimmed(member === 'data' ? bytesOfData(text) : bytesOfText(text))
    if (bytes.length === 0) return text
    if (isPublic(bytes)) return hide(text)
    const replacement = `${before}${standIn(bytes)}${after}`
    return member === 'data' ? Buffer.from(replacement).toString('base64') : replacement
  }
  return { [member]: Object.fromEntries(membersOf(secret[member]).map(([name, text]) => [name, replace(text)])) }
}
