/**
 * A validation error of one field, in the form of the API server (StatusCause): type, value, detail. Clients compare the reason,
 * and many programs the text, so every word is the real server's.
 */
import { formatGoValue, quoteGo } from '../go/go-text.ts'
import type { Json } from '../json.ts'
import type { StatusDetails } from '../object.ts'

export type Cause = NonNullable<StatusDetails['causes']>[number]

/** The field of an error that concerns no single field. */
export const noField = '<nil>'

export function requiredValue(field: string, detail = ''): Cause {
  return make('FieldValueRequired', field, 'Required value', detail)
}

/** Without the value if it is a whole object or list. */
export function invalidValue(field: string, value: Json | undefined, detail: string): Cause {
  return make('FieldValueInvalid', field, shown('Invalid value', value), detail)
}

/** A value that is already formatted. */
export function invalidShown(field: string, text: string, detail: string): Cause {
  return make('FieldValueInvalid', field, `Invalid value: ${text}`, detail)
}

export function invalidType(field: string, value: Json, detail: string): Cause {
  return make('FieldValueTypeInvalid', field, shown('Invalid value', value), detail)
}

export function unsupportedValue(field: string, value: Json, supported: readonly string[]): Cause {
  const list = supported.map(quoteGo).join(', ')
  return make('FieldValueNotSupported', field, shown('Unsupported value', value), list && `supported values: ${list}`)
}

export function duplicateValue(field: string, value: Json | undefined): Cause {
  return make('FieldValueDuplicate', field, shown('Duplicate value', value), '')
}

export function forbiddenValue(field: string, detail: string): Cause {
  return make('FieldValueForbidden', field, 'Forbidden', detail)
}

export function tooLongValue(field: string, limit: number): Cause {
  return make('FieldValueTooLong', field, 'Too long', `may not be more than ${limit} ${limit === 1 ? 'byte' : 'bytes'}`)
}

export function tooManyValues(field: string, count: number, limit: number): Cause {
  return make(
    'FieldValueTooMany',
    field,
    `Too many: ${count}`,
    `must have at most ${limit} ${limit === 1 ? 'item' : 'items'}`,
  )
}

export function internalError(field: string, detail: string): Cause {
  return make('InternalError', field, 'Internal error', detail)
}

/** A cause as one line: `spec.replicas: Required value`. */
export function formatCause({ field, message }: Cause): string {
  return `${field}: ${message}`
}

function shown(what: string, value: Json | undefined): string {
  return value === undefined ? what : `${what}: ${formatGoValue(value)}`
}

function make(reason: string, field: string, what: string, detail: string): Cause {
  return { reason, message: detail === '' ? what : `${what}: ${detail}`, field }
}
