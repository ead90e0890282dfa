/**
 * One thing that a schema has against a value. It has two texts: the one by which the same mistake, found in two ways,
 * is told once, and the cause that a client gets.
 */
import { type Cause, invalidType, invalidValue, noField } from '../validation/cause.ts'
import type { Json } from '../json.ts'

export interface SchemaFailure {
  readonly message: string
  readonly cause: (root: string) => Cause
}

/** Where a path of the validator is in the object, which may be only a part of another one. */
export function fieldAt(root: string, path: string): string {
  const below = path.replace(/^\./, '')
  if (below === '') return root === '' ? noField : root
  return root === '' ? below : `${root}.${below}`
}

/** A limit was broken by this value. */
export function failedLimit(path: string, value: Json, words: string): SchemaFailure {
  return failedValue(path, value, `${path} in body ${words}`)
}

export function failedValue(path: string, value: Json, message: string): SchemaFailure {
  return { message, cause: (root) => invalidValue(fieldAt(root, path), value, message) }
}

/** A value is of another type than it should be; `found` is that type, or the text that has not the format. */
export function failedType(path: string, wanted: string, found: Json, shown: string): SchemaFailure {
  const message = `${path} in body must be of type ${wanted}: ${shown}`
  return { message, cause: (root) => invalidType(fieldAt(root, path), found, message) }
}

/** A mistake of the whole, which names its place in its text alone. */
export function failedPlainly(message: string): SchemaFailure {
  return { message, cause: (root) => invalidValue(root === '' ? noField : root, '', message) }
}
