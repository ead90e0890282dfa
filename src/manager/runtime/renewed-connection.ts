/**
 * A connection whose credentials are stored elsewhere, in a Secret for instance, and rotated there. They are read again
 * when the server rejects the current ones, so a rotation needs no notification.
 */
import type { Connection, Credentials } from '../../client/connection.ts'
import { renewable } from '../../client/credentials/renewable.ts'
import type { Clock } from '../../clock/clock.ts'
import { MusterError } from '../../kube/errors.ts'

interface RenewedOptions {
  /** Where the credentials come from: `Secret kyma-system/west`. */
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
    // Caches and open connections belong to the first server: another server is another cluster.
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
      // An exec plugin or token file in the kubeconfig may have newer credentials.
      if (latest?.of.refused(sent)) return true
      const isLatest = sent === undefined || sent['authorization'] === latest?.headers['authorization']
      return held.refuse((value) => value === latest?.of && isLatest)
    },
  }
  return { ...first, credentials }
}
