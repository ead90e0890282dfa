/**
 * The scope of a resource: which parts of what the author wants are kept that way. What is outside is written when the
 * object is created, and then follows whoever changes it: the replicas that an autoscaler sets, for example.
 */
import { MusterError } from '../kube/errors.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { isJsonArray, ownMember } from '../kube/json-member.ts'
import { type Definitions, resolveSchema, type Schema } from '../kube/schema.ts'
import type { Typing } from './difference.ts'
import { type FieldPath, isItem, parseFieldPath } from './field-path.ts'

/** Nothing chosen means everything. `except` is taken from what is chosen. */
export interface HashScope {
  readonly labels?: boolean
  /** All of them, or these. */
  readonly annotations?: boolean | readonly string[]
  readonly spec?: boolean
  /** `data`, `binaryData`, `immutable` and `type` of ConfigMaps and Secrets. */
  readonly data?: boolean
  /** Others, as paths: `spec.template`, `rules`. */
  readonly paths?: readonly string[]
  /** Left to others: `spec.replicas`. */
  readonly except?: readonly string[]
}

const dataMembers = ['data', 'binaryData', 'immutable', 'type'] as const

/** What the kit itself keeps, whatever the author's scope: who the object belongs to, and what was wanted of it. */
const always: readonly FieldPath[] = [
  [{ member: 'metadata' }, { member: 'ownerReferences' }],
  [{ member: 'metadata' }, { member: 'labels' }, { member: 'muster.dev/owner' }],
  [{ member: 'metadata' }, { member: 'annotations' }, { member: 'muster.dev/desired' }],
]

export function checkScope({ labels, annotations, spec, data, paths, except }: HashScope, place: string): void {
  const chosen = [labels, annotations, spec, data, paths]
  if (chosen.some((choice) => choice !== undefined) && !chosen.some(isChoice)) {
    throw new MusterError('InvalidResource', `${place}: its scope chooses nothing, so nothing would ever be put right.`)
  }
  if (except?.includes('')) throw new MusterError('InvalidResource', `${place}: a path in its scope is empty.`)
}

function isChoice(choice: boolean | readonly string[] | undefined): boolean {
  return typeof choice === 'object' ? choice.length > 0 : choice === true
}

/** The part of `wanted` that is in scope. Names are the object's identity and belong to no scope. */
export function inHashScope(wanted: JsonObject, scope: HashScope): JsonObject {
  return (kept(nameless(wanted), undefined, undefined, choiceOf(scope), {}) ?? {}) as JsonObject
}

/**
 * What to send for an object that exists: what is in scope as it is wanted, the rest as it is there now. To leave it out
 * instead would mean to give it up, and a server takes away what nobody owns.
 */
export function toSend(wanted: JsonObject, live: JsonObject, scope: HashScope, typing: Typing): JsonObject {
  const identity = { apiVersion: wanted['apiVersion']!, kind: wanted['kind']! }
  const { name, namespace } = wanted['metadata'] as { readonly name: string; readonly namespace?: string }
  const { schema, definitions } = typing
  const sent = (kept(nameless(wanted), live, schema, choiceOf(scope), definitions) ?? {}) as JsonObject
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

/** What a scope says about the values below some place, as paths from there. */
interface Choice {
  /** Undefined: everything. */
  readonly chosen: readonly FieldPath[] | undefined
  readonly except: readonly FieldPath[]
  readonly always: readonly FieldPath[]
}

function choiceOf(scope: HashScope): Choice {
  return { chosen: chosenPaths(scope), except: (scope.except ?? []).map(parseFieldPath), always }
}

/** What is said about one member or item. */
function below({ chosen, except, always: forced }: Choice, isMeant: (part: FieldPath[number]) => boolean): Choice {
  const rest = (paths: readonly FieldPath[]): readonly FieldPath[] =>
    paths.filter(([part]) => part !== undefined && isMeant(part)).map(([, ...others]) => others)
  return { chosen: chosen && rest(chosen), except: rest(except), always: rest(forced) }
}

/** What is wanted where it is in scope; elsewhere what is live, as far as it is wanted at all. */
function kept(
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
  // One value, however many members it has.
  const isWhole = chosen?.length === 0 && at['x-kubernetes-map-type'] === 'atomic'
  // An empty value has no members to choose from: it is in scope or not as a whole.
  const isBare = isJsonObject(wanted) && Object.keys(wanted).length === 0
  if (isJsonObject(wanted) && !isWhole && !isBare) {
    const members = Object.entries(wanted).flatMap(([name, value]) => {
      const said = below(here, (part) => 'member' in part && part.member === name)
      const is = isJsonObject(live) ? ownMember(live, name) : undefined
      const result = kept(value!, is, memberSchema(at, name), said, definitions)
      return result === undefined ? [] : [[name, result] as const]
    })
    return members.length > 0 ? Object.fromEntries(members) : undefined
  }
  const keys = isJsonArray(wanted) ? keysAt(here, at) : []
  if (isJsonArray(wanted) && keys.length > 0) {
    const items = wanted.flatMap((item) => {
      const said = below(here, (part) => 'key' in part && isItem(item, part))
      const peer = isJsonArray(live) ? live.find((other) => isPeer(item, other, keys)) : undefined
      const result = kept(item, peer, at.items, said, definitions)
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

/** By which items of a list are told apart: as its kind has it, or as the paths into it say. */
function keysAt({ chosen = [], except }: Choice, schema: Schema): readonly string[] {
  const known = schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined
  return known ?? [...new Set([...chosen, ...except].flatMap(([part]) => (part && 'key' in part ? [part.key] : [])))]
}

/** A key that one of them leaves to its default does not tell them apart. */
function isPeer(item: Json, other: Json, keys: readonly string[]): boolean {
  return keys.every((key) => {
    const [a, b] = [keyIn(item, key), keyIn(other, key)]
    return a === undefined || b === undefined || equalJson(a, b)
  })
}

function keyIn(item: Json, key: string): Json | undefined {
  return isJsonObject(item) ? ownMember(item, key) : undefined
}

/** A part of an item is nothing without its keys. */
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
