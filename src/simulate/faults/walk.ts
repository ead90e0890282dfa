/**
 * Varies each field of a CR along the schema of its kind: it is set or changed, removed if it is optional, and then
 * restored; lists and maps get one more entry and one less, and the fields of their first entry, or of a generated one,
 * are varied, too. Two laws must hold: a change leads to the same state as a CR created that way, and a reverted change
 * leaves no trace. That finds fields that are removed from the CR and stay in a dependent. A field for which no other
 * value can be generated is listed with the reason.
 */
import { formatCause } from '../../kube/validation/cause.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { createMergePatch } from '../../kube/patch/merge-patch.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { compileNode } from '../../kube/structural/node.ts'
import { checkValue } from '../../kube/structural/value.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import type { Kind } from '../../operator/kind/kind.ts'
import type { ObjectOf } from '../../kube/typed-resource.ts'
import { changeStep, createStep, type PlacedSample, type Scenario } from './scenario.ts'
import { textsMatching } from './pattern.ts'

/** A variation of a field: the spec before and after. */
interface WalkTurn {
  /** `spec.size`, `spec.parts (one less)`, `spec.image (removed)` */
  readonly name: string
  readonly before: JsonObject
  readonly after: JsonObject
}

/** A field that was not varied. */
export interface Skipped {
  readonly field: string
  readonly why: string
}

export interface Walk {
  readonly turns: readonly WalkTurn[]
  readonly skipped: readonly Skipped[]
}

/** A place in a spec. */
interface Place {
  readonly name: string
  readonly schema: JSONSchemaProps
  readonly value: Json | undefined
  /** It is not required, or has a default. */
  readonly isOptional: boolean
  /** The spec with another value here. */
  readonly put: (value: Json | undefined) => JsonObject
}

/** Another value for a place; `how` if it is more than a change. */
interface Step {
  readonly place: Place
  readonly how: '' | 'one less' | 'removed'
  readonly values: readonly Json[]
}

/** All variations of the spec, and the fields without one. */
export function walkOf(kind: Kind, cr: UntypedObject): Walk {
  const version = kind.crd().spec.versions.find(({ name }) => name === kind.version)
  const schema = version?.schema?.openAPIV3Schema?.properties?.['spec']
  if (!schema) return { turns: [], skipped: [] }
  const spec = isJsonObject(cr['spec']) ? cr['spec'] : {}
  const stored = (one: JsonObject): ObjectOf<Kind> => kind.withDefaults({ ...cr, spec: one })
  const now = stored(spec)
  const problem = (one: JsonObject): string | undefined => {
    const after = stored(one)
    const [found] = [...kind.validate(after), ...kind.validate(after, now)]
    return found && formatCause(found)
  }
  const turns: WalkTurn[] = []
  const skipped: Skipped[] = []
  const whole: Place = { name: 'spec', schema, value: spec, isOptional: false, put: (value) => value as JsonObject }
  for (const { place, how, values } of stepsIn(whole)) {
    const name = how === '' ? place.name : `${place.name} (${how})`
    const current = place.value ?? place.schema.default
    const others = values.filter((value) => !equalJson(value, current ?? null))
    const specs = how === 'removed' ? [place.put(undefined)] : others.map((value) => place.put(value))
    // A default restores the removed value.
    if (how === 'removed' && equalJson(place.value, place.schema.default)) continue
    let why: string | undefined
    const after = specs.find((one) => {
      const refusal = problem(one)
      why ??= refusal
      return refusal === undefined
    })
    if (after) turns.push({ name, before: spec, after })
    else skipped.push({ field: name, why: why ?? whyNone(place.schema) })
  }
  return { turns, skipped }
}

function whyNone({ enum: values, pattern, format, type }: JSONSchemaProps): string {
  if (values) return 'its schema allows no other value'
  if (pattern !== undefined) return `no other text is known that matches ${pattern}`
  if (type === 'string' && format !== undefined) return `no other text is known of the format ${format}`
  return type === 'object' || type === 'array' || type === undefined
    ? 'its schema does not say what it holds'
    : `no other ${type} is known that its schema allows`
}

function* stepsIn(place: Place): Generator<Step> {
  const { schema, value } = place
  if (isEmpty(schema)) return
  if (Object.keys(schema.properties ?? {}).length > 0) yield* stepsInMembers(place)
  else {
    const others = [...otherValues(schema, value ?? schema.default)]
    yield { place, how: '', values: others }
    yield* stepsInEntries(place, others)
  }
  if (value !== undefined && place.isOptional) yield { place, how: 'removed', values: [] }
}

/** Whether no value is possible. */
function isEmpty(schema: JSONSchemaProps): boolean {
  if (schema.type !== 'object' || schema['x-kubernetes-preserve-unknown-fields']) return false
  return Object.keys(schema.properties ?? {}).length === 0 && schema.additionalProperties === undefined
}

function* stepsInMembers({ name: above, schema, value, put }: Place): Generator<Step> {
  // A missing object is generated with all required members.
  const object = isJsonObject(value) ? value : requiredOf(schema)
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    yield* stepsIn({
      name: `${above}.${name}`,
      schema: member,
      value: isJsonObject(value) ? ownMember(value, name) : undefined,
      isOptional: !schema.required?.includes(name) || member.default !== undefined,
      put: (other) => put(withMember(object, name, other)),
    })
  }
}

/** Variations of a list or map: one entry less, and the fields of its first entry, or of a generated one. */
function* stepsInEntries(place: Place, others: readonly Json[]): Generator<Step> {
  const { name, schema, value, put } = place
  if (hasEntries(value)) yield { place, how: 'one less', values: [oneLess(value)] }
  const entries = [value, schema.default, ...others].find(hasEntries)
  const isList = isJsonArray(entries)
  const each = (isList ? schema.items : schema.additionalProperties) as JSONSchemaProps | boolean | undefined
  if (!entries || typeof each !== 'object') return
  // For scalar items, and generated scalar entries, one more and one less suffice.
  if (isPlain(each) && (isList || entries !== value)) return
  if (isList) {
    const putFirst = (other: Json | undefined): JsonObject => put(entries.with(0, other ?? null))
    yield* stepsIn({ name: `${name}[0]`, schema: each, value: entries[0], isOptional: false, put: putFirst })
  } else {
    const [first = ''] = Object.keys(entries)
    const putFirst = (other: Json | undefined): JsonObject => put(withMember(entries, first, other))
    yield* stepsIn({ name: `${name}.${first}`, schema: each, value: entries[first], isOptional: false, put: putFirst })
  }
}

function hasEntries(value: Json | undefined): value is readonly Json[] | JsonObject {
  return isJsonArray(value) ? value.length > 0 : isJsonObject(value) && Object.keys(value).length > 0
}

function oneLess(entries: readonly Json[] | JsonObject): Json {
  return isJsonArray(entries) ? entries.slice(0, -1) : withMember(entries, Object.keys(entries)[0] ?? '', undefined)
}

/** Whether it is a scalar. */
function isPlain({ properties, items, additionalProperties }: JSONSchemaProps): boolean {
  return properties === undefined && items === undefined && typeof additionalProperties !== 'object'
}

function withMember(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  const { [name]: _, ...others } = object
  return value === undefined ? others : { ...object, [name]: value }
}

/** Other values of the same type, the likeliest to be valid first. */
function* otherValues(schema: JSONSchemaProps, now: Json | undefined): Generator<Json> {
  if (schema.enum) {
    yield* schema.enum
    return
  }
  switch (schema.type) {
    case 'integer':
    case 'number':
      yield* numbers(schema, now)
      break
    case 'boolean':
      yield now !== true
      break
    case 'string':
      yield* texts(schema, now)
      break
    case 'array':
      yield* longerLists(schema, isJsonArray(now) ? now : [])
      break
    case 'object': {
      const each = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
      const entries = isJsonObject(now) ? now : {}
      const key = Object.hasOwn(entries, 'walked') ? 'walked-again' : 'walked'
      if (each) for (const member of someValues(each)) yield { ...entries, [key]: member }
      break
    }
    default:
      if (schema['x-kubernetes-int-or-string']) yield* [7, 8, '7Mi', '8Mi', '7m', '70%']
  }
  if (schema.example !== undefined) yield schema.example
  if (schema.default !== undefined) yield schema.default
}

function* numbers({ minimum, maximum, multipleOf = 1 }: JSONSchemaProps, now: Json | undefined): Generator<number> {
  const base = typeof now === 'number' ? now : minimum === undefined ? 0 : minimum - multipleOf
  yield* [base + multipleOf, base - multipleOf]
  if (minimum !== undefined) yield Math.ceil(minimum / multipleOf) * multipleOf + multipleOf
  if (maximum !== undefined) yield Math.floor(maximum / multipleOf) * multipleOf
}

/** Sample strings of common formats: durations, quantities, versions, names, addresses, times, bytes. */
const formed: readonly string[] = (
  '7s 8m 1h 7 8 7Mi 8Gi 7m 70% 1.2.3 v1.2.3 /walked ' +
  'walked.example.com https://walked.example.com walked@example.com example.com/walked:1 ' +
  '192.0.2.7 192.0.2.8 2001:db8::7 192.0.2.0/25 2001:db8::/64 02:00:5e:10:00:07 ' +
  '2001-02-03T04:05:06Z 2001-02-03 6f2b9a53-7f7d-4a3a-9d38-0d0f0b6a2b12 d2Fsa2Vk'
)
  .split(' ')
  .concat('0 7 * * *')

function* texts(schema: JSONSchemaProps, now: Json | undefined): Generator<string> {
  const { minLength = 0, pattern, format } = schema
  yield (now === 'walked' ? 'walked-again' : 'walked').padEnd(minLength, 'x')
  if (pattern === undefined && format === undefined) yield* ['w'.padEnd(minLength, 'x'), 'x'.padEnd(minLength, 'w')]
  else {
    if (typeof now === 'string') yield* mutations(now)
    yield* formed
    if (pattern !== undefined) yield* textsMatching(pattern)
  }
}

/** Variants of a string: a number in it incremented, or another suffix. */
function* mutations(text: string): Generator<string> {
  const digits = [...text.matchAll(/\d+/g)].at(-1)
  if (digits) {
    const [before, after] = [text.slice(0, digits.index), text.slice(digits.index + digits[0].length)]
    for (const change of [1, -1]) {
      yield `${before}${String(Number(digits[0]) + change).padStart(digits[0].length, '0')}${after}`
    }
  }
  yield* [`${text}x`, `${text}-walked`, `${text}7`]
  for (const end of 'abAB01') yield `${text.slice(0, -1)}${end}`
}

/** Lists with one more item: a copy of the last one with another key, or a generated one. */
function* longerLists({ items, ...schema }: JSONSchemaProps, now: readonly Json[]): Generator<readonly Json[]> {
  if (!items || Array.isArray(items)) return
  const each = items as JSONSchemaProps
  const isNew = (item: Json): boolean => now.every((one) => !equalJson(one, item))
  const last = now.at(-1)
  const copies = isJsonObject(last) ? copiesOf(each, last, schema['x-kubernetes-list-map-keys'] ?? []) : []
  for (const item of [...copies, ...someValues(each)]) if (isNew(item)) yield [...now, item]
}

/** Copies of an item with one field changed: its keys first. */
function* copiesOf({ properties = {} }: JSONSchemaProps, item: JsonObject, keys: readonly string[]): Generator<Json> {
  for (const name of [...keys, ...Object.keys(properties).filter((one) => !keys.includes(one))]) {
    const current = ownMember(item, name)
    const others = properties[name] ? [...otherValues(properties[name], current)] : []
    for (const other of others.filter((value) => !equalJson(value, current ?? null)).slice(0, mostTries)) {
      yield { ...item, [name]: other }
    }
  }
}

/** The limit of candidates for compound values. */
const mostTries = 60

/** Values for a missing field. */
function* someValues(schema: JSONSchemaProps): Generator<Json> {
  if (schema.properties) yield requiredOf(schema)
  else yield* [...otherValues(schema, undefined)].slice(0, mostTries)
}

/** An object with all required members that have no default. */
function requiredOf({ properties = {}, required = [] }: JSONSchemaProps): JsonObject {
  const wanted = required.filter((name) => properties[name] && properties[name].default === undefined)
  return Object.fromEntries(
    wanted.map((name) => {
      const member = properties[name]!
      const values = [...(member.pattern === undefined ? [] : textsMatching(member.pattern)), ...someValues(member)]
      const node = compileNode(member)
      return [name, values.find((value) => checkValue(value, node).length === 0) ?? values[0] ?? 'walked']
    }),
  )
}

export function walkScenario(
  cr: PlacedSample,
  all: readonly PlacedSample[],
  turns: readonly WalkTurn[],
): readonly Scenario[] {
  return turns.flatMap((turn) => {
    const { name, before, after } = turn
    const placed = all.map((one) => (one === cr ? { ...cr, object: { ...cr.object, spec: after } } : one))
    return [
      { name: `fresh ${name}`, steps: [createStep(placed)] },
      { name: `set ${name}`, after: 'create', steps: [changeStep(cr, walkPatchOf(turn))], like: `fresh ${name}` },
      {
        name: `back ${name}`,
        after: `set ${name}`,
        steps: [changeStep(cr, walkPatchOf({ before: after, after: before }))],
        like: 'create',
      },
    ]
  })
}

/** As a merge patch. */
export function walkPatchOf({ before, after }: Pick<WalkTurn, 'before' | 'after'>): JsonObject {
  return { spec: createMergePatch(before, after) }
}
