/**
 * One validation failure. It has two texts: one that identifies the same failure found in two ways, so that it is reported
 * once, and the cause that a client gets.
 */
import { type Cause, invalidType, invalidValue, noField } from '../validation/cause.ts'
import type { Json } from '../json.ts'

export interface SchemaFailure {
  readonly message: string
  readonly cause: (root: string) => Cause
}

/** The position of a validator path in the object, which may be part of another one. */
export function fieldAt(root: string, path: string): string {
  const below = path.replace(/^\./, '')
  if (below === '') return root === '' ? noField : root
  return root === '' ? below : `${root}.${below}`
}

/** A value exceeds a limit. */
export function failedLimit(path: string, value: Json, words: string): SchemaFailure {
  return failedValue(path, value, `${path} in body ${words}`)
}

export function failedValue(path: string, value: Json, message: string): SchemaFailure {
  return { message, cause: (root) => invalidValue(fieldAt(root, path), value, message) }
}

/** A value has the wrong type; `found` is that type, or the text that does not match the format. */
export function failedType(path: string, wanted: string, found: Json, shown: string): SchemaFailure {
  const message = `${path} in body must be of type ${wanted}: ${shown}`
  return { message, cause: (root) => invalidType(fieldAt(root, path), found, message) }
}

/** A failure of the whole object, which names the field only in its text. */
export function failedPlainly(message: string): SchemaFailure {
  return { message, cause: (root) => invalidValue(root === '' ? noField : root, '', message) }
}
