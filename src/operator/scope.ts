/**
 * The scope of a resource: which parts of what the author wants are kept that way. What is outside is written when the
 * object is created, and then follows whoever changes it: the replicas that an autoscaler sets, for example.
 */
import type { Json, JsonObject } from '../kube/json.ts'
import { isJsonObject } from '../kube/json.ts'
import { ownMember } from '../kube/json-member.ts'
import { MusterError } from '../kube/errors.ts'
import { type FieldPath, parseFieldPath, readField, withField, withoutField } from './field-path.ts'

/** Nothing chosen means everything. `except` is taken from what is chosen. */
export interface Scope {
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
  [{ member: 'metadata' }, { member: 'annotations' }, { member: 'muster.dev/desired' }],
]

export function checkScope({ labels, annotations, spec, data, paths, except }: Scope, place: string): void {
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
export function inScope(wanted: JsonObject, scope: Scope): JsonObject {
  const { metadata, apiVersion: _, kind: __, ...rest } = wanted
  const { name: _name, namespace: _namespace, ...meta } = isJsonObject(metadata) ? metadata : {}
  const nameless: JsonObject = { ...(Object.keys(meta).length > 0 && { metadata: meta }), ...rest }
  const paths = chosenPaths(scope)
  let kept: Json = paths ? pick(nameless, [...always, ...paths]) : nameless
  for (const path of scope.except ?? []) kept = withoutField(kept, parseFieldPath(path))
  return kept as JsonObject
}

/**
 * What to send for an object that exists: what is in scope as it is wanted, the rest as it is there now. To leave it out
 * instead would mean to give it up, and a server takes away what nobody owns.
 */
export function toSend(wanted: JsonObject, live: JsonObject, scope: Scope): JsonObject {
  const identity = { apiVersion: wanted['apiVersion']!, kind: wanted['kind']! }
  const { name, namespace } = wanted['metadata'] as { readonly name: string; readonly namespace?: string }
  let sent: Json = inScope(wanted, scope)
  for (const path of leaves(wanted)) {
    if (isIn(path, sent)) continue
    const current = readField(live, path)
    if (current !== undefined && !isIdentity(path)) sent = withField(sent, path, current)
  }
  const metadata = isJsonObject((sent as JsonObject)['metadata']) ? (sent as JsonObject)['metadata'] : {}
  return {
    ...identity,
    ...(sent as JsonObject),
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(metadata as JsonObject) },
  }
}

function chosenPaths({ labels, annotations, spec, data, paths }: Scope): readonly FieldPath[] | undefined {
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

function pick(value: JsonObject, paths: readonly FieldPath[]): JsonObject {
  let picked: Json = {}
  for (const path of paths) {
    const field = readField(value, path)
    if (field !== undefined) picked = withField(picked, path, field)
  }
  return picked as JsonObject
}

function isIn(path: FieldPath, value: Json): boolean {
  return readField(value, path) !== undefined
}

function isIdentity(path: FieldPath): boolean {
  const [first, second] = path.map((part) => ('member' in part ? part.member : ''))
  return (
    first === 'apiVersion' ||
    first === 'kind' ||
    (first === 'metadata' && (second === 'name' || second === 'namespace'))
  )
}

/** Where values are that have no members: lists count as one, items of keyed lists cannot be told here. */
function leaves(value: Json, above: FieldPath = []): readonly FieldPath[] {
  if (!isJsonObject(value)) return [above]
  const names = Object.keys(value)
  return names.flatMap((member) => leaves(ownMember(value, member)!, [...above, { member }]))
}
