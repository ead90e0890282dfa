/**
 * The clusters of a manager, by their names in the settings. Each is connected to when the first operator needs it, has
 * one shared cache, and is disconnected when the last operator leaves.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import { createSharedCache, type InformerReport, type SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import type { Connection, Credentials } from '../../client/connection.ts'
import { createClient } from '../../client/create-client.ts'
import type { FlowControl } from '../../client/flow-control.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { Operator } from '../../operator/operator.ts'
import { type ClusterSettings, localCluster, type PlacementSettings, type Settings } from '../config/settings.ts'
import type { IdentitySettings } from '../config/operator-settings.ts'
import { nameMapOf, objectNameOf } from '../config/options-of.ts'
import { actingAs, impersonationOf, mintedCredentials } from '../run/identity.ts'
import { actingOn, type Cluster, mapNames } from '../placement/cluster.ts'
import { checkApart, type NameMap } from '../placement/name-map.ts'
import { place, type Placement, standalone } from '../placement/placement.ts'

/** A connected cluster. */
export interface Reached {
  readonly client: Client
  /** The same cluster with other credentials. */
  as(credentials: Credentials): Client
  /** Rate limit of all requests, whatever their credentials. @default none */
  readonly flow?: FlowControl
  /** The address for other clients. Undefined: not reachable for them. */
  readonly address?: Pick<Connection, 'server' | 'tls'>
}

export interface ClustersOptions {
  readonly clock: Clock
  readonly random: Random
  /** The cluster of `clientConnection`. */
  readonly local: Reached
  /** Connects to the others; kubeconfig Secrets are read through `local`. */
  readonly reach: (name: string, settings: ClusterSettings, local: Client) => Promise<Reached>
  /** A cache cannot be kept up to date, and why. */
  readonly onStale: (cluster: string, resource: Resource, reason: string) => void
}

export interface Clusters {
  readonly local: Cluster
  /**
   * Opens the clusters of an operator. `at`: a cluster, a hosted cluster, or undefined for the placement of the
   * settings.
   */
  open(operator: Operator, settings: Settings, at: string | undefined): Promise<ClusterPlacement>
  /** Informers of the connected clusters. */
  reports(): readonly (readonly [cluster: string, informers: readonly InformerReport[]])[]
  close(): Promise<void>
}

/** The clusters of an operator. */
export interface ClusterPlacement {
  /** With the operator's identity. */
  readonly cluster: Cluster
  /** The cluster of each role. */
  readonly placement: Placement
  /**
   * For the user-workload cluster, with a token of the operator's account. @throws InvalidConfiguration where there is
   * none
   */
  readonly kubeconfig: () => Promise<string>
  /**
   * The cluster that `at` names, or the local one, with the manager's identity: for registrations, which the operator
   * may not write.
   */
  readonly own: Cluster
  /** The operator leaves. A cluster without operators is disconnected. */
  close(): Promise<void>
}

/** A cluster in use. */
interface Link {
  readonly id: string
  readonly known: Promise<Known>
  users: number
}

interface Known {
  readonly cluster: Cluster
  readonly reached: Reached
  /** The cluster with the identity of each operator account. */
  readonly identities: Map<string, Cluster>
  /** Clients with connections of their own. */
  readonly apart: Set<Client>
}

export function createClusters({ clock, random, local, reach, onStale }: ClustersOptions): Clusters {
  const kubeconfigOf = kubeconfigFor(clock)
  const home = known(localCluster, local)
  const homeLink: Link = { id: '', known: Promise.resolve(home), users: 1 }
  const connected = new Set([home])
  /** By name and connection settings: changed settings make it another cluster. */
  const links = new Map<string, Link>()
  let isClosed = false

  function known(name: string, reached: Reached): Known {
    const { client } = reached
    const cache = createSharedCache({ client, clock, random })
    return {
      reached,
      cluster: { name, client, cache: reportingCache(cache, (...reported) => onStale(name, ...reported)) },
      identities: new Map(),
      apart: new Set(),
    }
  }

  async function take(name: string, { clusters }: Settings): Promise<Link> {
    const settings = Object.hasOwn(clusters, name) ? clusters[name] : undefined
    if (!settings) {
      if (name !== localCluster)
        throw new MusterError(managerErrors.InvalidConfiguration, `There is no cluster ${name} in the settings.`)
      homeLink.users++
      return homeLink
    }
    const id = JSON.stringify([name, settings])
    let link = links.get(id)
    if (!link) {
      link = { id, users: 0, known: connect(name, settings) }
      links.set(id, link)
    }
    link.users++
    try {
      await link.known
    } catch (error) {
      // A later attempt may succeed.
      if (links.get(id) === link) links.delete(id)
      throw error
    }
    return link
  }

  async function connect(name: string, settings: ClusterSettings): Promise<Known> {
    const one = known(name, await reach(name, settings, local.client))
    connected.add(one)
    if (isClosed) await letGo(one)
    return one
  }

  async function leave(link: Link): Promise<void> {
    if (--link.users > 0) return
    if (links.get(link.id) === link) links.delete(link.id)
    await letGo(await link.known)
  }

  async function letGo(one: Known): Promise<void> {
    if (!connected.delete(one)) return
    const { cluster, reached, apart } = one
    cluster.cache.close()
    // The local client is passed in, and others still use it.
    await Promise.all([...apart, ...(one === home ? [] : [reached.client])].map((client) => client.close()))
  }

  /** The cluster with the identity of the operator's account. */
  function as({ cluster, reached, identities, apart }: Known, { serviceAccount, by }: IdentitySettings): Cluster {
    if (serviceAccount === undefined) return cluster
    const id = [serviceAccount, by].join(' ')
    const acting = identities.get(id)
    if (acting) return acting
    const account = objectNameOf(serviceAccount)
    let client: Client
    if (by === 'token') {
      client = reached.as(mintedCredentials({ client: reached.client, clock, serviceAccount: account }))
      apart.add(client)
    } else {
      const transport = actingAs(reached.client.transport, impersonationOf(account))
      client = createClient({ transport, clock, random, flow: reached.flow ?? false })
    }
    const made = actingOn(cluster, client)
    identities.set(id, made)
    return made
  }

  return {
    local: home.cluster,
    async open(operator, settings, at) {
      const { identity } = settings.operators[operator.name] ?? { identity: { by: 'impersonation' } as const }
      const taken: Link[] = []
      let own = home.cluster
      /** The plain connection, without name map and operator account. */
      let workload: Known = home
      const of = async (name: string): Promise<Cluster> => {
        const link = await take(name, settings)
        taken.push(link)
        const one = await link.known
        if (name === at) own = one.cluster
        // The last one in the list has the role.
        workload = one
        return as(one, identity)
      }
      const close = async (): Promise<void> => {
        await Promise.all(taken.splice(0).map(leave))
      }
      const { configuration, management, userWorkload, hosted } = settings.placement
      const find = async (): Promise<Placement> => {
        if (at === undefined) {
          return {
            configuration: await of(configuration),
            management: await of(management),
            userWorkload: await of(userWorkload),
          }
        }
        if (!Object.hasOwn(hosted, at)) return standalone(await of(at))
        const under = hosted[at]!
        const part = mapNames(await of(under.cluster ?? management), hostedMaps(settings.placement).get(at)!)
        return { configuration: part, management: part, userWorkload: await of(under.userWorkload ?? userWorkload) }
      }
      try {
        const placement = await find()
        const { reached } = workload
        const isOne = at !== undefined && !Object.hasOwn(hosted, at)
        return {
          cluster: isOne ? placement.configuration : place(operator, placement),
          placement,
          own,
          kubeconfig: kubeconfigOf(reached, identity),
          close,
        }
      } catch (error) {
        await close()
        throw error
      }
    },
    reports: () => [...connected].map(({ cluster: { name, cache } }) => [name, cache.report()]),
    async close() {
      isClosed = true
      await Promise.all([...connected].map(letGo))
    },
  }
}

/** Mints a token on demand, and again when it is about to expire. */
function kubeconfigFor(clock: Clock) {
  return (reached: Reached, { serviceAccount }: IdentitySettings): (() => Promise<string>) => {
    let credentials: Credentials | undefined
    return async () => {
      const { client, address } = reached
      if (!address || serviceAccount === undefined) {
        const what = address ? 'its operator has no account of its own there' : 'it is not reachable from elsewhere'
        throw new MusterError(
          managerErrors.InvalidConfiguration,
          `There is no kubeconfig to the user-workload cluster: ${what}.`,
        )
      }
      credentials ??= mintedCredentials({ client, clock, serviceAccount: objectNameOf(serviceAccount) })
      const { authorization = '' } = await credentials.headers()
      const { server, tls } = address
      const cluster = {
        server,
        ...(tls.ca !== undefined && { 'certificate-authority-data': Buffer.from(tls.ca).toString('base64') }),
        ...(tls.insecureSkipVerify === true && { 'insecure-skip-tls-verify': true }),
        ...(tls.serverName !== undefined && { 'tls-server-name': tls.serverName }),
      }
      const name = 'user-workload'
      return JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name, cluster }],
        users: [{ name, user: { token: authorization.replace(/^Bearer /, '') } }],
        contexts: [{ name, context: { cluster: name, user: name } }],
        'current-context': name,
      })
    }
  }
}

/** Checks all hosted clusters together, since their names must not overlap. @throws InvalidNameMap */
function hostedMaps({ hosted }: PlacementSettings): ReadonlyMap<string, NameMap> {
  const maps = Object.entries(hosted).map(([name, part]) => nameMapOf(name, part))
  checkApart(maps)
  return new Map(maps.map((map) => [map.name, map]))
}

/**
 * A cache that reports once why it is stale: otherwise an operator without the right to read its inputs would wait
 * silently.
 */
function reportingCache(cache: SharedCache, report: (resource: Resource, reason: string) => void): SharedCache {
  const reported = new Map<string, string | undefined>()
  return {
    ...cache,
    subscribe: (resource, options) =>
      cache.subscribe(resource, {
        ...options,
        onFreshness(freshness) {
          options.onFreshness?.(freshness)
          const { reason } = freshness
          const name = formatResource(resource)
          if (reported.get(name) === reason) return
          reported.set(name, reason)
          if (reason !== undefined) report(resource, reason)
        },
      }),
  }
}
