/** A connection that has been accepted, before it is known what is spoken on it. */
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { Peer } from './access/authenticate.ts'

/** One version of HTTP, spoken on the connections that it is handed. */
export interface Protocol {
  accept(socket: TLSSocket): void
  /** Each connection goes when its last request is done. */
  drain(): void
}

const peers = new WeakMap<TLSSocket, Peer>()

/** What the handshake told of the client: the same for all requests of a connection. */
export function peerOf(socket: TLSSocket): Peer {
  const known = peers.get(socket)
  if (known) return known
  const found = { certificate: certificateOf(socket) }
  peers.set(socket, found)
  return found
}

function certificateOf(socket: TLSSocket): Peer['certificate'] {
  const { subject, fingerprint256 } = socket.getPeerCertificate() as Partial<PeerCertificate>
  if (!subject || !fingerprint256) return undefined
  if (!socket.authorized) return 'unverified'
  const { CN = '', O: organizations = [] } = subject as Readonly<Record<string, string | string[]>>
  return {
    commonName: [CN].flat().at(-1) ?? '',
    organizations: [organizations].flat(),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
  }
}
