/**
 * Reads a document written by a person into typed data.
 *
 * A reader collects every problem with its path instead of stopping at the first, so that one message is enough to fix the
 * file. It never quotes a value: a misplaced one may be a password.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'

/** `value` as `T`; otherwise `undefined`, with the reason in `problems`. */
export type Reader<T> = (value: Json, path: string, problems: string[]) => T | undefined

/** One member of a mapping; absent and `null` both are `undefined`. */
type DocumentMember<T> = (parent: JsonObject, path: string, problems: string[]) => T | undefined

export function member<T>(key: string, reader: Reader<T>): DocumentMember<T> {
  return (parent, path, problems) => {
    const value = Object.hasOwn(parent, key) ? parent[key] : undefined
    return value === undefined || value === null ? undefined : reader(value, path ? `${path}.${key}` : key, problems)
  }
}

/** A required, non-empty member. */
export function requiredMember<T>(key: string, reader: Reader<T>): DocumentMember<T> {
  const optional = member(key, reader)
  return (parent, path, problems) => {
    const before = problems.length
    const value = optional(parent, path, problems)
    if ((value === undefined || value === '') && problems.length === before) problems.push(`${path}.${key} is missing`)
    return value
  }
}

/** A mapping with known members. Unknown members are ignored: newer versions and other tools may add their own. */
export function recordMember<T>(members: { readonly [K in keyof T]-?: DocumentMember<NonNullable<T[K]>> }): Reader<T> {
  const entries = Object.entries<DocumentMember<unknown>>(members)
  return (value, path, problems) => {
    if (!isJsonObject(value)) return mismatch('a mapping', value, path, problems)
    return Object.fromEntries(entries.map(([name, read]) => [name, read(value, path, problems)])) as T
  }
}

export function listMember<T>(item: Reader<T>): Reader<readonly T[]> {
  return (value, path, problems) => {
    if (!Array.isArray(value)) return mismatch('a list', value, path, problems)
    return (value as readonly Json[]).flatMap((entry, index) => item(entry, `${path}[${index}]`, problems) ?? [])
  }
}

/** A mapping with arbitrary keys. */
export function dictionary<T>(item: Reader<T>): Reader<Readonly<Record<string, T>>> {
  return (value, path, problems) => {
    if (!isJsonObject(value)) return mismatch('a mapping', value, path, problems)
    const entries = Object.entries(value).flatMap(([key, entry]) => {
      const read = entry === undefined || entry === null ? undefined : item(entry, `${path}["${key}"]`, problems)
      return read === undefined ? [] : [[key, read] as const]
    })
    return Object.fromEntries(entries)
  }
}

export const textMember: Reader<string> = (value, path, problems) =>
  typeof value === 'string' ? value : mismatch('text', value, path, problems)

export const flag: Reader<boolean> = (value, path, problems) =>
  typeof value === 'boolean' ? value : mismatch('true or false', value, path, problems)

export const anyMember: Reader<NonNullable<Json>> = (value) => value ?? undefined

/** Base64 text, as kubeconfigs and Secrets hold PEM. */
export const base64: Reader<string> = (value, path, problems) => {
  if (typeof value !== 'string') return mismatch('base64 text', value, path, problems)
  const packed = value.replace(/\s+/g, '')
  if (packed.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(packed)) {
    return Buffer.from(packed, 'base64').toString('utf8')
  }
  const hint = value.includes('-----BEGIN') ? ': it holds plain PEM, encode it with base64' : ''
  problems.push(`${path} is not valid base64${hint}`)
  return undefined
}

function mismatch(wanted: string, value: Json, path: string, problems: string[]): undefined {
  const cure = wanted === 'text' && typeof value !== 'object' ? ': put it in quotes' : ''
  problems.push(`${path || 'the document'} must be ${wanted}, but is ${nameOfType(value)}${cure}`)
}

function nameOfType(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (typeof value === 'string') return 'text'
  return typeof value === 'boolean' ? 'true or false' : 'a number'
}
