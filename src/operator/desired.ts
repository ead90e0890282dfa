/**
 * What a resource shall look like, worked out from its author's two parts, and the mark by which it is known again: a
 * hash over what is in scope, kept in an annotation. A change of what is wanted shows in the mark, even where it only
 * takes something away; a change of what is there shows in the comparison.
 */
import { hash as digest } from 'node:crypto'
import { mergeValues } from '../kube/apply/merge.ts'
import { canonicalJson } from '../kube/apply/canonical.ts'
import { shapeOf } from '../kube/apply/shape.ts'
import { setMember } from '../kube/apply/value.ts'
import { builtinDefinitions, builtinResource, builtinSchema } from '../kube/builtin.ts'
import { MusterError } from '../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { formatApiVersion, type Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import { ownerReference } from '../kube/owner.ts'
import { messageOfKind } from '../kube/protobuf/table.ts'
import { noRecall, type Recall } from '../kube/recall.ts'
import type { Schema } from '../kube/schema.ts'
import { readYaml } from '../kube/yaml.ts'
import { checkConformity, checkScopePaths } from './conformity.ts'
import type { Typing } from './difference.ts'
import { type HeldFields, heldBy } from './holding.ts'
import type { Kind } from './kind.ts'
import type { ItemContext, Dependent } from './dependent.ts'
import { inHashScope, type HashScope } from './scope.ts'
import type { ObjectName } from './view.ts'

export const hashAnnotation = 'muster.dev/desired'
/** Whose object it is, where an owner reference cannot say it: the uid of the CR. */
export const ownerLabel = 'muster.dev/owner'
/** By which operator it is kept. */
export const managedByLabel = 'app.kubernetes.io/managed-by'

/** Who wants it. */
export interface Owner {
  readonly operator: string
  readonly controller: string
}

export interface Desired extends HeldFields {
  readonly subject: string
  readonly object: UntypedObject
}

/** What an author says of one object. */
interface Said {
  readonly initial: UntypedObject | string
  readonly overlay: Json
  readonly name: ObjectName
}

/** `live`: what is there. Where it is known to hold what is said, the object is made only for those who look at it. */
export function desiredOf<CR extends KubeObject>(
  resource: Dependent<CR>,
  context: ItemContext<CR, unknown>,
  owner: Owner,
  live: UntypedObject | undefined,
  recall: Recall = noRecall,
): Desired {
  const subject = subjectOf(resource, context)
  const said: Said = {
    initial: resource.initial(context),
    overlay: (resource.overlay(context) ?? {}) as unknown as Json,
    name: resource.nameOf(context),
  }
  const words = wordsOf(resource, context.cr, owner, said)
  const held = live && heldBy(live)
  const make = (): Pick<Desired, 'object' | 'hash'> =>
    recall(
      () => `desired ${resource.kind.kind} ${context.cr.metadata.namespace}/${context.cr.metadata.name} ${words}`,
      () => workOut(resource, context, owner, said),
    )
  if (held?.words !== words) return { subject, words, ...make() }
  return new HeldDesired(subject, held, () => make().object)
}

/** What is there already: its object is made when somebody looks at it. */
class HeldDesired implements Desired {
  readonly subject: string
  readonly words: string | undefined
  readonly hash: string
  readonly #make: () => UntypedObject

  constructor(subject: string, { words, hash }: HeldFields, make: () => UntypedObject) {
    this.subject = subject
    this.words = words
    this.hash = hash
    this.#make = make
  }

  get object(): UntypedObject {
    return this.#make()
  }
}

/** All that an object is made of, digested. */
function wordsOf<CR extends KubeObject>(
  { kind, ownership, scope }: Dependent<CR>,
  { metadata }: CR,
  { operator, controller }: Owner,
  { initial, overlay, name }: Said,
): string {
  const around = [operator, controller, metadata.uid, formatApiVersion(kind), ownership, scope]
  return digest('sha256', JSON.stringify([around, name, initial, overlay]))
}

function workOut<CR extends KubeObject>(
  resource: Dependent<CR>,
  context: ItemContext<CR, unknown>,
  owner: Owner,
  said: Said,
): Pick<Desired, 'object' | 'hash'> {
  const { kind, ownership, scope } = resource
  const { name } = said
  const subject = subjectOf(resource, context)
  const typing = typingOf(kind)
  const { schema, definitions } = typing
  const initial = readInitial(resource, said.initial, subject)
  const overlay = plain(said.overlay) as JsonObject
  if (!checked.has(resource)) checkScopePaths(scope, kind, typing, `Resource ${subject}`)
  checked.add(resource)
  checkConformity(initial, kind, typing, { of: `Resource ${subject}`, in: 'initial' })
  checkConformity(overlay, kind, typing, { of: `Resource ${subject}`, in: 'fromCR' })
  const merged = mergeValues(initial, overlay, shapeOf(schema, definitions)) as JsonObject
  checkIdentity(merged, kind, name, subject)
  // The server keeps these itself, whatever it is sent: manifests that tools write have `creationTimestamp: null`.
  const { creationTimestamp: _, generation: __, selfLink: ___, ...meta } = asObject(merged['metadata'])
  const labels = {
    [managedByLabel]: owner.operator,
    ...(ownership === 'label' && { [ownerLabel]: context.cr.metadata.uid ?? '' }),
    ...asObject(meta['labels']),
  }
  const object = {
    ...foldSecret(withoutStatus(merged, kind), kind),
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: {
      ...meta,
      name: name.name,
      ...(name.namespace !== undefined && { namespace: name.namespace }),
      labels,
      ...(ownership === 'reference' && { ownerReferences: [ownerReference(context.cr, { controller: true })] }),
    },
  } as unknown as JsonObject
  return marked(object, scope, markOwner(resource, context.cr, owner))
}

/** Resources whose scope fits their kind: it is the same for every CR. */
const checked = new WeakSet<object>()

/** `deployment`, or `config[blue]` for one of N. */
export function subjectOf<CR extends KubeObject>(
  { id, isBulk }: Dependent<CR>,
  { key }: ItemContext<CR, unknown>,
): string {
  return isBulk ? `${id}[${key}]` : id
}

/** Who an object says it is kept by. Where nothing else says for which CR, this does: two would write it in turns. */
export function markOwner<CR extends KubeObject>(
  { ownership }: Pick<Dependent<CR>, 'ownership'>,
  { metadata }: CR,
  { operator, controller }: Owner,
): string {
  const owner = `${operator}.${controller}`
  return ownership === 'none' ? `${owner} ${metadata.namespace ?? ''}/${metadata.name}` : owner
}

/** The object with its mark, made anew where it had one. */
export function marked(object: JsonObject, scope: HashScope, owner: string): Pick<Desired, 'object' | 'hash'> {
  const { metadata, ...rest } = object
  const { annotations, ...meta } = metadata as JsonObject
  const { [hashAnnotation]: _, ...others } = isJsonObject(annotations) ? annotations : {}
  const bare = { ...rest, metadata: { ...meta, ...(Object.keys(others).length > 0 && { annotations: others }) } }
  const hash = desiredHash(inHashScope(bare, scope))
  const mark = { ...others, [hashAnnotation]: `${owner}:${hash}` }
  return { hash, object: { ...rest, metadata: { ...meta, annotations: mark } } as unknown as UntypedObject }
}

export function desiredHash(value: Json): string {
  return digest('sha256', canonicalJson(value)).slice(0, 32)
}

/** What is known about the objects of a kind: the built-in table, or the kind's own definition. */
export function typingOf(resource: Resource): Typing {
  let typing = typings.get(resource)
  if (!typing) typings.set(resource, (typing = isKind(resource) ? typingOfKind(resource) : builtinTyping(resource)))
  return typing
}

/** A CRD is made anew each time it is asked for; what follows from it here is kept. */
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

/** YAML is the same for every CR of a resource: it is read once. */
const readBefore = new WeakMap<object, JsonObject>()

function readInitial(resource: object, initial: UntypedObject | string, subject: string): JsonObject {
  if (typeof initial !== 'string') return plain(initial as unknown as Json) as JsonObject
  const before = readBefore.get(resource)
  if (before) return before
  const read = readYaml(initial)
  if (!isJsonObject(read)) {
    throw new MusterError('InvalidResource', `Resource ${subject}: its initial YAML is not an object.`)
  }
  readBefore.set(resource, read)
  return read
}

/** JSON without what is undefined: an author may well write `image: cr.spec.image` where there is none. */
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
  const told: JsonObject = isJsonObject(metadata) ? metadata : {}
  const pairs: readonly (readonly [string, Json | undefined, string | undefined])[] = [
    ['apiVersion', apiVersion, formatApiVersion(resource)],
    ['kind', kind, resource.kind],
    ['metadata.name', told['name'], name],
    ['metadata.namespace', told['namespace'], namespace],
  ]
  for (const [field, is, should] of pairs) {
    if (is === undefined || is === should) continue
    throw new MusterError(
      'InvalidResource',
      `Resource ${subject}: ${field} is ${JSON.stringify(is)} in its data and ${JSON.stringify(should)} by its definition. Leave it out of the data, or say it with name and namespace.`,
    )
  }
}

function asObject(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** Where status is a subresource the server ignores it in every other write: desired, it could never be read back. */
function withoutStatus(object: JsonObject, kind: Resource): JsonObject {
  if (object['status'] === undefined) return object
  const isIgnored = isKind(kind) || builtinResource(kind)?.subresources.some(({ name }) => name === 'status')
  if (!isIgnored) return object
  const { status: _, ...rest } = object
  return rest
}

/** Servers keep Secrets as `data` alone: text in `stringData` would never be found again. */
function foldSecret(object: JsonObject, { group, kind }: Resource): JsonObject {
  if (group !== '' || kind !== 'Secret' || !isJsonObject(object['stringData'])) return object
  const { stringData, data, ...rest } = object
  const texts = Object.entries(stringData as Readonly<Record<string, string>>)
  const encoded = texts.map(([name, text]) => [name, Buffer.from(text).toString('base64')] as const)
  return { ...rest, data: { ...(isJsonObject(data) ? data : {}), ...Object.fromEntries(encoded) } }
}
