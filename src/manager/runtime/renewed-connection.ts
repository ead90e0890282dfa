/**
 * A connection whose credentials are kept by somebody else, in a Secret for instance, and changed there from time to time. They are
 * read again when the server refuses those that are held, so whoever renews them need tell nobody.
 */
import type { Connection, Credentials } from '../../client/connection.ts'
import { renewable } from '../../client/credentials/renewable.ts'
import type { Clock } from '../../clock/clock.ts'
import { MusterError } from '../../kube/errors.ts'

export interface RenewedOptions {
  /** What the credentials are read from: `Secret kyma-system/west`. */
  readonly source: string
  readonly read: () => Promise<Connection>
  readonly clock: Clock
}

export async function renewedConnection({ source, read, clock }: RenewedOptions): Promise<Connection> {
  const first = await read()
  let isFirst = true
  const held = renewable(async () => {
    const { credentials, server } = isFirst ? first : await read()
    isFirst = false
    // Connections are open there, and caches are filled from it: another server is another cluster.
    if (server !== first.server) {
      throw new MusterError(
        'InvalidConfiguration',
        `${source} leads to ${server} now; it was ${first.server} when this manager connected. Start it anew to follow.`,
      )
    }
    return { value: credentials, renewAt: Infinity, expiresAt: Infinity }
  }, clock)
  let latest: { readonly of: Credentials; readonly headers: Readonly<Record<string, string>> } | undefined
  const credentials: Credentials = {
    async headers(signal) {
      const of = await held.get(signal)
      latest = { of, headers: await of.headers(signal) }
      return latest.headers
    },
    certificate: async (signal) => await (await held.get(signal)).certificate(signal),
    refused(sent) {
      // A plugin or a file within may know better.
      if (latest?.of.refused(sent)) return true
      const isLatest = sent === undefined || sent['authorization'] === latest?.headers['authorization']
      return held.refuse((value) => value === latest?.of && isLatest)
    },
  }
  return { ...first, credentials }
}
