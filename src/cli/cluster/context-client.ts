/** A client for the context of the connection flags, and the namespace of that context: as kubectl, for objects without `-n`. */
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { loadConnection } from '../../client/load-connection.ts'
import type { FlagValues } from '../command/command.ts'
import { type connectionFlags, connectionOptions } from '../command/connection-flags.ts'

interface ContextClient {
  readonly client: Client
  readonly namespace: string
}

export async function connectContext(flags: FlagValues<typeof connectionFlags>): Promise<ContextClient> {
  const connection = await loadConnection(connectionOptions(flags))
  return { client: await connect({ connection }), namespace: connection.namespace }
}
