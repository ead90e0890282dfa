/**
 * The clusters of a manager, by the names that its settings give them: each is connected to when the first operator needs
 * it, has one cache for all, and goes with the manager.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import { createSharedCache, type FeedReport, type SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import type { Credentials } from '../../client/connection.ts'
import { createClient } from '../../client/create-client.ts'
import { MusterError } from '../../kube/errors.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { Operator } from '../../operator/operator.ts'
import { type ClusterSettings, localCluster, type PlacementSettings, type Settings } from '../config/settings.ts'
import type { IdentitySettings } from '../config/operator-settings.ts'
import { nameMapOf, objectNameOf } from '../config/options-of.ts'
import { actingAs, impersonationOf, mintedCredentials } from '../identity.ts'
import { actingOn, type Cluster, mapNames } from '../placement/cluster.ts'
import { checkApart, type NameMap } from '../placement/name-map.ts'
import { place } from '../placement/placement.ts'

/** A cluster that was reached. */
export interface Reached {
  readonly client: Client
  /** The same cluster, as somebody else. */
  as(credentials: Credentials): Client
}

export interface ClustersOptions {
  readonly clock: Clock
  readonly random: Random
  /** The cluster of `clientConnection`. */
  readonly local: Reached
  /** How the others are reached; `local` to look for Secrets in. */
  readonly reach: (name: string, settings: ClusterSettings, local: Client) => Promise<Reached>
  /** A cache that cannot be kept fresh, and why. */
  readonly onStale: (cluster: string, resource: Resource, reason: string) => void
}

export interface Clusters {
  readonly local: Cluster
  /** Where an operator works: `at` is a cluster, a hosted cluster, or undefined for what the placement says. */
  clusterFor(operator: Operator, settings: Settings, at: string | undefined): Promise<Cluster>
  /** Of those that were connected to. */
  reports(): readonly (readonly [cluster: string, feeds: readonly FeedReport[]])[]
  close(): Promise<void>
}

interface Known {
  readonly cluster: Cluster
  readonly reached: Reached
}

export function createClusters({ clock, random, local, reach, onStale }: ClustersOptions): Clusters {
  const home = known(localCluster, local)
  const connected = new Set([home])
  /** By name and how it is reached: one whose settings have changed is another. */
  const others = new Map<string, Promise<Known>>()
  const identities = new Map<string, Client>()

  function known(name: string, reached: Reached): Known {
    const { client } = reached
    const cache = createSharedCache({ client, clock, random })
    return { reached, cluster: { name, client, cache: telling(cache, (...told) => onStale(name, ...told)) } }
  }

  async function named(name: string, { clusters }: Settings): Promise<Known> {
    const settings = Object.hasOwn(clusters, name) ? clusters[name] : undefined
    if (!settings) {
      if (name === localCluster) return home
      throw new MusterError('InvalidConfiguration', `There is no cluster ${name} in the settings.`)
    }
    const id = JSON.stringify([name, settings])
    let found = others.get(id)
    if (!found) {
      found = reach(name, settings, local.client).then((reached) => {
        const one = known(name, reached)
        connected.add(one)
        return one
      })
      others.set(id, found)
      // What cannot be reached now may be later.
      found.catch(() => others.delete(id))
    }
    return await found
  }

  /** The cluster, where the operator writes as its own account. */
  function as({ cluster, reached }: Known, { serviceAccount, by }: IdentitySettings): Cluster {
    if (serviceAccount === undefined) return cluster
    const id = [cluster.name, serviceAccount, by].join(' ')
    let client = identities.get(id)
    if (!client) {
      const account = objectNameOf(serviceAccount)
      client =
        by === 'token'
          ? reached.as(mintedCredentials({ client: reached.client, clock, serviceAccount: account }))
          : createClient({ transport: actingAs(reached.client.transport, impersonationOf(account)), clock, random })
      identities.set(id, client)
    }
    return actingOn(cluster, client)
  }

  return {
    local: home.cluster,
    async clusterFor(operator, settings, at) {
      const { identity } = settings.operators[operator.name] ?? { identity: { by: 'impersonation' } as const }
      const of = async (name: string): Promise<Cluster> => as(await named(name, settings), identity)
      const { configuration, management, userWorkload, hosted } = settings.placement
      if (at === undefined) {
        return place(operator, {
          configuration: await of(configuration),
          management: await of(management),
          userWorkload: await of(userWorkload),
        })
      }
      if (!Object.hasOwn(hosted, at)) return await of(at)
      const under = hosted[at]!
      const part = mapNames(await of(under.cluster ?? management), hostedMaps(settings.placement).get(at)!)
      return place(operator, {
        configuration: part,
        management: part,
        userWorkload: await of(under.userWorkload ?? userWorkload),
      })
    },
    reports: () => [...connected].map(({ cluster: { name, cache } }) => [name, cache.report()]),
    async close() {
      await Promise.allSettled(others.values())
      for (const { cluster } of connected) cluster.cache.close()
      connected.delete(home)
      const clients = [...identities.values(), ...[...connected].map(({ reached }) => reached.client)]
      await Promise.all(clients.map((client) => client.close()))
    },
  }
}

/** All of them, since each must keep to its own part. @throws InvalidNameMap */
function hostedMaps({ hosted }: PlacementSettings): ReadonlyMap<string, NameMap> {
  const maps = Object.entries(hosted).map(([name, part]) => nameMapOf(name, part))
  checkApart(maps)
  return new Map(maps.map((map) => [map.name, map]))
}

/**
 * A cache that says why it is behind, once for all who read it: an operator that may not read what it declares would else
 * wait in silence.
 */
function telling(cache: SharedCache, tell: (resource: Resource, reason: string) => void): SharedCache {
  const told = new Map<string, string | undefined>()
  return {
    ...cache,
    subscribe: (resource, options) =>
      cache.subscribe(resource, {
        ...options,
        onFreshness(freshness) {
          options.onFreshness?.(freshness)
          const { reason } = freshness
          const name = formatResource(resource)
          if (told.get(name) === reason) return
          told.set(name, reason)
          if (reason !== undefined) tell(resource, reason)
        },
      }),
  }
}
