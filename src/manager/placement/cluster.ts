/**
 * A cluster as a host needs it: a client and a shared cache. Placement is wrapping: several clusters in their roles
 * look like one cluster, and so does a part of one under other names. The host of an operator cannot tell the
 * difference.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { mappedCache } from './mapped-cache.ts'
import { mappedClient } from './mapped-client.ts'
import { objectMap } from './mapped-object.ts'
import type { NameMap } from './name-map.ts'

export interface Cluster {
  readonly name: string
  readonly client: Client
  readonly cache: SharedCache
}

/** The part of a cluster that a name map covers, under the operator's names. */
export function mapNames(cluster: Cluster, names: NameMap): Cluster {
  const map = objectMap(names)
  return {
    name: `${cluster.name}/${names.name}`,
    client: mappedClient(cluster.client, map),
    cache: mappedCache(cluster.cache, map),
  }
}

/** The same cluster with the operator's identity: all requests except the caches' own reads use this client. */
export function actingOn({ name, cache }: Cluster, client: Client): Cluster {
  return { name, client, cache: { ...cache, writer: (consumer, through = client) => cache.writer(consumer, through) } }
}
