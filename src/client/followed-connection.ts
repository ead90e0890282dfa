/**
 * Connections that follow their source. A cluster that is restored, moved or given another certificate authority comes back
 * with another address or CA; the kubeconfig or the mounted service account says which, and a long-running client reads it
 * again instead of being restarted.
 *
 * The context is chosen once: a person who switches the current context of a shared kubeconfig must not move a running
 * manager to another cluster.
 */
import { createHash } from 'node:crypto'
import type { Json } from '../kube/json.ts'
import type { Connection, Credentials } from './connection.ts'

/** `read` gets the name of the connection that was read first; undefined for that one. */
export async function followedConnection(read: (name: string | undefined) => Promise<Connection>): Promise<Connection> {
  const first = await read(undefined)
  const following = (connection: Connection): Connection => ({
    ...connection,
    async reload() {
      const next = await read(first.name)
      return next.fingerprint === connection.fingerprint ? undefined : following(next)
    },
  })
  return following(first)
}

/** The same server with other credentials, also after it has moved. */
export function connectionWithCredentials(connection: Connection, credentials: Credentials): Connection {
  const { reload } = connection
  return {
    ...connection,
    credentials,
    ...(reload && {
      async reload() {
        const next = await reload()
        return next && connectionWithCredentials(next, credentials)
      },
    }),
  }
}

/** A digest: the source may contain secrets. */
export function fingerprintOf(source: Json): string {
  return createHash('sha256').update(JSON.stringify(source)).digest('base64url')
}
