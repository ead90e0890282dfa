/**
 * A field of a kind: its schema and its TypeScript type in one value, so that they cannot diverge.
 *
 * A field has two types. When it is *read* from the cluster, defaults are applied: a field with a default is always
 * present. When it is *written*, it may be left out.
 */
import type { Json } from '../../kube/json.ts'
import type { JSONSchemaProps, ValidationRule } from '../../kube/types/apiextensions/v1.ts'

/** Whether a field is required, optional, or defaulted. */
type Presence = 'required' | 'optional' | 'defaulted'

declare const types: unique symbol

export interface Field<Read, Write = Read, P extends Presence = Presence> {
  readonly schema: JSONSchemaProps
  readonly presence: P
  /** For the compiler alone: nothing is ever stored here. */
  readonly [types]?: { readonly read: Read; readonly write: Write }
}

/** Fields by name: the properties of an object. */
export type Fields = Readonly<Record<string, Field<unknown>>>

type ReadOf<F> = F extends Field<infer Read, unknown> ? Read : never
type WriteOf<F> = F extends Field<unknown, infer Write> ? Write : never

type KeysOf<T extends Fields, P extends Presence> = {
  [K in keyof T]: T[K] extends Field<unknown, unknown, P> ? K : never
}[keyof T]

type Flat<T> = { readonly [K in keyof T]: T[K] }

/** An object with these fields, as it is read. */
export type ReadObject<T extends Fields> = Flat<
  { readonly [K in KeysOf<T, 'required' | 'defaulted'>]: ReadOf<T[K]> } & {
    readonly [K in KeysOf<T, 'optional'>]?: ReadOf<T[K]>
  }
>

/** An object with these fields, as it may be written. */
export type WriteObject<T extends Fields> = Flat<
  { readonly [K in KeysOf<T, 'required'>]: WriteOf<T[K]> } & {
    readonly [K in KeysOf<T, 'optional' | 'defaulted'>]?: WriteOf<T[K]>
  }
>

export interface FieldOptions<T> {
  /** Shown by `kubectl explain`. */
  readonly description?: string
  /** The default that the API server sets. */
  readonly default?: T
  /** CEL rules about this field: `self`, and `oldSelf` for changes. */
  readonly rules?: readonly ValidationRule[]
}

type PresenceOf<O> = O extends { readonly default: unknown } ? 'defaulted' : 'required'

function make<Read, Write, const O extends FieldOptions<unknown>>(
  schema: JSONSchemaProps,
  options: O | undefined,
): Field<Read, Write, PresenceOf<O>> {
  const { description, default: value, rules } = options ?? {}
  const whole: JSONSchemaProps = {
    ...schema,
    ...(description !== undefined && { description }),
    ...(value !== undefined && { default: value as NonNullable<JSONSchemaProps['default']> }),
    ...(rules && { 'x-kubernetes-validations': rules }),
  }
  return { schema: whole, presence: (value === undefined ? 'required' : 'defaulted') as PresenceOf<O> }
}

/** The members of `options` that go into the schema under their own name. */
function pick<T extends object>(options: T | undefined, names: readonly (keyof T)[]): JSONSchemaProps {
  const entries = names.map((name) => [name, options?.[name]] as const).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries)
}

export interface StringOptions extends FieldOptions<string> {
  readonly minLength?: number
  readonly maxLength?: number
  /** RE2 syntax, as in Go. */
  readonly pattern?: string
  /** `date-time`, `duration`, `ipv4`, `uri`, … */
  readonly format?: string
}

export function string<const O extends StringOptions>(options?: O): Field<string, string, PresenceOf<O>> {
  return make({ type: 'string', ...pick(options, ['minLength', 'maxLength', 'pattern', 'format']) }, options)
}

/** One of these strings. */
export function oneOf<const Words extends readonly string[], const O extends FieldOptions<Words[number]>>(
  words: Words,
  options?: O,
): Field<Words[number], Words[number], PresenceOf<O>> {
  return make({ type: 'string', enum: words }, options)
}

export interface NumberOptions extends FieldOptions<number> {
  readonly minimum?: number
  readonly maximum?: number
  readonly multipleOf?: number
}

const bounds = ['minimum', 'maximum', 'multipleOf'] as const

/** A whole number of at most 53 bits. */
export function integer<const O extends NumberOptions>(options?: O): Field<number, number, PresenceOf<O>> {
  return make({ type: 'integer', format: 'int64', ...pick(options, bounds) }, options)
}

export function number<const O extends NumberOptions>(options?: O): Field<number, number, PresenceOf<O>> {
  return make({ type: 'number', ...pick(options, bounds) }, options)
}

export function boolean<const O extends FieldOptions<boolean>>(options?: O): Field<boolean, boolean, PresenceOf<O>> {
  return make({ type: 'boolean' }, options)
}

/** An amount such as `500m` or `1Gi`: text, or a plain number. */
export function quantity<const O extends FieldOptions<string | number>>(
  options?: O,
): Field<string | number, string | number, PresenceOf<O>> {
  const pattern = String.raw`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
  return make(
    { anyOf: [{ type: 'integer' }, { type: 'string' }], pattern, 'x-kubernetes-int-or-string': true },
    options,
  )
}

/** A port by number or name, a count or a percentage. */
export function intOrString<const O extends FieldOptions<string | number>>(
  options?: O,
): Field<string | number, string | number, PresenceOf<O>> {
  return make({ anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true }, options)
}

export interface ListFieldOptions<T> extends FieldOptions<readonly T[]> {
  readonly minItems?: number
  readonly maxItems?: number
  /** How field managers share it: a set, or a map keyed by these members; otherwise the list is atomic. */
  readonly sharedBy?: 'value' | readonly (keyof T & string)[]
}

export function list<Read, Write, const O extends ListFieldOptions<Read>>(
  item: Field<Read, Write>,
  options?: O,
): Field<readonly Read[], readonly Write[], PresenceOf<O>> {
  const { sharedBy } = options ?? {}
  const sharing: JSONSchemaProps =
    sharedBy === undefined
      ? { 'x-kubernetes-list-type': 'atomic' }
      : sharedBy === 'value'
        ? { 'x-kubernetes-list-type': 'set' }
        : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': sharedBy }
  return make({ type: 'array', items: item.schema, ...sharing, ...pick(options, ['minItems', 'maxItems']) }, options)
}

interface MapOptions<T> extends FieldOptions<Readonly<Record<string, T>>> {
  readonly maxProperties?: number
}

/** A map with arbitrary keys. */
export function map<Read, Write, const O extends MapOptions<Read>>(
  value: Field<Read, Write>,
  options?: O,
): Field<Readonly<Record<string, Read>>, Readonly<Record<string, Write>>, PresenceOf<O>> {
  return make({ type: 'object', additionalProperties: value.schema, ...pick(options, ['maxProperties']) }, options)
}

export function object<const T extends Fields, const O extends FieldOptions<WriteObject<T>>>(
  fields: T,
  options?: O,
): Field<ReadObject<T>, WriteObject<T>, PresenceOf<O>> {
  const { description, rules, default: value } = options ?? {}
  return make(objectSchema(fields), { description, rules, ...(value !== undefined && { default: value }) } as O)
}

/** The schema of an object with these fields. */
export function objectSchema(fields: Fields): JSONSchemaProps {
  const entries = Object.entries(fields)
  const required = entries.filter(([, { presence }]) => presence === 'required').map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
  }
}

/** Any JSON. */
export function anything<const O extends FieldOptions<Json>>(options?: O): Field<Json, Json, PresenceOf<O>> {
  return make({ 'x-kubernetes-preserve-unknown-fields': true }, options)
}

/** An optional field without a default. */
export function optional<Read, Write>(field: Field<Read, Write>): Field<Read, Write, 'optional'> {
  return { ...field, presence: 'optional' }
}

/** A field by its schema, where no builder fits. The type is not checked. */
export function schemaField<T>(schema: JSONSchemaProps): Field<T, T, 'required'> {
  return { schema, presence: 'required' }
}
