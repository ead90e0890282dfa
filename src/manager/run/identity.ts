/**
 * Whose rights count. An operator writes as a service account of its own, so that it can do what its role allows and not
 * what the manager may, and so that the server's audit log names it. There are two ways:
 *
 * - **impersonation**: the manager's connection, with a header that says as whom. Cheap: one connection serves all
 *   operators. The manager needs the right to impersonate those accounts, and no more than that.
 * - **a minted token**: a connection of its own, with a token that the manager asks for and renews well before it expires.
 *   For servers behind proxies that drop impersonation headers, and where nobody may impersonate.
 */
import type { Client, ObjectRef } from '../../client/client.ts'
import type { Credentials, Impersonation } from '../../client/connection.ts'
import { bearer } from '../../client/credentials/bearer.ts'
import { impersonationHeaders } from '../../client/credentials/impersonation.ts'
import { renewable } from '../../client/credentials/renewable.ts'
import { leave } from '../../client/body.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { Clock } from '../../clock/clock.ts'

/** A service account as a user: the server adds its groups itself, so the right to impersonate groups is not needed. */
export function impersonationOf({ namespace = 'default', name }: ObjectRef): Impersonation {
  return { user: `system:serviceaccount:${namespace}:${name}` }
}

/**
 * The transport, each request made as somebody else. Not for a connection that impersonates already (`as` in a kubeconfig):
 * there the connection's own word comes last, and holds.
 */
export function actingAs(transport: Transport, impersonation: Impersonation): Transport {
  const as = impersonationHeaders(impersonation)
  const withHeaders = (request: TransportRequest): TransportRequest => ({
    ...request,
    headers: { ...request.headers, ...as },
  })
  return {
    ...transport,
    send: (request) => transport.send(withHeaders(request)),
    connect: (request, protocols) => transport.connect(withHeaders(request), protocols),
  }
}

export interface MintOptions {
  /** One that may create tokens of the account. */
  readonly client: Pick<Client, 'createToken'>
  readonly clock: Clock
  readonly serviceAccount: ObjectRef
  /** Servers may give less, or more. @default 3600 */
  readonly expirationSeconds?: number
}

/** Renewed after this share of its life, as kubelets do: a server that cannot renew it now has time to recover. */
const renewAfter = 0.8

/** Tokens of a service account, one after the other, for a connection of its own: `{ ...connection, credentials }`. */
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
 * A transport that has no credentials of its own (one within this process), with some. Over HTTP it is the connection that
 * has them: a certificate shown there would outweigh any token.
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
