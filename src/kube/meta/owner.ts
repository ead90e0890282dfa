/**
 * Owner references. An object with `metadata.ownerReferences` is garbage-collected when its last owner is deleted; one owner
 * may be its controller.
 *
 * The server does not check that an owner exists or may own the object: with a wrong reference the garbage collector deletes
 * the dependent.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { parseApiVersion } from '../kind.ts'
import type { KubeObject, OwnerReference } from '../object.ts'

interface OwnerOptions {
  /** Set `controller: true`, and `blockOwnerDeletion`: foreground deletion of the owner waits for it. @default false */
  readonly controller?: boolean
}

/**
 * The owner reference to `owner`. It must come from the server: before that it has no uid.
 * @throws InvalidOwner
 */
export function ownerReference(owner: KubeObject, { controller = false }: OwnerOptions = {}): OwnerReference {
  const { apiVersion, kind, metadata } = owner
  const { name, uid } = metadata
  if (!name || !uid)
    throw new MusterError(kubeErrors.InvalidOwner, `${nameOf(owner)} has no uid yet: only what exists can own.`)
  if (apiVersion === 'v1' && kind === 'Event')
    throw new MusterError(kubeErrors.InvalidOwner, 'An Event cannot own anything.')
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller && { controller, blockOwnerDeletion: true }),
  }
}

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true)
}

/** By uid: an owner that was deleted and recreated under the same name does not control the dependents of the old one. */
export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return owner.metadata.uid !== undefined && controllerOf(object)?.uid === owner.metadata.uid
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

function nameOf({ kind, metadata }: KubeObject): string {
  const name = metadata.name ?? metadata.generateName ?? '(unnamed)'
  return metadata.namespace ? `${kind} ${metadata.namespace}/${name}` : `${kind} ${name}`
}
