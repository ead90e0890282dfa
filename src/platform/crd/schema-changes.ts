/**
 * Two structural schemas compared, field by field: is every object that the old one accepts accepted by the new one, with all
 * of its fields? Widening is silent. Narrowing is reported; so is each keyword that differs and is not known here.
 */
import { equalJson, type Json } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { compareAlternatives } from './alternatives.ts'
import { compareLimits } from './limits.ts'
import { compareLists } from './list-rules.ts'
import { compareMembers } from './members.ts'
import { deepestSchema, normalizeSchema } from './schema-form.ts'
import type { CompareSchemas } from './schema-walk.ts'
import { type ChangeReport, reportChange, type ChangePlace } from './unsafe-change.ts'
import { compareTypes, compareValueRules } from './value-rules.ts'

export function compareSchemas(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const compare: CompareSchemas = (old, now, at, depth) => {
    if (depth >= deepestSchema) {
      if (!equalJson(asJson(old), asJson(now))) reportUnjudged('properties', old, now, at, report, 'nested too deep')
      return
    }
    compareUnknown(old, now, at, report)
    compareAlternatives(old, now, at, report)
    compareValueRules(old, now, at, report)
    compareLimits(old, now, at, report)
    if (!compareTypes(old, now, at, report)) return
    compareLists(old, now, at, { report, compare, depth: depth + 1 })
    compareMembers(old, now, at, { report, compare, depth: depth + 1, isRoot: depth === 0 })
  }
  compare(normalizeSchema(before), normalizeSchema(after), place, 0)
}

/** What the parts of this package compare. */
const judged = new Set(
  [
    'type x-kubernetes-int-or-string nullable default enum pattern',
    'format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
    'minLength maxLength minItems maxItems minProperties maxProperties',
    'uniqueItems items properties additionalProperties required allOf',
    'anyOf oneOf not x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource x-kubernetes-validations',
    'x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type',
  ].flatMap((row) => row.split(' ')),
)

/** For people; they have no effect on objects. */
const documentation = new Set(['description', 'title', 'example', 'externalDocs', 'id', '$schema'])

function compareUnknown(
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
): void {
  const [old, now] = [asJson(before), asJson(after)]
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (judged.has(key) || documentation.has(key)) continue
    if (!equalJson(own(old, key), own(now, key))) reportUnjudged(key, before, after, place, report, 'of unknown effect')
  }
}

function own(schema: Readonly<Record<string, Json | undefined>>, key: string): Json | undefined {
  return Object.hasOwn(schema, key) ? schema[key] : undefined
}

function reportUnjudged(
  key: string,
  before: JSONSchemaProps,
  after: JSONSchemaProps,
  place: ChangePlace,
  report: ChangeReport,
  what: string,
): void {
  reportChange(
    report,
    place,
    { key, before, after },
    { change: `${key} differs`, why: `the difference is ${what} and cannot be judged`, verdict: 'unjudged' },
  )
}
