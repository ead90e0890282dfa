/** The value types of settings. A `title` describes a pattern in words: error messages quote it. */
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import { type Field, integer, optional, string } from '../../operator/kind/field.ts'

type Defaulted<T> = Field<T, T, 'defaulted'>

/** `what` is the subject of a description that is otherwise the same for all ports. */
export const port = (value: number, what: string): Defaulted<number> =>
  integer({ minimum: 0, maximum: 65_535, default: value, description: `${what} 0 turns it off.` })

/** The digits are limited so that milliseconds stay safe integers. */
const durationPattern = String.raw`^(0|([0-9]{1,6}(\.[0-9]{1,6})?(ms|s|m|h))+)$`

export const duration = (value: string, description: string): Defaulted<string> =>
  titled(
    'a duration such as 500ms, 2s or 1m30s',
    string({ default: value, pattern: durationPattern, maxLength: 20, description }),
  )

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = String.raw`${label}(\.${label})*`

/** `namespace/name` of an object. */
export const reference = (value: string, description: string): Defaulted<string> =>
  titled('an object as namespace/name', string({ default: value, pattern: `^${label}/${subdomain}$`, description }))

export const optionalReference = (description: string): Field<string, string, 'optional'> =>
  titled('an object as namespace/name', optional(string({ pattern: `^${label}/${subdomain}$`, description })))

const nameTitle = 'a name of lower-case letters, digits and -'
const nameRule = { pattern: `^${label}$`, maxLength: 63 }

/** The name of a cluster or namespace. */
export const nameField = (value: string, description: string): Defaulted<string> =>
  titled(nameTitle, string({ ...nameRule, default: value, description }))

export const optionalName = (description: string): Field<string, string, 'optional'> =>
  titled(nameTitle, optional(string({ ...nameRule, description })))

export const memory = (value: string, description: string): Defaulted<string> =>
  titled(
    'an amount such as 256Mi or 1Gi',
    string({ default: value, pattern: String.raw`^[1-9][0-9]{0,8}(Mi|Gi)$`, description }),
  )

export const url = (schemes: string, description: string): Field<string, string, 'optional'> =>
  titled(`a URL that begins with ${schemes}://`, optional(string({ pattern: `^${schemes}://[^ ]+$`, description })))

export function titled<F extends Field<unknown>>(title: string, field: F): F {
  return { ...field, schema: { ...field.schema, title } }
}

/** Milliseconds of a duration setting. */
export function durationMs(text: string): number {
  return durationToMs(parseDuration(text))
}
