/**
 * Changes by another field manager: for each field of an object that the operator owns, according to
 * `metadata.managedFields`, another value that the server accepts.
 */
import type { Client } from '../../client/client.ts'
import { decodeFields } from '../../kube/apply/fields-v1.ts'
import { type FieldSet, type FieldNode } from '../../kube/apply/field-set.ts'
import type { Path, PathElement } from '../../kube/apply/path-element.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { hashAnnotation, ownerLabel } from '../../operator/dependent/desired.ts'
import type { ScorecardTarget } from './request.ts'

/** An edit of a field by another client: another value, an empty value, or removal. */
export type EditKind = 'change' | 'empty' | 'remove'

/**
 * Scalar fields that a manager owns, and items of keyed lists and sets. Keys of items and owner references are left
 * out: changing them makes another item, or another owner's object.
 */
export function ownedFields(object: KubeObject, manager: string): readonly Path[] {
  const { managedFields = [] } = object.metadata
  const entries = managedFields.filter((entry) => entry.manager === manager && !entry.subresource)
  return entries
    .flatMap(({ fieldsV1 }) => Array.from(pathsIn(decodeFields(fieldsV1 as unknown as Json))))
    .filter((path) => isPlain(path, object))
}

/** The possible edits: an item can only be removed. */
export function editsOf(path: Path): readonly EditKind[] {
  return path.at(-1)?.kind === 'field' ? ['change', 'empty', 'remove'] : ['remove']
}

function* pathsIn(set: FieldSet, above: Path = []): Generator<Path> {
  for (const node of set) yield* pathsOfNode(node, [...above, node.element])
}

function* pathsOfNode({ below, element }: FieldNode, path: Path): Generator<Path> {
  if (below.length === 0 || element.kind === 'key') yield path
  yield* pathsIn(below, path)
}

function isPlain(path: Path, { metadata }: KubeObject): boolean {
  const [first, second, third] = path
  if (isField(first, 'metadata')) {
    // Owner references are no field to correct: changing them gives the object away.
    if (isField(second, 'ownerReferences')) return false
    if (isField(second, 'labels') && isField(third, ownerLabel)) return false
    const isOwned = (metadata.ownerReferences?.length ?? 0) > 0 || metadata.labels?.[ownerLabel] !== undefined
    if (!isOwned && isField(second, 'annotations') && isField(third, hashAnnotation)) return false
  }
  const last = path.at(-1)
  const item = path.at(-2)
  if (last?.kind !== 'field') return last?.kind === 'key' || last?.kind === 'value'
  return !(item?.kind === 'key' && item.fields.some(({ name }) => name === last.name))
}

function isField(element: PathElement | undefined, name: string): boolean {
  return element?.kind === 'field' && element.name === name
}

/** The value at a path, and its JSON pointer with list indices. */
export function locate(object: Json, path: Path): { readonly value: Json; readonly pointer: string } | undefined {
  let value: Json | undefined = object
  let pointer = ''
  for (const element of path) {
    if (element.kind === 'field' && isJsonObject(value)) {
      value = ownMember(value, element.name)
      pointer += `/${escaped(element.name)}`
    } else if (isJsonArray(value)) {
      const index: number = value.findIndex((item) => isItem(item, element))
      value = value[index]
      pointer += `/${index}`
    } else return undefined
    if (value === undefined) return undefined
  }
  return { value, pointer }
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function isItem(item: Json, element: PathElement): boolean {
  if (element.kind === 'value') return equalJson(item, element.value)
  if (element.kind !== 'key' || !isJsonObject(item)) return false
  return element.fields.every(({ name, value: key }) => equalJson(ownMember(item, name) ?? null, key))
}

export interface Changed {
  readonly before: Json
  readonly after: Json | undefined
}

/** Makes the first edit that the server accepts; undefined if it accepts none, or keeps the old value. */
export async function changeField(
  client: Client,
  { resource, name, namespace }: ScorecardTarget,
  object: UntypedObject,
  path: Path,
  edit: EditKind,
): Promise<Changed | undefined> {
  const found = locate(object as unknown as Json, path)
  if (!found) return undefined
  const { value, pointer } = found
  for (const patch of patchesOf(edit, value, pointer)) {
    const attempt = async (dryRun: boolean): Promise<UntypedObject> =>
      await client.patch(resource, { name, namespace }, [patch], { type: 'json', dryRun })
    // A dry run first: some edits are accepted without effect, since the server normalizes the value.
    const tried = await attempt(true).catch(() => undefined)
    const after = tried && locate(tried as unknown as Json, path)?.value
    if (!tried || isKept(value, after)) continue
    await attempt(false)
    return { before: value, after }
  }
  return undefined
}

/** Strict equality, also of falsy values. */
export function isKept(before: Json, after: Json | undefined): boolean {
  return after !== undefined && equalJson(after, before)
}

function patchesOf(edit: EditKind, value: Json, pointer: string): readonly JsonObject[] {
  if (edit === 'remove') return [{ op: 'remove', path: pointer }]
  const values = edit === 'change' ? otherValues(value) : emptyValues(value)
  return values.map((other) => ({ op: 'replace', path: pointer, value: other }))
}

/** Restores the value of a field, whether it exists or not. */
export async function writeField(
  client: Client,
  { resource, name, namespace }: ScorecardTarget,
  object: UntypedObject,
  path: Path,
  value: Json,
): Promise<void> {
  const above = locate(object as unknown as Json, path.slice(0, -1))
  const last = path.at(-1)
  if (!above || last?.kind !== 'field') return
  const patch = { op: 'add', path: `${above.pointer}/${escaped(last.name)}`, value }
  await client.patch(resource, { name, namespace }, [patch], { type: 'json' })
}

/** Other values of the same type, the likeliest to be accepted first. */
function otherValues(value: Json): readonly Json[] {
  switch (typeof value) {
    case 'string':
      return [`${value}-changed`, `${value}x`, '7', '7Mi', '7m', 'changed', 'Y2hhbmdlZA==', '2001-01-01T00:00:00Z']
    case 'number':
      return [value + 1, value - 1, 1, 2, 0].filter((other) => other !== value)
    case 'boolean':
      return [!value]
    default:
      return isJsonArray(value) ? [[...value, value[0] ?? 'changed'], []] : []
  }
}

/** Empty or false values of the same type. */
function emptyValues(value: Json): readonly Json[] {
  const empty: Json =
    typeof value === 'string' ? '' : typeof value === 'number' ? 0 : typeof value === 'boolean' ? false : null
  const all: readonly Json[] = [isJsonArray(value) ? [] : isJsonObject(value) ? {} : empty]
  return all.filter((other) => !equalJson(other, value))
}

/** The leaves of a CR's spec, as paths. */
export function ownedSpecFields({ spec }: UntypedObject): readonly Path[] {
  return isJsonObject(spec) ? [...scalarsOf(spec, [{ kind: 'field', name: 'spec' }])] : []
}

function* scalarsOf(value: JsonObject, above: Path): Generator<Path> {
  for (const name of Object.keys(value)) {
    const member = ownMember(value, name)
    const path: Path = [...above, { kind: 'field', name }]
    if (isJsonObject(member)) yield* scalarsOf(member, path)
    else yield path
  }
}
