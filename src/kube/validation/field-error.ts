/**
 * Validation errors of fields (field.Error), with the texts of the real server: type, value and detail. Validation of kinds
 * collects them; the write path turns them into one Invalid response.
 */
import { quoteGo } from '../go/go-text.ts'
import { stringifyJson } from '../json.ts'
import type { Cause } from './cause.ts'

export type Problems = readonly Cause[]

export const noErrors: Problems = []

export function requiredField(field: string, detail = ''): Cause {
  return problem('FieldValueRequired', field, 'Required value', detail)
}

export function invalidField(field: string, value: unknown, detail = ''): Cause {
  return problem('FieldValueInvalid', field, `Invalid value: ${shown(value)}`, detail)
}

export function forbiddenField(field: string, detail: string): Cause {
  return problem('FieldValueForbidden', field, 'Forbidden', detail)
}

export function duplicate(field: string, value: unknown): Cause {
  return problem('FieldValueDuplicate', field, `Duplicate value: ${shown(value)}`)
}

export function notFoundField(field: string, value: unknown): Cause {
  return problem('FieldValueNotFound', field, `Not found: ${shown(value)}`)
}

/** `supported` in the order of the server; most of its lists are sorted. */
export function unsupported(field: string, value: unknown, supported: readonly string[]): Cause {
  const list = supported.map((one) => shown(one)).join(', ')
  return problem(
    'FieldValueNotSupported',
    field,
    // Only strings are enumerated, and an absent one is empty.
    `Unsupported value: ${shown(value === undefined ? '' : value)}`,
    list && `supported values: ${list}`,
  )
}

export function tooLong(field: string, limit: number, unit = 'bytes'): Cause {
  return problem('FieldValueTooLong', field, 'Too long', `may not be more than ${limit} ${unit}`)
}

export function tooMany(field: string, count: number, limit: number): Cause {
  const items = limit === 1 ? 'item' : 'items'
  return problem('FieldValueTooMany', field, `Too many: ${count}`, `must have at most ${limit} ${items}`)
}

/** One error for each message of a check. */
export function eachInvalid(field: string, value: unknown, details: readonly string[]): Problems {
  return details.map((detail) => invalidField(field, value, detail))
}

/** The value must be one of a few. Empty counts as missing. */
export function unsupportedField(field: string, value: string | undefined, supported: readonly string[]): Problems {
  if (!value) return [requiredField(field)]
  return supported.includes(value) ? noErrors : [unsupported(field, value, supported)]
}

/** Immutable fields. */
export const immutableDetail = 'field is immutable'

function problem(reason: string, field: string, what: string, detail = ''): Cause {
  return { reason, message: detail === '' ? what : `${what}: ${detail}`, field }
}

const escapes: Readonly<Record<string, string>> = {
  '<': String.raw`\u003c`,
  '>': String.raw`\u003e`,
  '&': String.raw`\u0026`,
}

/** A value in a message: strings quoted, everything else as Go writes JSON; members of a struct keep their order. */
function shown(value: unknown): string {
  if (value === undefined) return 'null'
  if (typeof value === 'string') return quoteGo(value)
  return stringifyJson(value).replaceAll(/[<>&]/g, (character) => escapes[character]!)
}
