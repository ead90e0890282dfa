/**
 * Changes that somebody else makes: to each field of an object that the operator owns, as the server's own record
 * (`metadata.managedFields`) has it, a value that the server takes and that is another one.
 */
import type { Client } from '../../client/client.ts'
import { decodeFields } from '../../kube/apply/fields-v1.ts'
import { type FieldSet, type FieldNode } from '../../kube/apply/field-set.ts'
import type { Path, PathElement } from '../../kube/apply/path-element.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { ownerLabel } from '../../operator/desired.ts'
import type { Target } from './request.ts'

/** Fields that a manager owns and that hold nothing but a value; names of list items and owners are no such. */
export function ownedFields({ metadata }: KubeObject, manager: string): readonly Path[] {
  const entries = (metadata.managedFields ?? []).filter((entry) => entry.manager === manager && !entry.subresource)
  return entries
    .flatMap(({ fieldsV1 }) => Array.from(leavesOf(decodeFields(fieldsV1 as unknown as Json))))
    .filter((path) => isPlain(path))
}

function* leavesOf(set: FieldSet, above: Path = []): Generator<Path> {
  for (const node of set) yield* leavesOfNode(node, [...above, node.element])
}

function* leavesOfNode({ below }: FieldNode, path: Path): Generator<Path> {
  if (below.length === 0) yield path
  else yield* leavesOf(below, path)
}

function isPlain(path: Path): boolean {
  const [first, second, third] = path
  // Whose an object is belongs to nobody's fields: who changes that takes it away.
  if (isField(first, 'metadata') && isField(second, 'ownerReferences')) return false
  if (isField(first, 'metadata') && isField(second, 'labels') && isField(third, ownerLabel)) return false
  const last = path.at(-1)
  const item = path.at(-2)
  if (last?.kind !== 'field') return false
  return !(item?.kind === 'key' && item.fields.some(({ name }) => name === last.name))
}

function isField(element: PathElement | undefined, name: string): boolean {
  return element?.kind === 'field' && element.name === name
}

/** What is at a path, and the same path with the places of list items counted. */
export function locate(object: Json, path: Path): { readonly value: Json; readonly pointer: string } | undefined {
  let value: Json | undefined = object
  let pointer = ''
  for (const element of path) {
    if (element.kind === 'field' && isJsonObject(value)) {
      value = ownMember(value, element.name)
      pointer += `/${element.name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    } else if (element.kind === 'key' && isJsonArray(value)) {
      const index: number = value.findIndex(
        (item) =>
          isJsonObject(item) &&
          element.fields.every(({ name, value: key }) => equalJson(ownMember(item, name) ?? null, key)),
      )
      value = value[index]
      pointer += `/${index}`
    } else return undefined
    if (value === undefined) return undefined
  }
  return { value, pointer }
}

export interface Changed {
  readonly before: Json
  readonly after: Json | undefined
}

/** Changes a field to the first other value that the server takes; undefined when it takes none. */
export async function changeField(
  client: Client,
  { resource, name, namespace }: Target,
  object: UntypedObject,
  path: Path,
  options: { readonly mayRemove: boolean },
): Promise<Changed | undefined> {
  const found = locate(object as unknown as Json, path)
  if (!found) return undefined
  const { value, pointer } = found
  const patches: readonly JsonObject[] = [
    ...otherValues(value).map((other) => ({ op: 'replace', path: pointer, value: other })),
    ...(options.mayRemove ? [{ op: 'remove', path: pointer }] : []),
  ]
  for (const patch of patches) {
    const attempt = async (dryRun: boolean): Promise<UntypedObject> =>
      await client.patch(resource, { name, namespace }, [patch], { type: 'json', dryRun })
    // Some changes are taken and come to nothing: the server writes the value its own way.
    const tried = await attempt(true).catch(() => undefined)
    const after = tried && locate(tried as unknown as Json, path)?.value
    if (!tried || equalJson(after ?? null, value)) continue
    await attempt(false)
    return { before: value, after }
  }
  return undefined
}

export async function writeField(
  client: Client,
  { resource, name, namespace }: Target,
  object: UntypedObject,
  path: Path,
  value: Json,
): Promise<void> {
  const pointer = locate(object as unknown as Json, path)?.pointer
  if (pointer === undefined) return
  await client.patch(resource, { name, namespace }, [{ op: 'replace', path: pointer, value }], { type: 'json' })
}

/** Values of the same type, the likeliest to be taken first. */
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

/** The leaves of a CR's spec, as paths. */
export function specFields({ spec }: UntypedObject): readonly Path[] {
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
