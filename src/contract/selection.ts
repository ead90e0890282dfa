/**
 * Which objects a resource list means: by name, by the prefix of generated names, by labels, whole kinds, and those that other
 * objects name. Pure: it is the same for a directory and for a cache.
 */
import { compileJsonPath, selectJson, selectJsonPairs } from '../kube/json-path.ts'
import type { Json } from '../kube/json.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { ResourceType } from './mutation.ts'
import type { ExactResource, KindResource, ResourceList, ResourceReference } from './resource-list.ts'

/** All objects of a resource; the version does not matter. */
export type Pool = (type: Pick<ResourceType, 'group' | 'resource'>) => readonly UntypedObject[]

/** Each once, by its resource. */
export type Selected = ReadonlyMap<string, { readonly type: ResourceType; readonly objects: readonly UntypedObject[] }>

export function selectObjects(list: ResourceList, pool: Pool): Selected {
  const found = new Map<string, { readonly type: ResourceType; readonly objects: Set<UntypedObject> }>()
  const take = (type: ResourceType, objects: readonly UntypedObject[]): boolean => {
    const key = keyOf(type)
    if (!found.has(key)) found.set(key, { type: typeOnly(type), objects: new Set() })
    const kept = found.get(key)!.objects
    const before = kept.size
    for (const object of objects) kept.add(object)
    return kept.size > before
  }
  const where = (
    type: ResourceType & { readonly namespace?: string },
    isIt: (object: KubeObject) => boolean,
  ): boolean =>
    take(
      type,
      pool(type).filter((object) => isIn(object, type.namespace) && isIt(object)),
    )

  for (const entry of list.exactResources ?? []) {
    where(
      entry,
      ({ metadata }) => metadata.name === entry.name && (metadata.namespace ?? '') === (entry.namespace ?? ''),
    )
  }
  for (const entry of list.generatedNameResources ?? []) {
    where(entry, ({ metadata }) => metadata.name?.startsWith(entry.name) ?? false)
  }
  for (const entry of list.labelSelectedResources ?? []) {
    const labels = Object.entries(entry.labelSelector.matchLabels ?? {})
    where(entry, ({ metadata }) => labels.every(([key, value]) => metadata.labels?.[key] === value))
  }
  for (const entry of list.kindResources ?? []) where(entry, () => true)

  // What is referred to may refer to more: until there is nothing new.
  const references = list.resourceReferences ?? []
  for (const { referringResource } of references) if (isExact(referringResource)) takeExact(referringResource)
  let isMore = true
  while (isMore) {
    isMore = false
    for (const reference of references) {
      const referring = [...(found.get(keyOf(reference.referringResource))?.objects ?? [])].filter((object) =>
        isReferring(object, reference.referringResource),
      )
      for (const object of referring) if (follow(reference, object)) isMore = true
    }
  }
  return new Map(
    [...found].map(([key, { type, objects }]) => [key, { type, objects: [...objects].toSorted(byName) }] as const),
  )

  function takeExact(entry: ExactResource): void {
    where(entry, ({ metadata }) => metadata.name === entry.name)
  }

  function follow(reference: ResourceReference, object: UntypedObject): boolean {
    const { implicitNamespacedReference, explicitNamespacedReference, clusterScopedReference } = reference
    const target = implicitNamespacedReference ?? explicitNamespacedReference ?? clusterScopedReference
    if (!target) return false
    const named = namesIn(reference, object as unknown as Json)
    const isNamed = ({ metadata }: KubeObject): boolean =>
      named.some(({ namespace, name }) => metadata.name === name && (metadata.namespace ?? '') === (namespace ?? ''))
    return take(target, pool(target).filter(isNamed))
  }
}

interface Named {
  readonly namespace: string | undefined
  readonly name: string
}

/** A path that finds nothing refers to nothing: keys may be optional. */
function namesIn(reference: ResourceReference, object: Json): readonly Named[] {
  const { implicitNamespacedReference: implicit, explicitNamespacedReference: explicit } = reference
  if (explicit) {
    const paths = [compileJsonPath(explicit.namespaceJSONPath), compileJsonPath(explicit.nameJSONPath)] as const
    return selectJsonPairs(...paths, object).flatMap(([namespace, name]) =>
      typeof namespace === 'string' && typeof name === 'string' ? [{ namespace, name }] : [],
    )
  }
  const path = implicit?.nameJSONPath ?? reference.clusterScopedReference?.nameJSONPath ?? '$'
  const names = selectJson(compileJsonPath(path), object).filter((name) => typeof name === 'string')
  return names.map((name) => ({ name, namespace: implicit?.namespace }))
}

function isReferring({ metadata }: KubeObject, referring: ExactResource | KindResource): boolean {
  const isThere = referring.namespace === undefined || metadata.namespace === referring.namespace
  return isThere && (!isExact(referring) || metadata.name === referring.name)
}

function isExact(referring: ExactResource | KindResource): referring is ExactResource {
  return 'name' in referring
}

function isIn({ metadata }: KubeObject, namespace: string | undefined): boolean {
  return namespace === undefined || metadata.namespace === namespace
}

/** `deployments.apps`, `pods.` */
export function keyOf({ group, resource }: Pick<ResourceType, 'group' | 'resource'>): string {
  return `${resource}.${group}`
}

function typeOnly({ group, version, resource }: ResourceType): ResourceType {
  return { group, version, resource }
}

function byName(a: KubeObject, b: KubeObject): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)
  return left! < right! ? -1 : left! > right! ? 1 : 0
}

/** Every resource that a list speaks of, with what leads to it. */
export function typesIn(list: ResourceList): readonly ResourceType[] {
  const all: readonly ResourceType[] = [
    ...(list.exactResources ?? []),
    ...(list.generatedNameResources ?? []),
    ...(list.labelSelectedResources ?? []),
    ...(list.kindResources ?? []),
    ...(list.resourceReferences ?? []).flatMap((reference) =>
      [
        reference.referringResource,
        reference.implicitNamespacedReference,
        reference.explicitNamespacedReference,
        reference.clusterScopedReference,
      ].filter((type) => type !== undefined),
    ),
  ]
  return [...new Map(all.map((type) => [keyOf(type), typeOnly(type)])).values()]
}
