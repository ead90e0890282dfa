/**
 * Objects under other names: translates `metadata.name`, `metadata.namespace` and the names in owner references. The
 * garbage collector looks owners up by name, and would delete a dependent whose owner does not exist. Other references
 * in an object (a Secret that a Deployment mounts) stay as the author wrote them.
 */
import { builtinResource } from '../../kube/builtin.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject } from '../../kube/json.ts'
import { formatResource, kindOf, type Resource } from '../../kube/kind.ts'
import type { KubeObject, OwnerReference } from '../../kube/object.ts'
import type { ObjectName } from '../../operator/view/view.ts'
import type { NameMap } from './name-map.ts'
import { formatName } from './name-pattern.ts'

export interface ObjectMap {
  readonly names: NameMap
  /** @throws NameOutsideMap */
  refToCluster<Name extends ObjectName>(resource: Resource, ref: Name): Name
  /** The same, for a write. @throws NameOutsideMap for shared kinds, too */
  ownRefToCluster<Name extends ObjectName>(resource: Resource, ref: Name): Name
  /** @throws NameOutsideMap */
  toCluster<T extends KubeObject>(resource: Resource, object: T): T
  /** Returns the same result for the same object; undefined for one outside of the map. */
  toOperator<T extends KubeObject>(resource: Resource, object: T): T | undefined
}

export function objectMap(names: NameMap): ObjectMap {
  /** Objects are shared and frozen: translations are cached as long as the object lives. */
  const seen = new WeakMap<KubeObject, KubeObject>()
  /** Kinds seen so far: an owner reference does not say whether its kind is namespaced. */
  const met = new Map<string, Resource>()

  const meet = (resource: Resource): void => void met.set(`${resource.group} ${resource.kind}`, resource)

  const outside = (resource: Resource, ref: ObjectName): MusterError =>
    new MusterError(
      managerErrors.NameOutsideMap,
      `Name map ${names.name} has no rule for ${resource.kind} ${formatName(ref)}.`,
    )

  const refToCluster = <Name extends ObjectName>(resource: Resource, ref: Name): Name => {
    meet(resource)
    const found = names.toCluster(resource, ref)
    if (!found) throw outside(resource, ref)
    return { ...ref, ...found }
  }

  const ownRefToCluster = <Name extends ObjectName>(resource: Resource, ref: Name): Name => {
    if (!names.isShared(resource)) return refToCluster(resource, ref)
    throw new MusterError(
      managerErrors.NameOutsideMap,
      `Name map ${names.name}: ${formatResource(resource)} is shared by all, and ${formatName(ref)} is not for one to change.`,
    )
  }

  const ownersIn = (
    direction: 'toCluster' | 'toOperator',
    namespace: string | undefined,
    owners: readonly OwnerReference[],
  ): readonly OwnerReference[] =>
    owners.map((owner) => {
      const kind = kindOf(owner)
      const resource = met.get(`${kind.group} ${kind.kind}`) ?? builtinResource(kind)
      if (!resource) return owner
      const found = names[direction](
        resource,
        resource.namespaced ? { namespace, name: owner.name } : { name: owner.name },
      )
      return found ? { ...owner, name: found.name } : owner
    })

  const renamed = <T extends KubeObject>(
    object: T,
    direction: 'toCluster' | 'toOperator',
    { namespace, name }: ObjectName,
  ): T => {
    const { ownerReferences, ...metadata } = object.metadata
    return {
      ...object,
      metadata: {
        ...metadata,
        name,
        ...(namespace !== undefined && { namespace }),
        ...(ownerReferences && { ownerReferences: ownersIn(direction, metadata.namespace, ownerReferences) }),
      },
    }
  }

  return {
    names,
    refToCluster,
    ownRefToCluster,
    toCluster(resource, object) {
      const { name = '', namespace } = object.metadata
      const moved = renamed(object, 'toCluster', ownRefToCluster(resource, { name, namespace }))
      return resource.kind === 'Event' ? aboutMapped(moved) : moved
    },
    toOperator<T extends KubeObject>(resource: Resource, object: T): T | undefined {
      const known = seen.get(object)
      if (known) return known as T
      meet(resource)
      const { name = '', namespace } = object.metadata
      const found = names.toOperator(resource, { name, namespace })
      if (!found) return undefined
      const moved = Object.freeze(renamed(object, 'toOperator', found))
      seen.set(object, moved)
      return moved
    },
  }

  /** An Event must be in the namespace of its object. */
  function aboutMapped<T extends KubeObject>(event: T): T {
    const { involvedObject: about } = event as { readonly involvedObject?: unknown }
    if (!isJsonObject(about)) return event
    const { apiVersion, kind, name, namespace } = about as Readonly<Record<string, string | undefined>>
    const { group, kind: met_ } = kindOf({ apiVersion: apiVersion ?? '', kind: kind ?? '' })
    const resource = met.get(`${group} ${met_}`)
    const found = resource && names.toCluster(resource, { name: name ?? '', namespace })
    return found ? { ...event, involvedObject: { ...about, ...found } } : event
  }
}
