/** A client for the cluster that the environment points to. */
import { systemClock } from '../clock/system-clock.ts'
import type { Client } from './client.ts'
import type { Connection } from './connection.ts'
import { type ClientOptions, createClient } from './create-client.ts'
import { httpTransport } from './http/http-transport.ts'
import { loadConnection, type LoadConnectionOptions } from './load-connection.ts'

export interface ConnectOptions extends Omit<ClientOptions, 'transport'>, LoadConnectionOptions {
  /** A known connection. @default the one that `loadConnection` finds */
  readonly connection?: Connection | undefined
}

/** A client over HTTP. It sends no request yet: the first call shows whether the server can be reached. */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const { clock = systemClock, userAgent } = options
  const connection = options.connection ?? (await loadConnection(options))
  return createClient({ ...options, transport: httpTransport(connection, { clock, userAgent }) })
}
