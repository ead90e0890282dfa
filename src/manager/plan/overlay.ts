/** The live objects with the assumed writes on top: later waves and other controllers read them. */
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { ObjectName, ViewSource } from '../../operator/view/view.ts'

interface DryRunOverlay extends ViewSource {
  write(resource: Resource, name: ObjectName, object: UntypedObject | undefined): void
}

export function overlayOn(base: ViewSource): DryRunOverlay {
  /** By kind, then by name; undefined: deleted. */
  const written = new Map<string, Map<string, KubeObject | undefined>>()
  const of = (resource: Resource): ReadonlyMap<string, KubeObject | undefined> =>
    written.get(formatResource(resource)) ?? none

  const laidOver = (
    resource: Resource,
    objects: readonly KubeObject[],
    isWanted: (object: KubeObject) => boolean,
  ): readonly KubeObject[] => {
    const over = of(resource)
    if (over.size === 0) return objects
    const kept = objects.filter(({ metadata }) => !over.has(overlayKey(metadata)))
    const added = [...over.values()].filter((object): object is KubeObject => object !== undefined && isWanted(object))
    return [...kept, ...added]
  }

  return {
    get(resource, name) {
      const over = of(resource)
      const key = overlayKey(name)
      return over.has(key) ? over.get(key) : base.get(resource, name)
    },
    list: (resource, namespace) =>
      laidOver(
        resource,
        base.list(resource, namespace),
        ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
      ),
    byOwner: (resource, uid) =>
      laidOver(
        resource,
        base.byOwner(resource, uid),
        ({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false,
      ),
    serves: (resource) => base.serves(resource),
    write(resource, name, object) {
      const kind = formatResource(resource)
      if (!written.has(kind)) written.set(kind, new Map())
      written.get(kind)!.set(overlayKey(name), object)
    },
  }
}

const none: ReadonlyMap<string, KubeObject | undefined> = new Map()

/** A Map and not an object, since `constructor` may be a name. */
export function overlayKey({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}): string {
  return `${namespace}/${name}`
}
