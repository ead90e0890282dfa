/**
 * A schema as the API server reads it. In a manifest a keyword may be null, which is the same as leaving it out. Keywords of a
 * wrong type are left out, too: the API server refuses such a CRD, and the comparison goes on without them.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'

/** Real schemas have some twenty levels; a text can have many thousands. */
export const deepestSchema = 200

export function normalizeSchema(schema: JSONSchemaProps): JSONSchemaProps {
  return normalized(asJson(schema), 0)
}

type Form = (value: Json, depth: number) => Json | undefined

const schemaForm: Form = (value, depth) => (isJsonObject(value) ? asJson(normalized(value, depth)) : undefined)
const schemaList: Form = (value, depth) =>
  isJsonArray(value) ? value.map((item) => schemaForm(item, depth) ?? {}) : undefined
const text: Form = (value) => (typeof value === 'string' ? value : undefined)
const texts: Form = (value) => (isJsonArray(value) ? value.filter((item) => typeof item === 'string') : undefined)
const flag: Form = (value) => (typeof value === 'boolean' ? value : undefined)
const number: Form = (value) => (typeof value === 'number' || typeof value === 'bigint' ? value : undefined)
const rule: Form = (value) =>
  isJsonArray(value) ? value.filter((item) => isJsonObject(item) && typeof item['rule'] === 'string') : undefined

const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  ['properties', (value, depth) => (isJsonObject(value) ? schemasByName(value, depth) : undefined)],
  ['additionalProperties', (value, depth) => (typeof value === 'boolean' ? value : schemaForm(value, depth))],
  ['items', (value, depth) => (isJsonArray(value) ? schemaList(value, depth) : schemaForm(value, depth))],
  ['not', schemaForm],
  ...['allOf', 'anyOf', 'oneOf'].map((name) => [name, schemaList] as const),
  ...['type', 'format', 'pattern', 'x-kubernetes-list-type', 'x-kubernetes-map-type'].map(
    (name) => [name, text] as const,
  ),
  ...['required', 'x-kubernetes-list-map-keys'].map((name) => [name, texts] as const),
  ...['maximum', 'minimum', 'maxLength', 'minLength', 'maxItems', 'minItems'].map((name) => [name, number] as const),
  ...['maxProperties', 'minProperties', 'multipleOf'].map((name) => [name, number] as const),
  ...['nullable', 'exclusiveMaximum', 'exclusiveMinimum', 'uniqueItems'].map((name) => [name, flag] as const),
  ...['preserve-unknown-fields', 'embedded-resource', 'int-or-string'].map(
    (name) => [`x-kubernetes-${name}`, flag] as const,
  ),
  ['enum', (value) => (isJsonArray(value) ? value : undefined)],
  ['x-kubernetes-validations', rule],
])

function normalized(schema: JsonObject, depth: number): JSONSchemaProps {
  if (depth > deepestSchema) return schema
  const members = Object.entries(schema).flatMap(([name, value]) => {
    if (value === undefined || value === null) return []
    const form = forms.get(name)
    const kept = form ? form(value, depth + 1) : value
    return kept === undefined ? [] : [[name, kept] as const]
  })
  return Object.fromEntries(members)
}

/** A property without a schema allows anything that it does not prune. */
function schemasByName(properties: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, isJsonObject(value) ? schemaForm(value, depth) : {}]),
  )
}
