/** From nothing to a client of the cluster that the environment points to. */
import type { Client } from './client.ts'
import type { Connection } from './connection.ts'
import type { ClientOptions } from './create-client.ts'
import type { LoadConnectionOptions } from './load-connection.ts'

export interface ConnectOptions extends Omit<ClientOptions, 'transport'>, LoadConnectionOptions {
  /** A connection that is known already. @default the one that `loadConnection` finds */
  readonly connection?: Connection | undefined
}

/**
 * A client over HTTP. No request is made yet: whether the server can be reached shows with the first one.
 * What only HTTP and kubeconfigs need is loaded here, not with this module.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const [{ httpTransport }, { createClient }, { systemClock }] = await Promise.all([
    import('./http/http-transport.ts'),
    import('./create-client.ts'),
    import('../clock/system-clock.ts'),
  ])
  const connection = options.connection ?? (await (await import('./load-connection.ts')).loadConnection(options))
  const { clock = systemClock, userAgent } = options
  return createClient({ ...options, transport: httpTransport(connection, { clock, userAgent }) })
}
