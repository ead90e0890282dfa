/**
 * Validation of a CRD's schema beyond structurality: keywords that make no sense for stored objects, list types without
 * what they require, and rules that do not compile.
 *
 * Rules are compiled only where the schema around and below them is valid: otherwise they would report errors caused by
 * those of the schema.
 */
import {
  type Cause,
  forbiddenValue,
  internalError,
  invalidValue,
  requiredValue,
  unsupportedValue,
  invalidShown,
} from '../validation/cause.ts'
import { resolveFieldPath } from '../structural/field-path.ts'
import { compileNode } from '../structural/node.ts'
import { mostOccurrences, sizeOfSchema } from '../cel/cost/size.ts'
import { reportRule, ruleType } from '../structural/rules.ts'
import type { JSONSchemaProps, ValidationRule } from '../types/apiextensions/v1.ts'
import { formatRule } from './internal-form.ts'
import { costCause, noRuleCosts, occurrencesBelow, type RuleCosts, totalCostCauses } from './rule-cost.ts'
import { additionalOf, itemsOf } from './structurality.ts'
import { repeatedValues } from '../validation/repetition.ts'

interface Place {
  readonly path: string
  readonly isRoot: boolean
  /** Why defaults are forbidden here; undefined where they are allowed. */
  readonly noDefaults: string | undefined
  /** Inside `metadata`, which a CRD's schema does not describe. */
  readonly isInMetadata: boolean
  /**
   * The nearest list above whose items cannot be correlated with the old object, so that rules have no `oldSelf` here.
   */
  readonly uncorrelated: string | undefined
  /**
   * Whether rules are compiled: not inside `allOf`, `anyOf`, `oneOf` and `not`, nor while the schema is not structural.
   */
  readonly hasRules: boolean
  /** How often values of the schema can occur in one object; undefined if only the size of requests limits it. */
  readonly occurrences: number | undefined
  /** Of all rules together. */
  readonly costs: RuleCosts
}

interface Found {
  readonly schema: Cause[]
  readonly rules: Cause[]
}

export function crdSchemaCauses(schema: JSONSchemaProps, path: string, hasRules: boolean): readonly Cause[] {
  const costs = noRuleCosts()
  const found: Found = { schema: [], rules: [] }
  check(
    schema,
    {
      path,
      isRoot: true,
      noDefaults: undefined,
      isInMetadata: false,
      uncorrelated: undefined,
      hasRules,
      occurrences: 1,
      costs,
    },
    found,
  )
  return [...found.schema, ...found.rules, ...totalCostCauses(path, costs)]
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']

function check(schema: JSONSchemaProps, place: Place, found: Found): void {
  const { path } = place
  const before = found.schema.length
  for (const cause of keywordCauses(schema, place)) found.schema.push(cause)
  const below = { ...place, isRoot: false, occurrences: occurrencesBelow(schema, place.occurrences) }
  const condition = (one: JSONSchemaProps, at: string): void =>
    check(one, { ...below, path: at, hasRules: false }, found)

  if (schema.uniqueItems) {
    const why = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    found.schema.push(forbiddenValue(`${path}.uniqueItems`, why))
  }
  const properties = Object.entries(schema.properties ?? {})
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== true && properties.length > 0) {
    const why = 'additionalProperties and properties are mutual exclusive'
    found.schema.push(forbiddenValue(`${path}.additionalProperties`, why))
  }
  const additional = additionalOf(schema)
  if (additional) {
    const noDefaults = place.isInMetadata ? 'inside additionalProperties applying to object metadata' : place.noDefaults
    check(additional, { ...below, path: `${path}.additionalProperties`, noDefaults }, found)
  }
  const isObject = place.isRoot || schema['x-kubernetes-embedded-resource'] === true
  for (const [name, own] of properties) {
    const isMeta = isObject && (name === 'metadata' || name === 'kind' || name === 'apiVersion')
    const at: Place = {
      ...below,
      path: `${path}.properties[${name}]`,
      isInMetadata: place.isInMetadata || isMeta,
      noDefaults: isMeta && place.isRoot ? `in top-level ${name}` : place.noDefaults,
    }
    check(own, at, found)
  }
  if (schema.not) condition(schema.not, `${path}.not`)
  for (const word of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [index, one] of (schema[word] ?? []).entries()) condition(one, `${path}.${word}[${index}]`)
  }
  for (const [name, own] of Object.entries(schema.definitions ?? {})) condition(own, `${path}.definitions[${name}]`)
  const items = itemsOf(schema)
  const uncorrelated = schema['x-kubernetes-list-type'] === 'map' ? place.uncorrelated : (place.uncorrelated ?? path)
  if (items) check(items, { ...below, path: `${path}.items`, uncorrelated }, found)
  else if (Array.isArray(schema.items)) {
    for (const [index, own] of (schema.items as readonly JSONSchemaProps[]).entries()) {
      check(own, { ...below, path: `${path}.items[${index}]`, uncorrelated }, found)
    }
  }
  for (const [name, own] of Object.entries(schema.dependencies ?? {})) {
    if (!Array.isArray(own)) condition(own as JSONSchemaProps, `${path}.dependencies[${name}]`)
  }

  for (const causesOf of [extensionCauses, keyCauses, ruleFormCauses]) {
    for (const cause of causesOf(schema, path)) found.schema.push(cause)
  }
  if (found.schema.length > before || !place.hasRules) return
  for (const cause of ruleCauses(schema, place)) found.rules.push(cause)
}

function keywordCauses(schema: JSONSchemaProps, { path, noDefaults, isInMetadata }: Place): readonly Cause[] {
  const causes: Cause[] = []
  const forbid = (isUsed: boolean, name: string, detail = `${name} is not supported`): void => {
    if (isUsed) causes.push(forbiddenValue(`${path}.${name}`, detail))
  }
  const { type } = schema
  if (type && !types.includes(type)) causes.push(unsupportedValue(`${path}.type`, type, types))
  const hasDefault = schema.default !== undefined && schema.default !== null
  forbid(hasDefault && noDefaults !== undefined, 'default', `must not be set ${noDefaults}`)
  forbid(Boolean(schema.id), 'id')
  forbid(schema.additionalItems !== undefined, 'additionalItems')
  forbid(Object.keys(schema.patternProperties ?? {}).length > 0, 'patternProperties')
  forbid(Object.keys(schema.definitions ?? {}).length > 0, 'definitions')
  forbid(schema.dependencies !== undefined, 'dependencies')
  forbid(schema.$ref !== undefined, '$ref')
  forbid(type === 'null', 'type', 'type cannot be set to null, use nullable as an alternative')
  forbid(Array.isArray(schema.items), 'items', 'items must be a schema object and not an array')
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  forbid(isInMetadata && isEmbedded, 'x-kubernetes-embedded-resource', 'must not be used inside of resource meta')
  return causes
}

function extensionCauses(schema: JSONSchemaProps, path: string): readonly Cause[] {
  const causes: Cause[] = []
  const { type = '' } = schema
  const listType = schema['x-kubernetes-list-type']
  const mapType = schema['x-kubernetes-map-type']
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    causes.push(invalidValue(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'))
  }
  const requireType = (expected: string, extension: string): void => {
    const why = `must be ${expected} if ${extension} is specified`
    causes.push(type === '' ? requiredValue(`${path}.type`, why) : invalidValue(`${path}.type`, type, why))
  }
  if (mapType !== undefined && type !== 'object') requireType('object', 'x-kubernetes-map-type')
  if (mapType !== undefined && mapType !== 'atomic' && mapType !== 'granular') {
    causes.push(unsupportedValue(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']))
  }
  const items = itemsOf(schema)
  if (listType !== undefined && type !== 'array') requireType('array', 'x-kubernetes-list-type')
  else if (listType === 'set' && items) causes.push(...setItemCauses(items, `${path}.items`))
  if (listType !== undefined && listType !== 'atomic' && listType !== 'set' && listType !== 'map') {
    causes.push(unsupportedValue(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map']))
  }
  return causes
}

/** Items of a set are compared as a whole, so they must be scalars or atomic. */
function setItemCauses(items: JSONSchemaProps, path: string): readonly Cause[] {
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  const listType = items['x-kubernetes-list-type']
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [invalidValue(`${path}.x-kubernetes-list-type`, listType, why)]
  }
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    return [invalidValue(`${path}.x-kubernetes-map-type`, listType ?? null, why)]
  }
  return []
}

/** A list of type `map` needs keys, and items that always have them. */
function keyCauses(schema: JSONSchemaProps, path: string): readonly Cause[] {
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const items = itemsOf(schema)
  const causes: Cause[] = []
  if (keys.length > 0 && listType !== 'map') {
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty'
    const at = `${path}.x-kubernetes-list-type`
    causes.push(listType === undefined ? requiredValue(at, why) : invalidValue(at, listType, why))
  }
  if (listType === 'map') {
    if (keys.length === 0) {
      const why = 'must not be empty if x-kubernetes-list-type is map'
      causes.push(requiredValue(`${path}.x-kubernetes-list-map-keys`, why))
    }
    if (schema.items === undefined) {
      causes.push(requiredValue(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'))
    }
    if (items && items.type !== 'object') {
      const why = "must be object if parent array's x-kubernetes-list-type is map"
      causes.push(invalidValue(`${path}.items.type`, items.type ?? '', why))
    }
    if (items?.type === 'object') for (const cause of keyNameCauses(items, keys, path)) causes.push(cause)
  }
  if (items && (listType === 'map' || listType === 'set')) {
    if (items.nullable) {
      causes.push(
        forbiddenValue(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`),
      )
    }
    if (listType === 'map') for (const cause of keyPresenceCauses(items, keys, path)) causes.push(cause)
  }
  return causes
}

/** Each error prints all keys: a thousand errors are enough. */
const maxKeys = 1000

function keyNameCauses(items: JSONSchemaProps, keys: readonly string[], path: string): readonly Cause[] {
  const at = `${path}.x-kubernetes-list-map-keys`
  const repeated = repeatedValues(keys)
  const why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
  const causes: Cause[] = []
  for (const [index, key] of keys.slice(0, maxKeys).entries()) {
    const own = propertyOf(items, key)
    const isScalar = own?.type !== 'array' && own?.type !== 'object'
    if (!own) causes.push(invalidValue(at, keys, 'entries must all be names of item properties'))
    else if (!isScalar) causes.push(invalidValue(`${path}.items.properties[${key}].type`, items.type, why))
    if (repeated.has(index)) causes.push(invalidValue(at, keys, 'must not contain duplicate entries'))
  }
  return causes
}

function keyPresenceCauses(items: JSONSchemaProps, keys: readonly string[], path: string): readonly Cause[] {
  const needed = new Set(items.required)
  return keys.flatMap((key) => {
    const own = propertyOf(items, key)
    if (!own) return []
    const at = `${path}.items.properties[${key}]`
    const isThere = needed.has(key) || (own.default !== undefined && own.default !== null)
    const lead = 'this property is in x-kubernetes-list-map-keys, so it'
    return [
      ...(isThere ? [] : [requiredValue(`${at}.default`, `${lead} must have a default or be a required property`)]),
      ...(own.nullable ? [forbiddenValue(`${at}.nullable`, `${lead} cannot be nullable`)] : []),
    ]
  })
}

function propertyOf({ properties }: JSONSchemaProps, name: string): JSONSchemaProps | undefined {
  return properties && Object.hasOwn(properties, name) ? properties[name] : undefined
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

/** The form of rules, before they are compiled. */
function ruleFormCauses(schema: JSONSchemaProps, path: string): readonly Cause[] {
  return (schema['x-kubernetes-validations'] ?? []).flatMap((rule, index) =>
    ruleForm(rule, schema, `${path}.x-kubernetes-validations[${index}]`),
  )
}

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text)

function ruleForm(rule: Partial<ValidationRule>, schema: JSONSchemaProps, path: string): readonly Cause[] {
  const { rule: text = '', message = '', messageExpression = '', reason, fieldPath = '' } = rule
  const causes: Cause[] = []
  if (text.trim() === '') causes.push(requiredValue(`${path}.rule`, 'rule is not specified'))
  else if (message !== '' && message.trim() === '') {
    causes.push(invalidValue(`${path}.message`, message, 'must be non-empty if specified'))
  } else if (hasLineBreak(message.trim())) {
    causes.push(invalidValue(`${path}.message`, message, 'must not contain line breaks'))
  } else if (hasLineBreak(text.trim()) && message.trim() === '') {
    causes.push(requiredValue(`${path}.message`, 'message must be specified if rule contains line breaks'))
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    causes.push(requiredValue(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'))
  }
  if (reason !== undefined && !reasons.includes(reason))
    causes.push(unsupportedValue(`${path}.reason`, reason, reasons))
  const at = `${path}.fieldPath`
  if (fieldPath !== '' && fieldPath.trim() === '') {
    causes.push(invalidValue(at, fieldPath, 'must be non-empty if specified'))
  }
  if (hasLineBreak(fieldPath)) causes.push(invalidValue(at, fieldPath, 'must not contain line breaks'))
  if (
    fieldPath !== '' &&
    resolveFieldPath(fieldPath, compileNode(schema), { allowBrackets: true }).problem !== undefined
  ) {
    causes.push(invalidValue(at, fieldPath, 'must be a valid path'))
  }
  return causes
}

/** Compilation errors of rules. */
function ruleCauses(schema: JSONSchemaProps, place: Place): readonly Cause[] {
  const { path, uncorrelated } = place
  const rules = schema['x-kubernetes-validations'] ?? []
  if (rules.length === 0) return []
  const node = compileNode(schema)
  const isRoot = place.isRoot || node.embedded
  const type = ruleType(node, isRoot)
  const size = sizeOfSchema(schema, isRoot)
  if (!type || !size) {
    const why =
      'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations'
    return [internalError(`${path}.x-kubernetes-validations`, why)]
  }
  const occurrences = place.occurrences ?? mostOccurrences(size)
  return rules.flatMap((rule, index) => {
    const at = `${path}.x-kubernetes-validations[${index}]`
    const { problem, messageProblem, usesOld, cost, messageCost } = reportRule(rule, type, size)
    const causes: Cause[] = []
    const excess = costCause(`${at}.rule`, 'estimated rule cost', cost * occurrences, place.costs)
    if (excess) causes.push(excess)
    if (problem !== undefined) causes.push(invalidShown(`${at}.rule`, formatRule(rule), problem))
    if (messageProblem !== undefined) {
      causes.push(invalidShown(`${at}.messageExpression`, formatRule(rule), messageProblem))
    }
    const what = 'estimated messageExpression cost'
    const messageExcess = costCause(`${at}.messageExpression`, what, messageCost, place.costs)
    if (messageExcess) causes.push(messageExcess)
    if (usesOld && uncorrelated !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
      causes.push(invalidValue(`${at}.rule`, rule.rule, why))
    }
    if (!usesOld && rule.optionalOldSelf !== undefined) {
      const why = 'may not be set if oldSelf is not used in rule'
      causes.push(invalidValue(`${at}.optionalOldSelf`, rule.optionalOldSelf, why))
    }
    return causes
  })
}
