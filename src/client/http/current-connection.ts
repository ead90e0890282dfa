/**
 * The connection that a transport uses now. A server that cannot be reached, is no longer trusted or rejects the credentials
 * may have moved: the source of the connection is read again then. Requests that fail together read it once.
 */
import type { Clock } from '../../clock/clock.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Connection } from '../connection.ts'
import { clientErrors } from '../errors.ts'

interface CurrentConnection {
  get(): Connection
  /** Grows when the server changes, and not when only the credentials do. */
  epoch(): number
  /** Reads the source again. True if requests now go elsewhere, or with other credentials, than by `used`. */
  hasMoved(used: Connection): Promise<boolean>
}

interface CurrentConnectionOptions {
  readonly clock: Clock
  readonly onMoved: (connection: Connection) => void
}

/** Minimum interval between two readings of the source. */
const restMs = 1_000

export function currentConnection(given: Connection, { clock, onMoved }: CurrentConnectionOptions): CurrentConnection {
  let current = given
  let epoch = 0
  let reading: Promise<void> | undefined
  let readAt = Number.NEGATIVE_INFINITY

  const read = async (): Promise<void> => {
    readAt = clock.now()
    // A source that cannot be read, in the middle of a change perhaps, is no news: the request fails with its own error.
    const next = await current.reload?.().catch(() => undefined)
    if (!next) return
    if (next.server !== current.server || next.tls.ca !== current.tls.ca) epoch++
    current = next
    onMoved(next)
  }

  return {
    get: () => current,
    epoch: () => epoch,
    async hasMoved(used) {
      if (used !== current) return true
      if (!reading && clock.now() - readAt < restMs) return false
      reading ??= read().finally(() => (reading = undefined))
      await reading
      return used !== current
    },
  }
}

/** Errors of requests that were certainly not carried out, at a server that may be elsewhere now. */
const unserved = [
  clientErrors.Unreachable,
  clientErrors.HostNotFound,
  clientErrors.ProxyFailed,
  clientErrors.CertificateUntrusted,
  clientErrors.CertificateExpired,
  clientErrors.CertificateNameMismatch,
  clientErrors.CertificateInvalid,
]

export function isUnserved(error: unknown): boolean {
  return isMusterError(error, ...unserved)
}
