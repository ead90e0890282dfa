/**
 * A cluster, as a host needs it: a client and a shared cache. Placing is wrapping: several clusters in their roles are one
 * cluster again, and so is a part of one under other names. Whoever runs an operator on it cannot tell.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { mappedCache } from './mapped-cache.ts'
import { mappedClient } from './mapped-client.ts'
import { objectMap } from './mapped-object.ts'
import type { NameMap } from './name-map.ts'

export interface TargetCluster {
  readonly name: string
  readonly client: Client
  readonly cache: SharedCache
}

/** The part of a cluster that a name map covers, under the names that the operator knows. */
export function mapNames(cluster: TargetCluster, names: NameMap): TargetCluster {
  const map = objectMap(names)
  return {
    name: `${cluster.name}/${names.name}`,
    client: mappedClient(cluster.client, map),
    cache: mappedCache(cluster.cache, map),
  }
}

/** The same cluster, where everything but the caches' own reads is done by another client: that of the operator's identity. */
export function actingOn({ name, cache }: TargetCluster, client: Client): TargetCluster {
  return { name, client, cache: { ...cache, writer: (consumer, through = client) => cache.writer(consumer, through) } }
}
