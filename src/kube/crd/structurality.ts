/**
 * Whether a schema is structural: its skeleton (types, properties, items) is separate from value validations, so that
 * every field has exactly one specification. `allOf`, `anyOf`, `oneOf` and `not` may only restrict values.
 */
import { type Cause, forbiddenValue, formatCause, invalidValue, requiredValue } from '../validation/cause.ts'
import { equalJson, type Json } from '../json.ts'
import { patternProblem } from '../structural/pattern.ts'
import type { JSONSchemaProps } from '../types/apiextensions/v1.ts'

type Level = 'root' | 'item' | 'field'

/** Every violation of structurality, sorted by message as the server sorts them. */
export function structuralCauses(schema: JSONSchemaProps, path: string): readonly Cause[] {
  const causes: Cause[] = []
  addInvariantCauses(schema, 'root', path, causes)
  const all = [...causes, ...completenessCauses(schema, schema, path, path)]
  const formatted = all.map((cause) => ({ cause, text: formatCause(cause) }))
  return formatted.toSorted((a, b) => (a.text < b.text ? -1 : 1)).map(({ cause }) => cause)
}

/** The schema of items; a list of schemas is rejected elsewhere. */
export function itemsOf({ items }: JSONSchemaProps): JSONSchemaProps | undefined {
  return Array.isArray(items) ? undefined : (items as JSONSchemaProps | undefined)
}

export function additionalOf({ additionalProperties }: JSONSchemaProps): JSONSchemaProps | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

const emptyTypes: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

function addInvariantCauses(schema: JSONSchemaProps, level: Level, path: string, causes: Cause[]): void {
  const { type = '', properties = {}, additionalProperties } = schema
  const items = itemsOf(schema)
  if (type === 'array' && !items) causes.push(requiredValue(`${path}.items`, 'must be specified'))
  if (items) addInvariantCauses(items, 'item', `${path}.items`, causes)
  for (const [name, own] of Object.entries(properties)) {
    addInvariantCauses(own, 'field', `${path}.properties[${name}]`, causes)
  }
  const additional = additionalOf(schema)
  if (additionalProperties !== undefined && level === 'root') {
    causes.push(forbiddenValue(`${path}.additionalProperties`, 'must not be used at the root'))
  }
  if (additional) addInvariantCauses(additional, 'field', `${path}.additionalProperties`, causes)
  const own = [
    ...extensionCauses(schema, path),
    ...valueCauses(schema, isIntOrStringChoice(schema), isIntOrStringChoice(schema.allOf?.[0] ?? {}), path),
    ...typeCauses(schema, level, path),
    ...metadataCauses(schema, level, path),
  ]
  for (const cause of own) causes.push(cause)
}

function extensionCauses(schema: JSONSchemaProps, path: string): readonly Cause[] {
  if (!schema['x-kubernetes-int-or-string']) return []
  return (['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    .filter((name) => schema[name])
    .map((name) => invalidValue(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true'))
}

/** The one `anyOf` that may name types: that of `x-kubernetes-int-or-string`. */
function isIntOrStringChoice({ anyOf }: JSONSchemaProps): boolean {
  return equalJson(anyOf as Json | undefined, [{ type: 'integer' }, { type: 'string' }])
}

function typeCauses(schema: JSONSchemaProps, level: Level, path: string): readonly Cause[] {
  const { type = '', additionalProperties, properties = {} } = schema
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const causes: Cause[] = []
  if (isEmbedded && type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true'
    causes.push(type === '' ? requiredValue(`${path}.type`, why) : invalidValue(`${path}.type`, type, why))
  } else if (type === '' && !schema['x-kubernetes-int-or-string'] && !schema['x-kubernetes-preserve-unknown-fields']) {
    causes.push(requiredValue(`${path}.type`, emptyTypes[level]))
  }
  if (isEmbedded && additionalProperties !== undefined) {
    const why = 'must not be used if x-kubernetes-embedded-resource is set'
    causes.push(forbiddenValue(`${path}.additionalProperties`, why))
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    causes.push(invalidValue(`${path}.type`, type, 'must be object at the root'))
  }
  if (isEmbedded && !schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(properties).length === 0) {
    const why =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'
    causes.push(requiredValue(`${path}.properties`, why))
  }
  return causes
}

/** A schema may restrict only `name` and `generateName` of `metadata`. */
function metadataCauses(schema: JSONSchemaProps, level: Level, path: string): readonly Cause[] {
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  const isObject = level === 'root' || schema['x-kubernetes-embedded-resource'] === true
  const at = (name: string): string => `${path}.properties[${name}]`
  const causes: Cause[] = []
  if (isObject && kind && kind.type !== 'string') {
    causes.push(invalidValue(`${at('kind')}.type`, kind.type ?? '', 'must be string'))
  }
  if (isObject && apiVersion && apiVersion.type !== 'string') {
    causes.push(invalidValue(`${at('apiVersion')}.type`, apiVersion.type ?? '', 'must be string'))
  }
  if (isObject && metadata && metadata.type !== 'object') {
    causes.push(invalidValue(`${at('metadata')}.type`, metadata.type ?? '', 'must be object'))
  }
  if (level === 'root' && metadata && !isRestrictionOfNames(metadata)) {
    const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
    causes.push(forbiddenValue(at('metadata'), why))
  }
  return causes
}

function isRestrictionOfNames({ type: _type, default: _default, properties = {}, ...rest }: JSONSchemaProps): boolean {
  const names = Object.keys(properties)
  const isNames = names.every((name) => name === 'name' || name === 'generateName')
  return isNames && Object.values(rest).every((value) => value === undefined || value === false || value === '')
}

/** Value validations. */
function valueCauses(
  schema: JSONSchemaProps,
  skipAnyOf: boolean,
  skipFirstAllOf: boolean,
  path: string,
): readonly Cause[] {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern } = schema
  const problem = pattern ? patternProblem(pattern) : undefined
  return [
    ...(skipAnyOf ? [] : anyOf.flatMap((one, index) => nestedCauses(one, false, `${path}.anyOf[${index}]`))),
    ...allOf.flatMap((one, index) => nestedCauses(one, skipFirstAllOf && index === 0, `${path}.allOf[${index}]`)),
    ...oneOf.flatMap((one, index) => nestedCauses(one, false, `${path}.oneOf[${index}]`)),
    ...(not ? nestedCauses(not, false, `${path}.not`) : []),
    ...(problem === undefined
      ? []
      : [invalidValue(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`)]),
  ]
}

const emptyWords = 'must be empty to be structural'
const undefinedWords = 'must be undefined to be structural'
const falseWords = 'must be false to be structural'

/** A schema inside a value validation, which may contain only value validations. */
function nestedCauses(schema: JSONSchemaProps, skipAnyOf: boolean, path: string): readonly Cause[] {
  const items = itemsOf(schema)
  const forbid = (isSet: unknown, name: string, words: string): readonly Cause[] =>
    isSet ? [forbiddenValue(`${path}.${name}`, words)] : []
  return [
    ...valueCauses(schema, skipAnyOf, false, path),
    ...(items ? nestedCauses(items, false, `${path}.items`) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, own]) =>
      nestedCauses(own, false, `${path}.properties[${name}]`),
    ),
    ...forbid(schema.type, 'type', emptyWords),
    ...forbid(schema.additionalProperties, 'additionalProperties', undefinedWords),
    ...forbid(schema.default !== undefined && schema.default !== null, 'default', undefinedWords),
    ...forbid(schema.title, 'title', emptyWords),
    ...forbid(schema.description, 'description', emptyWords),
    ...forbid(schema.nullable, 'nullable', falseWords),
    ...forbid(schema['x-kubernetes-preserve-unknown-fields'], 'x-kubernetes-preserve-unknown-fields', falseWords),
    ...forbid(schema['x-kubernetes-embedded-resource'], 'x-kubernetes-embedded-resource', falseWords),
    ...forbid(schema['x-kubernetes-int-or-string'], 'x-kubernetes-int-or-string', falseWords),
    ...forbid(schema['x-kubernetes-list-map-keys']?.length, 'x-kubernetes-list-map-keys', emptyWords),
    ...forbid(schema['x-kubernetes-list-type'], 'x-kubernetes-list-type', undefinedWords),
    ...forbid(schema['x-kubernetes-map-type'], 'x-kubernetes-map-type', undefinedWords),
    ...forbid(schema['x-kubernetes-validations']?.length, 'x-kubernetes-validations', emptyWords),
    ...forbid(
      schema.properties && Object.hasOwn(schema.properties, 'metadata'),
      'properties[metadata]',
      'must not be specified in a nested context',
    ),
  ]
}

/** Fields that a value validation of the root mentions must be in the skeleton. */
function completenessCauses(
  condition: JSONSchemaProps,
  skeleton: JSONSchemaProps,
  path: string,
  at: string,
): readonly Cause[] {
  const { not, allOf = [], anyOf = [], oneOf = [] } = condition
  const inner = (one: JSONSchemaProps, place: string): readonly Cause[] =>
    nestedCompleteness(one, skeleton, path, place)
  return [
    ...(not ? inner(not, `${at}.not`) : []),
    ...allOf.flatMap((one, index) => inner(one, `${at}.allOf[${index}]`)),
    ...anyOf.flatMap((one, index) => inner(one, `${at}.anyOf[${index}]`)),
    ...oneOf.flatMap((one, index) => inner(one, `${at}.oneOf[${index}]`)),
  ]
}

function nestedCompleteness(
  condition: JSONSchemaProps,
  skeleton: JSONSchemaProps | undefined,
  path: string,
  at: string,
): readonly Cause[] {
  if (!skeleton) return [requiredValue(path, `because it is defined in ${at}`)]
  const items = itemsOf(condition)
  return [
    ...completenessCauses(condition, skeleton, path, at),
    ...(items ? nestedCompleteness(items, itemsOf(skeleton), `${path}.items`, `${at}.items`) : []),
    ...Object.entries(condition.properties ?? {}).flatMap(([name, own]) => {
      const step = `properties[${name}]`
      const known = skeleton.properties && Object.hasOwn(skeleton.properties, name)
      return nestedCompleteness(own, known ? skeleton.properties[name] : undefined, `${path}.${step}`, `${at}.${step}`)
    }),
  ]
}
