/** An accepted TLS connection, independent of the HTTP version spoken on it. */
import type { X509Certificate } from 'node:crypto'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { Peer } from '../access/authenticate.ts'

/** One version of HTTP, on the connections passed to it. */
export interface Protocol {
  accept(socket: TLSSocket): void
  /** Closes each connection after its last running request. */
  drain(): void
}

type VerifyCertificate = (certificate: X509Certificate) => boolean

const verifiers = new WeakMap<TLSSocket, VerifyCertificate>()
const peers = new WeakMap<TLSSocket, Peer>()

/** Sets how the client certificate of a connection is verified. */
export function verifyClientWith(socket: TLSSocket, verify: VerifyCertificate): void {
  verifiers.set(socket, verify)
}

/** The client's identity from the TLS handshake: the same for all requests of a connection. */
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
  const shown = socket.getPeerX509Certificate()
  if (!shown || !verifiers.get(socket)?.(shown)) return 'unverified'
  const { CN = '', O: organizations = [] } = subject as Readonly<Record<string, string | string[]>>
  return {
    commonName: [CN].flat().at(-1) ?? '',
    organizations: [organizations].flat(),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
  }
}
