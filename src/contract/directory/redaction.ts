/**
 * Redacts inputs: each value of a Secret is replaced wherever it occurs, in any encoding. Equal values get equal
 * replacements, so references still match. Certificates are kept, since they are public and operators parse them;
 * private keys are not.
 *
 * Names of objects, namespaces and kinds are kept, since they are in file names and references, and so are versions,
 * uids and times. Values that are too short would occur everywhere by chance, see `kube/text/hidden-text.ts`: they are
 * replaced in Secrets only.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { type HiddenValue, hidingText } from '../../kube/text/hidden-text.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { GatherContent } from './gather-folder.ts'
import { scalarText } from '../text/scalar-text.ts'

/** `key`: the same key gives the same replacements. @default a random one */
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
  /** Names of all objects, Secrets included. */
  readonly names: ReadonlySet<string | undefined>
  /** The keys in the data of Secrets. */
  readonly keys: ReadonlySet<string>
  /** Values that may occur as numbers elsewhere. */
  readonly numbers: ReadonlySet<string>
  readonly standIn: (bytes: Buffer) => string
  readonly hide: (text: string) => string
}

interface Secrets {
  readonly values: Map<string, Buffer>
  readonly keys: Set<string>
}

/** Secrets among the objects and inside of them: some embed other objects, or their text. */
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

/** A text that contains a Secret, as in kubectl's last-applied annotation. */
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

/** Invalid base64 counts as plain text. */
function bytesOfData(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  const bare = (base64: string): string => base64.replaceAll(/[\s=]/g, '')
  return bare(bytes.toString('base64')) === bare(text) ? bytes : bytesOfText(text)
}

function bytesOfText(text: string): Buffer {
  return Buffer.from(text)
}

/** Surrounding white space is ignored: a value is the same with or without it. */
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

/** Whether it contains only certificates, and no key between them. */
function isPublic(bytes: Buffer): boolean {
  const certificates = /^(?:-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/
  return certificates.test(bytes.toString('latin1'))
}

/** Fields of an object's identity and times, which users cannot set freely. */
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

/** Maps with user-defined keys. The keys of other objects are defined by a schema, and kept. */
const free = new Set(['data', 'stringData', 'binaryData', 'labels', 'annotations', 'matchLabels', 'nodeSelector'])

/** `parent`: the key of the value. */
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
    // A number remains a number of 32 bits, to fit the schema.
    return Number.parseInt(standIn(bytesOfText(text)).slice(-7), 16)
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => hidden(item, redaction, parent))
  if (!isJsonObject(value)) return value
  // managedFields contain the keys of fields, and for lists their values.
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

/** Each value as a whole: here even a short text is known to be a secret. */
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
