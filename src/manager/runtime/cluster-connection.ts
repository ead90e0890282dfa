/**
 * Connects to clusters over HTTP, as the settings say: by a kubeconfig file, by a kubeconfig in a Secret, or
 * in-cluster.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import type { Connection } from '../../client/connection.ts'
import { followedConnection, connectionWithCredentials } from '../../client/followed-connection.ts'
import { createClient } from '../../client/create-client.ts'
import { createFlowControl, type FlowLimits } from '../../client/flow-control.ts'
import { inClusterConnection } from '../../client/credentials/in-cluster.ts'
import { systemMachine } from '../../client/credentials/machine.ts'
import { httpTransport } from '../../client/http/http-transport.ts'
import { connectionFromKubeconfig, loadConnection } from '../../client/load-connection.ts'
import type { Transport } from '../../transport/transport.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { Secret } from '../../kube/kinds.ts'
import { objectNameOf } from '../config/options-of.ts'
import type { ClusterSettings, Settings } from '../config/settings.ts'
import type { Reached } from './clusters.ts'

export interface ReachOptions {
  readonly clock: Clock
  /** Wraps each transport: for request metrics and trace headers. */
  readonly around?: (transport: Transport, server: string) => Transport
  /** The kubeconfig, or the mounted service account, leads elsewhere now, and the manager has followed it. */
  readonly onMoved?: (connection: Connection) => void
}

/** The cluster that the manager itself runs in. */
export async function reachLocal(
  { kubeconfig, context, qps, burst }: Settings['clientConnection'],
  options: ReachOptions,
): Promise<Reached> {
  const connection = await loadConnection({ kubeconfig, context, clock: options.clock })
  return over(connection, options, qps > 0 ? { qps, burst } : undefined)
}

export async function reachCluster(
  name: string,
  settings: ClusterSettings,
  local: Client,
  options: ReachOptions,
): Promise<Reached> {
  return over(await connectionOf(name, settings, local, options), options)
}

async function connectionOf(
  name: string,
  { inCluster, secret, secretKey, kubeconfig, context }: ClusterSettings,
  local: Client,
  { clock }: ReachOptions,
): Promise<Connection> {
  if (inCluster) return await followedConnection(() => inClusterConnection({ machine: systemMachine, clock }))
  if (secret === undefined) return await loadConnection({ kubeconfig, context, clock })
  const source = `Secret ${secret}`
  const read = async (): Promise<Connection> => {
    const { data = {} } = await local.get(Secret, objectNameOf(secret))
    const held = Object.hasOwn(data, secretKey) ? data[secretKey] : undefined
    if (held === undefined) {
      throw new MusterError(
        managerErrors.InvalidConfiguration,
        `clusters.${name}.secretKey: ${source} has no key ${secretKey}.`,
      )
    }
    return await connectionFromKubeconfig(Buffer.from(held, 'base64').toString(), { source, context, clock })
  }
  return await followedConnection(read)
}

function over(
  connection: Connection,
  { clock, around = (transport) => transport, onMoved }: ReachOptions,
  limits?: FlowLimits,
): Reached {
  let current = connection
  // One rate limit for all requests, those of impersonated accounts included.
  const flow = limits && createFlowControl(limits, clock)
  const through = (to: Connection, moved?: (next: Connection) => void): Client =>
    createClient({
      transport: around(httpTransport(to, { clock, onMoved: moved }), new URL(to.server).host),
      clock,
      flow: flow ?? false,
    })
  return {
    client: through(connection, (next) => {
      current = next
      onMoved?.(next)
    }),
    // A client certificate would take precedence over a token.
    as: (credentials) => through(connectionWithCredentials(current, credentials)),
    get address() {
      return current
    },
    ...(flow && { flow }),
  }
}
