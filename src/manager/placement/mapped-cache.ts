/** A shared cache under other names: reads are translated to the operator's names, writes to those of the cluster. */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { CacheEvent, IndexFunction, Subscription } from '../../cache/subscription.ts'
import type { Writer } from '../../cache/writer.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, Status } from '../../kube/object.ts'
import { formatFields, parseFields } from '../../kube/selector/selector.ts'
import type { ObjectMap } from './mapped-object.ts'

export function mappedCache(cache: SharedCache, map: ObjectMap): SharedCache {
  const { names } = map
  const open = new Set<{ close(): void }>()
  // One consumer per hosted cluster: each is notified of the other's writes.
  const consumerOf = (consumer: string): string => `${consumer}@${names.name}`

  return {
    subscribe<T extends KubeObject>(resource: Resource, options: Parameters<SharedCache['subscribe']>[1]) {
      // Name prefixes differ there: the prefix is dropped, and the map filters instead.
      const { onEvent, indexes = {}, fields, namespaces, namePrefix: _, ...rest } = options
      const only = fields === undefined ? undefined : refToOne(resource, namespaces, fields)
      const within = only ? only.namespaces : names.namespacesFor(resource, namespaces)
      const inner = cache.subscribe(resource, {
        ...rest,
        consumer: consumerOf(options.consumer),
        namespaces: within,
        ...(only && { fields: only.fields }),
        indexes: Object.fromEntries(
          Object.entries(indexes).map(([name, keysOf]) => [name, mappedIndex(keysOf, resource, map)]),
        ),
        ...(onEvent && {
          onEvent(event) {
            const mapped = mappedEvent(event, resource, map)
            if (mapped) onEvent(mapped)
          },
        }),
      })
      const subscription = mappedSubscription(inner, resource, map, () => open.delete(subscription))
      open.add(subscription)
      return subscription as unknown as Subscription<T>
    },
    writer: (consumer, through) => mappedWriter(cache.writer(consumerOf(consumer), through), map),
    report: () => cache.report(),
    // The cache is shared.
    close() {
      for (const subscription of open) subscription.close()
    },
  }

  /** A field selector for a single object is translated to its name there. Other fields are not mapped. */
  function refToOne(
    resource: Resource,
    namespaces: readonly string[] | undefined,
    fields: string,
  ): { readonly namespaces: readonly string[] | undefined; readonly fields: string } {
    const [field, ...others] = parseFields(fields)
    const isName = field?.path === 'metadata.name' && field.operator === '=' && others.length === 0
    if (!isName || (resource.namespaced && namespaces?.length !== 1)) {
      throw new MusterError(
        managerErrors.InvalidNameMap,
        `Name map ${names.name}: ${formatResource(resource)} cannot be selected by fields other than metadata.name.`,
      )
    }
    const { namespace, name } = map.refToCluster(resource, { namespace: namespaces?.[0], name: field.value })
    return {
      namespaces: namespace === undefined ? undefined : [namespace],
      fields: formatFields([{ path: 'metadata.name', operator: '=', value: name }]),
    }
  }
}

function mappedSubscription(
  inner: Subscription,
  resource: Resource,
  map: ObjectMap,
  onClose: () => void,
): Subscription {
  const seen = <T extends KubeObject>(objects: readonly T[]): readonly T[] =>
    objects.flatMap((object) => map.toOperator(resource, object) ?? [])
  return {
    resource,
    consumer: inner.consumer,
    get freshness() {
      return inner.freshness
    },
    get(ref) {
      const found = inner.get(map.refToCluster(resource, ref))
      return found && map.toOperator(resource, found)
    },
    list(namespace) {
      if (namespace === undefined || !resource.namespaced) return seen(inner.list())
      const places = map.names.namespacesFor(resource, [namespace]) ?? []
      return places
        .flatMap((place) => seen(inner.list(place)))
        .filter((object) => object.metadata.namespace === namespace)
    },
    byOwner: (uid) => seen(inner.byOwner(uid)),
    byIndex: (index, key) => seen(inner.byIndex(index, key)),
    synced: (options) => inner.synced(options),
    close() {
      inner.close()
      onClose()
    },
  }
}

function mappedIndex<T extends KubeObject>(
  keysOf: IndexFunction<T>,
  resource: Resource,
  map: ObjectMap,
): IndexFunction<T> {
  return (object) => {
    const seen = map.toOperator(resource, object)
    return seen ? keysOf(seen) : []
  }
}

function mappedEvent<T extends KubeObject>(
  event: CacheEvent<T>,
  resource: Resource,
  map: ObjectMap,
): CacheEvent<T> | undefined {
  const object = map.toOperator(resource, event.object)
  if (!object) return undefined
  if (event.type !== 'updated') return { ...event, object }
  const previous = map.toOperator(resource, event.previous)
  return previous && { ...event, object, previous }
}

function mappedWriter(writer: Writer, map: ObjectMap): Writer {
  const back = <T extends KubeObject>(resource: Resource, answer: T): T => map.toOperator(resource, answer) ?? answer
  return {
    async create(resource, object, options) {
      return back(resource, await writer.create(resource, map.toCluster(resource, object), options))
    },
    async update(resource, object, options) {
      return back(resource, await writer.update(resource, map.toCluster(resource, object), options))
    },
    async apply(resource, object, options) {
      return back(resource, await writer.apply(resource, map.toCluster(resource, object), options))
    },
    async patch(resource, ref, patch, options) {
      return back(resource, await writer.patch(resource, map.ownRefToCluster(resource, ref), patch, options))
    },
    async delete<T extends KubeObject>(
      resource: Resource,
      ref: Parameters<Writer['delete']>[1],
      options?: Parameters<Writer['delete']>[2],
    ) {
      const answer: T | Status = await writer.delete<T>(resource, map.ownRefToCluster(resource, ref), options)
      return answer.kind === 'Status' ? answer : back(resource, answer as T)
    },
    setScale: (resource, ref, replicas, options) =>
      writer.setScale(resource, map.ownRefToCluster(resource, ref), replicas, options),
    evict: (pod, options) => writer.evict(map.ownRefToCluster(pods, pod), options),
  }
}

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
