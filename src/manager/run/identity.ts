/**
 * The identity of an operator's requests. An operator writes as a service account of its own, so that its own role
 * limits it and not the manager's, and the audit log names it. There are two ways:
 *
 * - **impersonation**: the manager's connection with impersonation headers. One connection serves all operators. The
 *   manager needs the right to impersonate these accounts, and nothing more.
 * - **a minted token**: a connection of its own, with a token that the manager requests and renews well before it
 *   expires. For servers behind proxies that drop impersonation headers, and where impersonation is not granted.
 */
import type { Client, ObjectRef } from '../../client/client.ts'
import type { Credentials, Impersonation } from '../../client/connection.ts'
import { bearer } from '../../client/credentials/bearer.ts'
import { impersonationHeaders } from '../../client/credentials/impersonation.ts'
import { renewable } from '../../client/credentials/renewable.ts'
import { leave } from '../../client/body.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { Clock } from '../../clock/clock.ts'

/**
 * A service account as an impersonated user. The server adds its groups, so the right to impersonate groups is not
 * needed.
 */
export function impersonationOf({ namespace = 'default', name }: ObjectRef): Impersonation {
  return { user: `system:serviceaccount:${namespace}:${name}` }
}

/**
 * A transport that impersonates in each request. Not for a connection that impersonates already (`as` in a kubeconfig):
 * there the connection's own headers win.
 */
export function actingAs(transport: Transport, impersonation: Impersonation): Transport {
  const as = impersonationHeaders(impersonation)
  const withHeaders = (request: TransportRequest): TransportRequest => ({
    ...request,
    // A request may name another account, for which it is made: that of an embedded object.
    headers: { ...as, ...request.headers },
  })
  return {
    ...transport,
    send: (request) => transport.send(withHeaders(request)),
    connect: (request, protocols) => transport.connect(withHeaders(request), protocols),
  }
}

export interface MintOptions {
  /** A client that may create tokens of the account. */
  readonly client: Pick<Client, 'createToken'>
  readonly clock: Clock
  readonly serviceAccount: ObjectRef
  /** The server may grant a shorter or longer one. @default 3600 */
  readonly expirationSeconds?: number
}

/**
 * Renewed after this share of its lifetime, as the kubelet does: there is time left if the server cannot renew it now.
 */
const renewAfter = 0.8

/**
 * Credentials from renewed tokens of a service account, for a connection of its own: `{ ...connection, credentials }`.
 */
export function mintedCredentials(options: MintOptions): Credentials {
  const { client, clock, serviceAccount, expirationSeconds = 3600 } = options
  const token = renewable(async () => {
    const askedAt = clock.now()
    const minted = await client.createToken(serviceAccount, { expirationSeconds })
    const expiresAt = Date.parse(minted.expirationTimestamp)
    const renewAt = askedAt + (expiresAt - askedAt) * renewAfter
    return { value: bearer(minted.token), renewAt, expiresAt }
  }, clock)
  return {
    headers: (signal) => token.get(signal),
    certificate: () => Promise.resolve(undefined),
    refused: (sent) => token.refuse(({ authorization }) => authorization === sent?.['authorization']),
  }
}

/**
 * Adds credentials to a transport that has none (one within this process). Over HTTP they belong to the connection: a
 * client certificate there would take precedence over a token.
 */
export function withCredentials(transport: Transport, credentials: Credentials): Transport {
  const withHeaders = async (
    request: TransportRequest,
  ): Promise<{ readonly request: TransportRequest; readonly own: Readonly<Record<string, string>> }> => {
    const own = await credentials.headers(request.signal)
    return { own, request: { ...request, headers: { ...request.headers, ...own } } }
  }
  return {
    ...transport,
    async send(given): Promise<TransportResponse> {
      const { request, own } = await withHeaders(given)
      const first = await transport.send(request)
      if (first.status !== 401 || !credentials.refused(own)) return first
      leave(first.body)
      return await transport.send((await withHeaders(given)).request)
    },
    connect: async (given, protocols) => await transport.connect((await withHeaders(given)).request, protocols),
  }
}
