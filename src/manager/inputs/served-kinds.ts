/**
 * Which kinds the cluster serves. Built-in kinds do not change; custom ones come and go with their CRDs, which are
 * watched, so that an operator whose kinds are missing waits and starts when they appear.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import { isConditionTrue } from '../../kube/meta/condition.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { isCustom } from '../../operator/role.ts'

interface ServedKinds {
  start(): Promise<void>
  serves(resource: Resource): boolean
  stop(): void
}

interface ServedKindsOptions {
  readonly client: Client
  readonly cache: SharedCache
  readonly consumer: string
  /** The kinds in question. */
  readonly resources: readonly Resource[]
  readonly onChange: (resource: Resource) => void
}

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

export function createServedKinds(options: ServedKindsOptions): ServedKinds {
  const { client, cache, consumer, resources, onChange } = options
  const served = new Set<string>()
  let subscription: Subscription<CustomResourceDefinition> | undefined

  const note = (resource: Resource, isServed: boolean): void => {
    const name = formatResource(resource)
    if (served.has(name) === isServed) return
    if (isServed) served.add(name)
    else served.delete(name)
    onChange(resource)
  }

  /** The current CRD; undefined once it is deleted. */
  const look = (name: string, crd: CustomResourceDefinition | undefined): void => {
    for (const resource of resources) {
      if (`${resource.plural}.${resource.group}` !== name) continue
      const version = crd?.spec.versions.find((other) => other.name === resource.version)
      const conditions = crd?.status?.conditions as Parameters<typeof isConditionTrue>[0]
      // A terminating CRD deletes its objects and accepts no new ones.
      const isGoing = crd?.metadata.deletionTimestamp !== undefined
      note(resource, !isGoing && version?.served === true && isConditionTrue(conditions, 'Established'))
    }
  }

  return {
    async start() {
      const found = await Promise.all(resources.map((resource) => client.discovery.resourceFor(resource)))
      for (const [index, resource] of resources.entries()) if (found[index]) served.add(formatResource(resource))
      // Built-in groups never change: an operator that reads only those needs no CRD watch.
      const custom = resources.filter((resource, index) => !found[index] || isCustom(resource))
      if (custom.length === 0) return
      const names = new Set(custom.map(({ plural, group }) => `${plural}.${group}`))
      subscription = cache.subscribe<CustomResourceDefinition>(crds, {
        consumer,
        onEvent: ({ type, object }) => {
          const name = object.metadata.name ?? ''
          if (names.has(name)) look(name, type === 'deleted' ? undefined : object)
        },
      })
      await subscription.synced()
    },
    serves: (resource) => served.has(formatResource(resource)),
    stop: () => subscription?.close(),
  }
}
