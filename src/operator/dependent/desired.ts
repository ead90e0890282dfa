/**
 * The desired object of a dependent, computed from the author's two parts, and its mark: a hash over the fields in
 * scope, stored in an annotation. A change of the desired object shows in the mark, even when it only removes a field;
 * drift of the live object shows in the comparison.
 */
import { hash as digest } from 'node:crypto'
import { mergeValues } from '../../kube/apply/merge.ts'
import { canonicalJson } from '../../kube/apply/canonical.ts'
import { shapeOf } from '../../kube/apply/shape.ts'
import { setMember } from '../../kube/apply/value.ts'
import { builtinDefinitions, builtinResource, builtinSchema } from '../../kube/builtin.ts'
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { formatApiVersion, type Resource } from '../../kube/kind.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { ownerReference } from '../../kube/meta/owner.ts'
import { messageOfKind } from '../../kube/protobuf/table.ts'
import type { Schema } from '../../kube/schema.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { checkConformity, checkScopePaths } from './conformity.ts'
import type { Typing } from './difference.ts'
import { type DesiredDigest, lastMatched } from './drift-memo.ts'
import type { Kind } from '../kind/kind.ts'
import type { ItemContext, Dependent } from './dependent.ts'
import { inHashScope, type HashScope } from './scope.ts'
import type { ObjectName } from '../view/view.ts'

export const hashAnnotation = 'muster.dev/desired'
/** The uid of the owning CR, where an owner reference cannot reach. */
export const ownerLabel = 'muster.dev/owner'
/** The operator that manages the object. Its dependents are watched by this label. */
export const managedByLabel = 'app.kubernetes.io/managed-by'

/** Who shares an object (policy `share`), by operator. */
const sharedDomain = 'shared.muster.dev'

/** The annotation of an operator on an object that it shares. */
export function sharedMark({ operator }: Owner): string {
  return `${sharedDomain}/${operator}`
}

/** The CR whose fields the operator applies: `kyma kyma-system/default`. */
export function sharedMarkValue({ metadata: { name, namespace } }: KubeObject, { controller }: Owner): string {
  return `${controller} ${namespace === undefined ? name : `${namespace}/${name}`}`
}

/** The controller that manages an object. */
export interface Owner {
  readonly operator: string
  readonly controller: string
}

export interface Desired extends DesiredDigest {
  readonly subject: string
  readonly object: UntypedObject
}

/** The author's parts of one object. */
interface AuthorParts {
  readonly initial: UntypedObject | string
  readonly overlay: Json
  readonly name: ObjectName
}

/** If `live` is known to match the author's parts, the desired object is computed only when it is read. */
export function desiredOf<CR extends KubeObject>(
  dependent: Dependent<CR>,
  context: ItemContext<CR, unknown>,
  owner: Owner,
  live: UntypedObject | undefined,
): Desired {
  const subject = subjectOf(dependent, context)
  const parts: AuthorParts = {
    initial: dependent.initial(context),
    overlay: asJson(dependent.overlay(context) ?? {}),
    name: dependent.nameOf(context),
  }
  const sourceDigest = digestOf(dependent, context.cr, owner, parts)
  const matched = live && lastMatched(live)
  const make = (): Pick<Desired, 'object' | 'hash'> => computeDesired(dependent, context, owner, parts)
  if (matched?.sourceDigest !== sourceDigest) return { subject, sourceDigest, ...make() }
  return new MatchedDesired(subject, matched, () => make().object)
}

/** The desired object of a live object that matches it: computed when it is read. */
class MatchedDesired implements Desired {
  readonly subject: string
  readonly sourceDigest: string | undefined
  readonly hash: string
  readonly #make: () => UntypedObject

  constructor(subject: string, { sourceDigest, hash }: DesiredDigest, make: () => UntypedObject) {
    this.subject = subject
    this.sourceDigest = sourceDigest
    this.hash = hash
    this.#make = make
  }

  get object(): UntypedObject {
    return this.#make()
  }
}

/** A digest of everything that the desired object is computed from. */
function digestOf<CR extends KubeObject>(
  { kind, ownership, scope }: Dependent<CR>,
  { metadata }: CR,
  { operator, controller }: Owner,
  { initial, overlay, name }: AuthorParts,
): string {
  const around = [operator, controller, metadata.uid, formatApiVersion(kind), ownership, scope]
  return digest('sha256', JSON.stringify([around, name, initial, overlay]))
}

function computeDesired<CR extends KubeObject>(
  dependent: Dependent<CR>,
  context: ItemContext<CR, unknown>,
  owner: Owner,
  parts: AuthorParts,
): Pick<Desired, 'object' | 'hash'> {
  const { kind, ownership, scope } = dependent
  const { name } = parts
  const subject = subjectOf(dependent, context)
  const typing = typingOf(kind)
  const { schema, definitions } = typing
  const initial = readInitial(dependent, parts.initial, subject)
  const overlay = plain(parts.overlay) as JsonObject
  if (!checkedScopes.has(dependent)) checkScopePaths(scope, kind, typing, `Dependent ${subject}`)
  checkedScopes.add(dependent)
  checkConformity(initial, kind, typing, { of: `Dependent ${subject}`, in: 'initial' })
  checkConformity(overlay, kind, typing, { of: `Dependent ${subject}`, in: 'fromCR' })
  const merged = mergeValues(initial, overlay, shapeOf(schema, definitions)) as JsonObject
  checkIdentity(merged, kind, name, subject)
  // The API server manages these fields; manifests written by tools have `creationTimestamp: null`.
  const { creationTimestamp: _, generation: __, selfLink: ___, ...meta } = membersOf(merged['metadata'])
  if (dependent.policy === 'share') return sharedObject(merged, meta, kind, name, context.cr, owner)
  const labels = {
    ...membersOf(meta['labels']),
    ...(ownership === 'label' && { [ownerLabel]: context.cr.metadata.uid ?? '' }),
  }
  const object: JsonObject = {
    ...foldSecret(withoutStatus(merged, kind), kind),
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: {
      ...meta,
      name: name.name,
      ...(name.namespace !== undefined && { namespace: name.namespace }),
      labels,
      ...(ownership === 'reference' && { ownerReferences: [asJson(ownerReference(context.cr, { controller: true }))] }),
    },
  }
  return marked(withManagedBy(object, owner), scope, markOwner(dependent, context.cr, owner))
}

/** Neither a label nor a hash: the object belongs to others, too. */
function sharedObject(
  merged: JsonObject,
  meta: JsonObject,
  kind: Resource,
  { name, namespace }: ObjectName,
  cr: KubeObject,
  owner: Owner,
): Pick<Desired, 'object' | 'hash'> {
  const annotations = { ...membersOf(meta['annotations']), [sharedMark(owner)]: sharedMarkValue(cr, owner) }
  const object: JsonObject = {
    ...withoutStatus(merged, kind),
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: { ...meta, name, ...(namespace !== undefined && { namespace }), annotations },
  }
  return { hash: desiredHash(object), object: asObject(object) }
}

/** The object with the label by which it is watched, whatever value the author gave it. */
export function withManagedBy(object: JsonObject, { operator }: Owner): JsonObject {
  const metadata = membersOf(object['metadata'])
  const labels = { ...membersOf(metadata['labels']), [managedByLabel]: operator }
  return { ...object, metadata: { ...metadata, labels } }
}

/** Dependents whose scope was checked against their kind: it is the same for every CR. */
const checkedScopes = new WeakSet<object>()

/** `deployment`, or `config[blue]` for one of N. */
export function subjectOf<CR extends KubeObject>(
  { id, isBulk }: Dependent<CR>,
  { key }: ItemContext<CR, unknown>,
): string {
  return isBulk ? `${id}[${key}]` : id
}

/**
 * The owner in an object's mark. Without an owner reference or label it includes the CR: otherwise two CRs would write
 * the object in turns.
 */
export function markOwner<CR extends KubeObject>(
  { ownership }: Pick<Dependent<CR>, 'ownership'>,
  { metadata }: CR,
  { operator, controller }: Owner,
): string {
  const owner = `${operator}.${controller}`
  return ownership === 'none' ? `${owner} ${metadata.namespace ?? ''}/${metadata.name}` : owner
}

/** The object with its mark, computed anew if it had one. */
export function marked(object: JsonObject, scope: HashScope, owner: string): Pick<Desired, 'object' | 'hash'> {
  const { metadata, ...rest } = object
  const { annotations, ...meta } = metadata as JsonObject
  const { [hashAnnotation]: _, ...others } = isJsonObject(annotations) ? annotations : {}
  const bare = { ...rest, metadata: { ...meta, ...(Object.keys(others).length > 0 && { annotations: others }) } }
  const hash = desiredHash(inHashScope(bare, scope))
  const mark = { ...others, [hashAnnotation]: `${owner}:${hash}` }
  return { hash, object: asObject({ ...rest, metadata: { ...meta, annotations: mark } }) }
}

export function desiredHash(value: Json): string {
  return digest('sha256', canonicalJson(value)).slice(0, 32)
}

/** The schema of a kind: from the built-in table, or from its definition. */
export function typingOf(resource: Resource): Typing {
  let typing = typings.get(resource)
  if (!typing) typings.set(resource, (typing = isKind(resource) ? typingOfKind(resource) : builtinTyping(resource)))
  return typing
}

/** `crd()` builds a new CRD on each call, so the typing is cached. */
const typings = new WeakMap<Resource, Typing>()

function typingOfKind(kind: Kind): Typing {
  const { versions } = kind.crd().spec
  const schema = versions.find(({ name }) => name === kind.version)?.schema?.openAPIV3Schema as Schema | undefined
  return { schema, definitions: {} }
}

function builtinTyping(resource: Resource): Typing {
  const schema = builtinSchema(resource)
  if (!schema) return { schema, definitions: {} }
  return {
    schema,
    definitions: builtinDefinitions(),
    message: messageOfKind(formatApiVersion(resource), resource.kind),
  }
}

function isKind(resource: Resource): resource is Kind {
  return 'definition' in resource && 'crd' in resource
}

/** The YAML is the same for every CR of a dependent: it is parsed once. */
const parsedInitials = new WeakMap<object, JsonObject>()

function readInitial(dependent: object, initial: UntypedObject | string, subject: string): JsonObject {
  if (typeof initial !== 'string') return plain(asJson(initial)) as JsonObject
  const parsed = parsedInitials.get(dependent)
  if (parsed) return parsed
  const read = readYaml(initial)
  if (!isJsonObject(read)) {
    throw new MusterError(operatorErrors.InvalidDependent, `Dependent ${subject}: its initial YAML is not an object.`)
  }
  parsedInitials.set(dependent, read)
  return read
}

/** JSON without undefined members: an author may write `image: cr.spec.image` where the CR has none. */
function plain(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.filter((item) => item !== undefined).map(plain)
  if (!isJsonObject(value)) return value ?? null
  const members: Record<string, Json> = {}
  for (const name of Object.keys(value)) if (value[name] !== undefined) setMember(members, name, plain(value[name]))
  return members
}

function checkIdentity(
  { apiVersion, kind, metadata }: JsonObject,
  resource: Resource,
  { name, namespace }: ObjectName,
  subject: string,
): void {
  const given: JsonObject = isJsonObject(metadata) ? metadata : {}
  const pairs: readonly (readonly [string, Json | undefined, string | undefined])[] = [
    ['apiVersion', apiVersion, formatApiVersion(resource)],
    ['kind', kind, resource.kind],
    ['metadata.name', given['name'], name],
    ['metadata.namespace', given['namespace'], namespace],
  ]
  for (const [field, is, should] of pairs) {
    if (is === undefined || is === should) continue
    throw new MusterError(
      operatorErrors.InvalidDependent,
      `Dependent ${subject}: ${field} is ${JSON.stringify(is)} in its data and ${JSON.stringify(should)} by its definition. Leave it out of the data, or set it with name and namespace.`,
    )
  }
}

function membersOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** If status is a subresource, the API server ignores it in every other write: it would be drift for ever. */
function withoutStatus(object: JsonObject, kind: Resource): JsonObject {
  if (object['status'] === undefined) return object
  const isIgnored = isKind(kind) || builtinResource(kind)?.subresources.some(({ name }) => name === 'status')
  if (!isIgnored) return object
  const { status: _, ...rest } = object
  return rest
}

/** The API server stores `stringData` as `data`: desired as `stringData`, it would be drift for ever. */
function foldSecret(object: JsonObject, { group, kind }: Resource): JsonObject {
  if (group !== '' || kind !== 'Secret' || !isJsonObject(object['stringData'])) return object
  const { stringData, data, ...rest } = object
  const texts = Object.entries(stringData as Readonly<Record<string, string>>)
  const encoded = texts.map(([name, text]) => [name, Buffer.from(text).toString('base64')] as const)
  return { ...rest, data: { ...(isJsonObject(data) ? data : {}), ...Object.fromEntries(encoded) } }
}
