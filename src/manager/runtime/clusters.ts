/**
 * The clusters of a manager, by the names that its settings give them: each is connected to when the first operator needs
 * it, has one cache for all, and is let go when the last one leaves.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import { createSharedCache, type InformerReport, type SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import type { Connection, Credentials } from '../../client/connection.ts'
import { createClient } from '../../client/create-client.ts'
import type { FlowControl } from '../../client/flow-control.ts'
import { MusterError } from '../../kube/errors.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { Operator } from '../../operator/operator.ts'
import { type ClusterSettings, localCluster, type PlacementSettings, type Settings } from '../config/settings.ts'
import type { IdentitySettings } from '../config/operator-settings.ts'
import { nameMapOf, objectNameOf } from '../config/options-of.ts'
import { actingAs, impersonationOf, mintedCredentials } from '../run/identity.ts'
import { actingOn, type TargetCluster, mapNames } from '../placement/cluster.ts'
import { checkApart, type NameMap } from '../placement/name-map.ts'
import { place, type Placement, standalone } from '../placement/placement.ts'

/** A cluster that was reached. */
export interface Reached {
  readonly client: Client
  /** The same cluster, as somebody else. */
  as(credentials: Credentials): Client
  /** What limits all requests there, whoever they are made as. @default nothing */
  readonly flow?: FlowControl
  /** Where others find it. Undefined: nobody else does. */
  readonly address?: Pick<Connection, 'server' | 'tls'>
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
  readonly local: TargetCluster
  /** Where an operator works: `at` is a cluster, a hosted cluster, or undefined for what the placement says. */
  open(operator: Operator, settings: Settings, at: string | undefined): Promise<ClusterPlacement>
  /** Of those that are connected to. */
  reports(): readonly (readonly [cluster: string, feeds: readonly InformerReport[]])[]
  close(): Promise<void>
}

/** Where an operator works. */
export interface ClusterPlacement {
  /** As the operator. */
  readonly cluster: TargetCluster
  /** The same in its roles, each a cluster. */
  readonly placement: Placement
  /** To the user-workload cluster, with a token of the operator's account. @throws InvalidConfiguration where there is none */
  readonly kubeconfig: () => Promise<string>
  /** The cluster that `at` names, or the own one, as the manager: what it registers there is not the operator's to write. */
  readonly own: TargetCluster
  /** It works there no more. A cluster where nobody does is let go. */
  close(): Promise<void>
}

/** A cluster that somebody uses. */
interface Link {
  readonly id: string
  readonly known: Promise<Known>
  users: number
}

interface Known {
  readonly cluster: TargetCluster
  readonly reached: Reached
  /** The cluster as each account that an operator there has. */
  readonly identities: Map<string, TargetCluster>
  /** Clients with connections of their own. */
  readonly apart: Set<Client>
}

export function createClusters({ clock, random, local, reach, onStale }: ClustersOptions): Clusters {
  const kubeconfigOf = kubeconfigFor(clock)
  const home = known(localCluster, local)
  const homeLink: Link = { id: '', known: Promise.resolve(home), users: 1 }
  const connected = new Set([home])
  /** By name and how it is reached: one whose settings have changed is another. */
  const links = new Map<string, Link>()
  let isClosed = false

  function known(name: string, reached: Reached): Known {
    const { client } = reached
    const cache = createSharedCache({ client, clock, random })
    return {
      reached,
      cluster: { name, client, cache: telling(cache, (...told) => onStale(name, ...told)) },
      identities: new Map(),
      apart: new Set(),
    }
  }

  async function take(name: string, { clusters }: Settings): Promise<Link> {
    const settings = Object.hasOwn(clusters, name) ? clusters[name] : undefined
    if (!settings) {
      if (name !== localCluster)
        throw new MusterError('InvalidConfiguration', `There is no cluster ${name} in the settings.`)
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
      // What cannot be reached now may be later.
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
    // The own one was given, and others still use it.
    await Promise.all([...apart, ...(one === home ? [] : [reached.client])].map((client) => client.close()))
  }

  /** The cluster, where the operator writes as its own account. */
  function as({ cluster, reached, identities, apart }: Known, { serviceAccount, by }: IdentitySettings): TargetCluster {
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
      /** As it was reached, whatever name map or account is put over it. */
      let workload: Known = home
      const of = async (name: string): Promise<TargetCluster> => {
        const link = await take(name, settings)
        taken.push(link)
        const one = await link.known
        if (name === at) own = one.cluster
        // The last that is asked for plays that role.
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

/** A token is minted when it is asked for, and again when it is about to expire. */
function kubeconfigFor(clock: Clock) {
  return ({ client, address }: Reached, { serviceAccount }: IdentitySettings): (() => Promise<string>) => {
    let credentials: Credentials | undefined
    return async () => {
      if (!address || serviceAccount === undefined) {
        const what = address ? 'its operator has no account of its own there' : 'nobody else can reach it'
        throw new MusterError('InvalidConfiguration', `There is no kubeconfig to the user-workload cluster: ${what}.`)
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
