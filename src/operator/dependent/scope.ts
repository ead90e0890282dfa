/**
 * The scope of a dependent: the fields whose drift is corrected. Other fields are set on creation and then left to
 * other managers: the replicas that an autoscaler sets, for example.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { type Definitions, resolveSchema, type Schema } from '../../kube/schema.ts'
import type { Typing } from './difference.ts'
import { type FieldPath, isItem, parseFieldPath } from './field-path.ts'

/** Without a choice everything is in scope. `except` is subtracted. */
export interface HashScope {
  readonly labels?: boolean
  /** All annotations, or these. */
  readonly annotations?: boolean | readonly string[]
  readonly spec?: boolean
  /** `data`, `binaryData`, `immutable` and `type` of ConfigMaps and Secrets. */
  readonly data?: boolean
  /** Further fields, as paths: `spec.template`, `rules`. */
  readonly paths?: readonly string[]
  /** Fields left to other managers: `spec.replicas`. */
  readonly except?: readonly string[]
}

const dataMembers = ['data', 'binaryData', 'immutable', 'type'] as const

/** Always in scope, since the kit relies on them: the owner and the mark. */
const always: readonly FieldPath[] = [
  [{ member: 'metadata' }, { member: 'ownerReferences' }],
  [{ member: 'metadata' }, { member: 'labels' }, { member: 'muster.dev/owner' }],
  [{ member: 'metadata' }, { member: 'annotations' }, { member: 'muster.dev/desired' }],
]

export function checkScope({ labels, annotations, spec, data, paths, except }: HashScope, place: string): void {
  const chosen = [labels, annotations, spec, data, paths]
  if (chosen.some((choice) => choice !== undefined) && !chosen.some(isChoice)) {
    throw new MusterError(
      operatorErrors.InvalidDependent,
      `${place}: its scope chooses nothing, so no drift would ever be corrected.`,
    )
  }
  if (except?.includes(''))
    throw new MusterError(operatorErrors.InvalidDependent, `${place}: a path in its scope is empty.`)
}

function isChoice(choice: boolean | readonly string[] | undefined): boolean {
  return typeof choice === 'object' ? choice.length > 0 : choice === true
}

/** The part of `wanted` that is in scope. A name is the object's identity and belongs to no scope. */
export function inHashScope(wanted: JsonObject, scope: HashScope): JsonObject {
  return (scopedValue(nameless(wanted), undefined, undefined, choiceOf(scope), {}) ?? {}) as JsonObject
}

/**
 * The body of an apply to a live object: fields in scope as desired, the others as they are now. Leaving those out
 * would give up their ownership, and the API server removes fields without an owner.
 */
export function toSend(wanted: JsonObject, live: JsonObject, scope: HashScope, typing: Typing): JsonObject {
  const identity = { apiVersion: wanted['apiVersion']!, kind: wanted['kind']! }
  const { name, namespace } = wanted['metadata'] as { readonly name: string; readonly namespace?: string }
  const { schema, definitions } = typing
  const sent = (scopedValue(nameless(wanted), live, schema, choiceOf(scope), definitions) ?? {}) as JsonObject
  const metadata = isJsonObject(sent['metadata']) ? sent['metadata'] : {}
  return {
    ...identity,
    ...sent,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...metadata },
  }
}

function nameless(wanted: JsonObject): JsonObject {
  const { metadata, apiVersion: _, kind: __, ...rest } = wanted
  const { name: _name, namespace: _namespace, ...meta } = isJsonObject(metadata) ? metadata : {}
  return { ...(Object.keys(meta).length > 0 && { metadata: meta }), ...rest }
}

/** A scope as seen from a value, as paths from there. */
interface Choice {
  /** Undefined: everything is in scope. */
  readonly chosen: readonly FieldPath[] | undefined
  readonly except: readonly FieldPath[]
  readonly always: readonly FieldPath[]
}

function choiceOf(scope: HashScope): Choice {
  return { chosen: chosenPaths(scope), except: (scope.except ?? []).map(parseFieldPath), always }
}

/** The scope of one member or item. */
function below({ chosen, except, always: forced }: Choice, isPart: (part: FieldPath[number]) => boolean): Choice {
  const rest = (paths: readonly FieldPath[]): readonly FieldPath[] =>
    paths.filter(([part]) => part !== undefined && isPart(part)).map(([, ...others]) => others)
  return { chosen: chosen && rest(chosen), except: rest(except), always: rest(forced) }
}

/** The desired value where it is in scope; elsewhere the live value of desired fields. */
function scopedValue(
  wanted: Json,
  live: Json | undefined,
  schema: Schema | undefined,
  choice: Choice,
  definitions: Definitions,
): Json | undefined {
  const ends = (paths: readonly FieldPath[]): boolean => paths.some((path) => path.length === 0)
  if (ends(choice.always)) return wanted
  const isOut = ends(choice.except)
  const chosen = isOut ? [] : choice.chosen && ends(choice.chosen) ? undefined : choice.chosen
  const here: Choice = { ...choice, chosen, except: isOut ? [] : choice.except }
  if (!chosen && here.except.length === 0) return wanted
  const at = resolveSchema(schema, definitions)
  // An atomic map is one value.
  const isWhole = chosen?.length === 0 && at['x-kubernetes-map-type'] === 'atomic'
  // An empty object has no members: it is in scope or not as a whole.
  const isEmpty = isJsonObject(wanted) && Object.keys(wanted).length === 0
  if (isJsonObject(wanted) && !isWhole && !isEmpty) {
    const members = Object.entries(wanted).flatMap(([name, value]) => {
      const inner = below(here, (part) => 'member' in part && part.member === name)
      const is = isJsonObject(live) ? ownMember(live, name) : undefined
      const result = scopedValue(value!, is, memberSchema(at, name), inner, definitions)
      return result === undefined ? [] : [[name, result] as const]
    })
    return members.length > 0 ? Object.fromEntries(members) : undefined
  }
  const keys = isJsonArray(wanted) ? keysAt(here, at) : []
  if (isJsonArray(wanted) && keys.length > 0) {
    const items = wanted.flatMap((item) => {
      const inner = below(here, (part) => 'key' in part && isItem(item, part))
      const peer = isJsonArray(live) ? live.find((other) => isPeer(item, other, keys)) : undefined
      const result = scopedValue(item, peer, at.items, inner, definitions)
      return result === undefined ? [] : [withKeys(result, item, keys)]
    })
    return items.length > 0 ? items : undefined
  }
  return chosen ? live : wanted
}

function memberSchema({ properties, additionalProperties }: Schema, name: string): Schema | undefined {
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

/** The keys of a list's items: from its schema, or from the paths into it. */
function keysAt({ chosen = [], except }: Choice, schema: Schema): readonly string[] {
  const known = schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined
  return known ?? [...new Set([...chosen, ...except].flatMap(([part]) => (part && 'key' in part ? [part.key] : [])))]
}

/** A key that one of them leaves to its default does not distinguish them. */
function isPeer(item: Json, other: Json, keys: readonly string[]): boolean {
  return keys.every((key) => {
    const [a, b] = [keyIn(item, key), keyIn(other, key)]
    return a === undefined || b === undefined || equalJson(a, b)
  })
}

function keyIn(item: Json, key: string): Json | undefined {
  return isJsonObject(item) ? ownMember(item, key) : undefined
}

/** A partial item needs its keys. */
function withKeys(result: Json, item: Json, keys: readonly string[]): Json {
  if (!isJsonObject(result) || !isJsonObject(item)) return result
  const missing = keys.filter((key) => keyIn(item, key) !== undefined && keyIn(result, key) === undefined)
  return { ...Object.fromEntries(missing.map((key) => [key, keyIn(item, key)!])), ...result }
}

function chosenPaths({ labels, annotations, spec, data, paths }: HashScope): readonly FieldPath[] | undefined {
  if ([labels, annotations, spec, data, paths].every((choice) => choice === undefined)) return undefined
  const meta = { member: 'metadata' }
  return [
    ...(labels ? [[meta, { member: 'labels' }]] : []),
    ...(annotations === true ? [[meta, { member: 'annotations' }]] : []),
    ...(typeof annotations === 'object'
      ? annotations.map((name) => [meta, { member: 'annotations' }, { member: name }])
      : []),
    ...(spec ? [[{ member: 'spec' }]] : []),
    ...(data ? dataMembers.map((member) => [{ member }]) : []),
    ...(paths ?? []).map(parseFieldPath),
  ]
}
