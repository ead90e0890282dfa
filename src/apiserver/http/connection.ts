/** A connection that has been accepted, before it is known what is spoken on it. */
import type { X509Certificate } from 'node:crypto'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { Peer } from '../access/authenticate.ts'

/** One version of HTTP, spoken on the connections that it is handed. */
export interface Protocol {
  accept(socket: TLSSocket): void
  /** Each connection goes when its last request is done. */
  drain(): void
}

type Vouches = (certificate: X509Certificate) => boolean

const vouching = new WeakMap<TLSSocket, Vouches>()
const peers = new WeakMap<TLSSocket, Peer>()

/** Says who knows whether the client of a connection is who it says. */
export function vouchFor(socket: TLSSocket, vouches: Vouches): void {
  vouching.set(socket, vouches)
}

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
  const shown = socket.getPeerX509Certificate()
  if (!shown || !vouching.get(socket)?.(shown)) return 'unverified'
  const { CN = '', O: organizations = [] } = subject as Readonly<Record<string, string | string[]>>
  return {
    commonName: [CN].flat().at(-1) ?? '',
    organizations: [organizations].flat(),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
  }
}
