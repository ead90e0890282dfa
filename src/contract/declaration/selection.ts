/**
 * The objects that a resource list selects: by name, by prefix of generated names, by labels, whole kinds, and by
 * reference. Pure: it works on a directory and on a cache.
 */
import { compileJsonPath, selectJson, selectJsonPairs } from '../../kube/json-path.ts'
import type { Json } from '../../kube/json.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { ResourceType } from './mutation.ts'
import type { ExactResource, KindResource, ResourceList, ResourceReference } from './resource-list.ts'

/** All objects of a resource; the version does not matter. */
export type Pool = (type: Pick<ResourceType, 'group' | 'resource'>) => readonly UntypedObject[]

/** Each once, by its resource. */
export type Selected = ReadonlyMap<string, { readonly type: ResourceType; readonly objects: readonly UntypedObject[] }>

/** Whether the list may select the object by itself. Of a reference only the referring objects are. */
export function mayBeSelected(
  list: ResourceList,
  type: Pick<ResourceType, 'group' | 'resource'>,
  object: KubeObject,
): boolean {
  const key = selectionKey(type)
  const { name = '', labels } = object.metadata
  const isOne = (entry: ResourceType & { readonly namespace?: string }): boolean =>
    selectionKey(entry) === key && isIn(object, entry.namespace)
  return (
    (list.exactResources ?? []).some((entry) => isOne(entry) && entry.name === name) ||
    (list.generatedNameResources ?? []).some((entry) => isOne(entry) && name.startsWith(entry.name)) ||
    (list.labelSelectedResources ?? []).some(
      (entry) => isOne(entry) && hasLabels(labels, entry.labelSelector.matchLabels ?? {}),
    ) ||
    (list.kindResources ?? []).some(isOne) ||
    (list.resourceReferences ?? []).some(
      ({ referringResource }) =>
        isOne(referringResource) && isExact(referringResource) && isReferring(object, referringResource),
    )
  )
}

/**
 * By resource: strings that a file must contain to be relevant, all of one of the lists. Names and label values are
 * written literally in every format, so most of a large file can be skipped without parsing.
 */
export type Clues = ReadonlyMap<string, readonly (readonly string[])[]>

export function cluesOf(list: ResourceList): Clues {
  const clues = new Map<string, (readonly string[])[]>()
  const add = (type: ResourceType, words: readonly string[]): void => {
    const key = selectionKey(type)
    if (!clues.has(key)) clues.set(key, [])
    clues.get(key)!.push(words)
  }
  for (const entry of list.exactResources ?? []) add(entry, [entry.name])
  for (const entry of list.generatedNameResources ?? []) add(entry, [entry.name])
  for (const entry of list.labelSelectedResources ?? []) {
    add(entry, Object.values(entry.labelSelector.matchLabels ?? {}))
  }
  for (const entry of list.kindResources ?? []) add(entry, [])
  for (const { referringResource } of list.resourceReferences ?? []) {
    if (isExact(referringResource)) add(referringResource, [referringResource.name])
  }
  return clues
}

/** The resources that objects refer to, with `namespace/name` of the targets. */
export function referredTo(list: ResourceList, pool: Pool): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const reference of list.resourceReferences ?? []) {
    const target = targetOf(reference)
    if (!target) continue
    const names = found.get(selectionKey(target)) ?? new Set()
    found.set(selectionKey(target), names)
    for (const object of pool(reference.referringResource)) {
      if (!isReferring(object, reference.referringResource)) continue
      for (const { namespace = '', name } of namesIn(reference, object as unknown as Json)) {
        names.add(`${namespace}/${name}`)
      }
    }
  }
  return found
}

export function selectObjects(list: ResourceList, pool: Pool): Selected {
  const found = new Map<string, { readonly type: ResourceType; readonly objects: Set<UntypedObject> }>()
  const take = (type: ResourceType, objects: readonly UntypedObject[]): boolean => {
    const key = selectionKey(type)
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
    where(entry, ({ metadata }) => hasLabels(metadata.labels, entry.labelSelector.matchLabels ?? {}))
  }
  for (const entry of list.kindResources ?? []) where(entry, () => true)

  // A target may refer to further objects: repeat until there is nothing new.
  const references = list.resourceReferences ?? []
  for (const { referringResource } of references) if (isExact(referringResource)) takeExact(referringResource)
  let isMore = true
  while (isMore) {
    isMore = false
    for (const reference of references) {
      const referring = [...(found.get(selectionKey(reference.referringResource))?.objects ?? [])].filter((object) =>
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
    const target = targetOf(reference)
    if (!target) return false
    const named = namesIn(reference, object as unknown as Json)
    const isNamed = ({ metadata }: KubeObject): boolean =>
      named.some(({ namespace, name }) => metadata.name === name && (metadata.namespace ?? '') === (namespace ?? ''))
    return take(target, pool(target).filter(isNamed))
  }
}

function targetOf(reference: ResourceReference): ResourceType | undefined {
  const { implicitNamespacedReference, explicitNamespacedReference, clusterScopedReference } = reference
  return implicitNamespacedReference ?? explicitNamespacedReference ?? clusterScopedReference
}

function hasLabels(
  labels: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([key, value]) => labels?.[key] === value)
}

interface Named {
  readonly namespace: string | undefined
  readonly name: string
}

/** A path without a result is no reference: the field may be optional. */
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
export function selectionKey({ group, resource }: Pick<ResourceType, 'group' | 'resource'>): string {
  return `${resource}.${group}`
}

function typeOnly({ group, version, resource }: ResourceType): ResourceType {
  return { group, version, resource }
}

function byName(a: KubeObject, b: KubeObject): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)
  return left! < right! ? -1 : left! > right! ? 1 : 0
}

/** All resources of a list, including those that references start from. */
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
  return [...new Map(all.map((type) => [selectionKey(type), typeOnly(type)])).values()]
}
