/**
 * Owner references. An object with `metadata.ownerReferences` is garbage-collected when its last owner is deleted; one owner
 * may be its controller.
 *
 * The server does not check that an owner exists or may own the object: with a wrong reference the garbage collector deletes
 * the dependent. So the rules are enforced here, before anything is written.
 */
import { MusterError } from './errors.ts'
import { equalJson } from './json.ts'
import { parseApiVersion } from './kind.ts'
import type { KubeObject, OwnerReference } from './object.ts'

interface OwnerOptions {
  /** Set `controller: true`. @default false */
  readonly controller?: boolean
  /** Set `blockOwnerDeletion`: foreground deletion of the owner waits for this dependent. @default true for a controller */
  readonly blockOwnerDeletion?: boolean
}

/**
 * The owner reference to `owner`. It must come from the server: before that it has no uid.
 * @throws InvalidOwner
 */
export function ownerReference(owner: KubeObject, options: OwnerOptions = {}): OwnerReference {
  const { apiVersion, kind, metadata } = owner
  const { name, uid } = metadata
  if (!name || !uid) throw new MusterError('InvalidOwner', `${nameOf(owner)} has no uid yet: only what exists can own.`)
  if (apiVersion === 'v1' && kind === 'Event') throw new MusterError('InvalidOwner', 'An Event cannot own anything.')
  const { controller = false, blockOwnerDeletion = controller || undefined } = options
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller && { controller }),
    ...(blockOwnerDeletion !== undefined && { blockOwnerDeletion }),
  }
}

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true)
}

/** By uid: an owner that was deleted and recreated under the same name does not own the dependents of the old one. */
export function isOwnedBy(object: KubeObject, owner: KubeObject): boolean {
  const { uid } = owner.metadata
  return uid !== undefined && (object.metadata.ownerReferences?.some((reference) => reference.uid === uid) ?? false)
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return owner.metadata.uid !== undefined && controllerOf(object)?.uid === owner.metadata.uid
}

/**
 * The object, owned by `owner`. A reference to the same owner (by group, kind and name) is replaced; if it is already the
 * same, the same object is returned.
 * @throws InvalidOwner if another controller owns it, or `owner` is in another namespace
 */
export function setOwner<T extends KubeObject>(object: T, owner: KubeObject, options: OwnerOptions = {}): T {
  const reference = ownerReference(owner, options)
  refuseForeignNamespace(object, owner)
  const controller = controllerOf(object)
  if (options.controller && controller && !isSameOwner(controller, reference)) {
    throw new MusterError(
      'InvalidOwner',
      `${nameOf(object)} is controlled by ${controller.kind} ${controller.name} already, not by ${nameOf(owner)}.`,
    )
  }
  const references = object.metadata.ownerReferences ?? []
  const at = references.findIndex((existing) => isSameOwner(existing, reference))
  if (at < 0) return withOwners(object, [...references, reference])
  if (equalJson({ ...references[at] }, { ...reference })) return object
  return withOwners(object, references.with(at, reference))
}

/** The object without `owner` among its owners; the same object if it was not one. */
export function removeOwner<T extends KubeObject>(object: T, owner: KubeObject): T {
  const references = object.metadata.ownerReferences ?? []
  const identity = { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name ?? '' }
  const rest = references.filter((reference) => !isSameOwner(reference, identity))
  return rest.length === references.length ? object : withOwners(object, rest)
}

function withOwners<T extends KubeObject>(object: T, ownerReferences: readonly OwnerReference[]): T {
  return { ...object, metadata: { ...object.metadata, ownerReferences } }
}

type OwnerIdentity = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'>

function isSameOwner(a: OwnerIdentity, b: OwnerIdentity): boolean {
  const sameGroup = parseApiVersion(a.apiVersion).group === parseApiVersion(b.apiVersion).group
  return sameGroup && a.kind === b.kind && a.name === b.name
}

function refuseForeignNamespace(object: KubeObject, owner: KubeObject): void {
  const home = owner.metadata.namespace
  // A cluster-scoped owner may own anything.
  if (!home || home === object.metadata.namespace) return
  const where = object.metadata.namespace ? `namespace ${object.metadata.namespace}` : 'no namespace'
  throw new MusterError('InvalidOwner', `${nameOf(owner)} cannot own ${nameOf(object)}, which is in ${where}.`)
}

function nameOf({ kind, metadata }: KubeObject): string {
  const name = metadata.name ?? metadata.generateName ?? '(unnamed)'
  return metadata.namespace ? `${kind} ${metadata.namespace}/${name}` : `${kind} ${name}`
}
