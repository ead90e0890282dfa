/**
 * The embedded server on a socket: HTTP/2 and HTTP/1.1 over TLS, for processes on this machine only.
 *
 * It uses TLS even on loopback, because Kubernetes clients send no credentials without it. The listener has its own
 * certificate authority, new at every start, which signs the server certificate and client certificates; or it is given
 * the certificate that it shows, and the authorities whose clients it admits.
 */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket, Server } from 'node:tls'
import type { Clock, Timer } from '../../clock/clock.ts'
import { apiserverErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isLoopback } from '../../kube/text/loopback.ts'
import {
  type Certificate,
  createCertificateAuthority,
  type CertificateAuthority,
} from '../../pki/certificate-authority.ts'
import type { CertificateSubject } from '../../pki/x509.ts'
import type { TrustBundle } from '../../pki/trust-bundle.ts'
import type { ServedApi } from '../server/api-server.ts'
import { type BodyBudget, createBodyBudget, defaultBodiesBytes } from './body-budget.ts'
import { type Protocol, verifyClientWith } from './connection.ts'

export interface ListenerOptions {
  readonly clock: Clock
  /** A loopback address. @default "127.0.0.1" */
  readonly host?: string | undefined
  /** 0 selects a free port. @default 0 */
  readonly port?: number | undefined
  /** Signs the certificates of the server and its clients. @default a new one */
  readonly authority?: CertificateAuthority | undefined
  /** The certificate that the server shows. @default one that `authority` issues */
  readonly serving?: Certificate | undefined
  /** Decides which client certificates count. @default those that `authority` issued */
  readonly clientTrust?: TrustBundle | undefined
  /**
   * Limit for the request bodies of all connections together, in bytes; beyond it a request gets 429. @default 64 MiB
   */
  readonly maxBodiesBytes?: number | undefined
}

export interface ServerListener {
  /** `https://127.0.0.1:36123`. */
  readonly url: string
  /** The certificate that clients must trust, in PEM: that of the authority, or the given one that the server shows. */
  readonly ca: string
  /** Issues a client certificate: the common name is the user, the organizations are the groups. */
  clientCertificate(subject: CertificateSubject): Certificate
  /** Loads the code of HTTP/1.1, most of which HTTP/2 shares, so that the first client need not wait for it. */
  prepareHttp1(): Promise<void>
  /** Loads the code of HTTP/2, which costs memory: for servers whose clients are sure to use it. */
  prepareHttp2(): Promise<void>
  /** Ends watches, lets running requests finish, and cuts the remaining connections after a grace period. */
  close(): Promise<void>
}

/** Grace period of running requests on close. */
const graceMs = 1000

/** Time for the TLS handshake. Well above what any real client needs. */
const handshakeMs = 10_000

/** Validity of certificates: longer than an embedded cluster runs. */
const certificateMs = 365 * 24 * 3_600_000

/** Certificates are backdated: the clock may jump back after the machine was suspended. */
const hourMs = 3_600_000

function validityFrom(clock: Clock): { readonly from: number; readonly until: number } {
  return { from: clock.now() - hourMs, until: clock.now() + certificateMs }
}

/** A certificate authority for one listener, for callers that need it before the listener starts. */
export function loopbackAuthority(clock: Clock): CertificateAuthority {
  return createCertificateAuthority({ commonName: 'muster', ...validityFrom(clock) })
}

/** A certificate for a server on loopback. */
export function issueServing(authority: CertificateAuthority, clock: Clock): Certificate {
  return authority.issue({ commonName: 'muster', ...validityFrom(clock), purpose: 'server', ...loopbackNames })
}

export async function startListener(api: ServedApi, options: ListenerOptions): Promise<ServerListener> {
  const { clock, host = '127.0.0.1', port = 0 } = options
  if (!isLoopback(host)) {
    throw new MusterError(
      apiserverErrors.ListenFailed,
      `host ${host}: the embedded server listens on loopback addresses only.`,
    )
  }
  const { createServer } = await import('node:tls')
  const validity = validityFrom(clock)
  // Made on demand: a listener that is given its certificates has no use for it.
  let made = options.authority
  const authority = (): CertificateAuthority => (made ??= loopbackAuthority(clock))
  const { cert, key } = options.serving ?? issueServing(authority(), clock)
  // A client without a valid certificate may still have a token, so the handshake does not reject it.
  // `ca` is empty: otherwise Node would first load all root certificates. Client certificates are verified below.
  // `noDelay`: otherwise the first answer waits until the client has acknowledged the session tickets, which takes up to 40 ms.
  const tls = { cert, key, ca: [], requestCert: true, rejectUnauthorized: false, noDelay: true }
  const server = checkingCertificate(() => createServer({ ...tls, ALPNProtocols: ['h2', 'http/1.1'] }))
  const trust = options.clientTrust ?? authority()
  server.on('secureConnection', (socket) => {
    verifyClientWith(socket, (certificate) => trust.isClient(certificate, clock.now()))
  })
  const connections = trackConnections(
    server,
    api,
    clock,
    createBodyBudget(options.maxBodiesBytes ?? defaultBodiesBytes),
  )
  await bind(server, host, port)

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    connections.drain()
    api.endWatches()
    const timer = clock.after(graceMs, () => connections.cut())
    await closed
    timer.cancel()
  }
  const address = server.address() as AddressInfo
  const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    url: `https://${shown}:${address.port}`,
    ca: options.serving?.cert ?? authority().cert,
    clientCertificate: (subject) => authority().issue({ ...subject, ...validity, purpose: 'client' }),
    prepareHttp1: () => connections.prepareHttp1(),
    prepareHttp2: () => connections.prepareHttp2(),
    close: () => (closing ??= close()),
  }
}

const loopbackNames = { dnsNames: ['localhost'], ips: ['127.0.0.1', '::1'] } as const

/** A certificate that is none, or a key of another certificate. @throws ServerCertificateInvalid */
function checkingCertificate<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    // The text is that of OpenSSL, and names neither file nor content.
    throw new MusterError(
      apiserverErrors.ServerCertificateInvalid,
      `the serving certificate: ${(error as Error).message}.`,
      {
        cause: error,
      },
    )
  }
}

async function bind(server: Server, host: string, port: number): Promise<void> {
  listen(server, host, port)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'another program uses it' : (error as Error).message
    throw new MusterError(apiserverErrors.ListenFailed, `port ${port}: ${why}.`, { cause: error })
  }
}

type Listen = (this: Server, address: string, port: number, family: 4 | 6, backlog: number) => void

/**
 * Calls the internal function in which `listen` ends. `listen` itself would load node:cluster and look for link-local
 * IPv6 addresses, which costs megabytes and milliseconds at start.
 */
function listen(server: Server, host: string, port: number): void {
  const directly = Reflect.get(server, '_listen2') as Listen | undefined
  // A host name needs a lookup.
  if (host.toLowerCase() === 'localhost' || !directly) server.listen(port, host)
  else directly.call(server, host, port, host === '::1' ? 6 : 4, backlog)
}

/** Node's default. */
const backlog = 511

interface Connections extends Pick<ServerListener, 'prepareHttp1' | 'prepareHttp2'> {
  /** Closes each connection after its last running request. */
  drain(): void
  cut(): void
}

type ProtocolArguments = readonly [api: ServedApi, clock: Clock, bodies: BodyBudget]

/** Each protocol is loaded with its first connection, to keep an idle server small. */
const loadProtocol = {
  h2: async (...args: ProtocolArguments): Promise<Protocol> => (await import('./http2.ts')).serveHttp2(...args),
  http1: async (...args: ProtocolArguments): Promise<Protocol> => (await import('./http1.ts')).serveHttp1(...args),
}

/** `bodies` is shared by all connections of both protocols. */
function trackConnections(server: Server, api: ServedApi, clock: Clock, bodies: BodyBudget): Connections {
  const sockets = new Set<Socket>()
  // Keyed by the remote end: Node offers no other link between a TLS socket and its TCP socket.
  const handshakes = new Map<string, Timer>()
  const remoteEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  const handshakeDone = (end: string): void => {
    handshakes.get(end)?.cancel()
    handshakes.delete(end)
  }
  const loaded: Partial<Record<keyof typeof loadProtocol, Promise<Protocol>>> = {}
  let isDraining = false

  const accept = async (socket: TLSSocket): Promise<void> => {
    const name = socket.alpnProtocol === 'h2' ? 'h2' : 'http1'
    const protocol = await (loaded[name] ??= loadProtocol[name](api, clock, bodies))
    if (socket.destroyed) return
    if (isDraining) socket.destroy()
    else protocol.accept(socket)
  }

  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    const end = remoteEnd(socket)
    handshakes.set(
      end,
      clock.after(handshakeMs, () => socket.destroy()),
    )
    socket.once('close', () => {
      sockets.delete(socket)
      handshakeDone(end)
    })
  })
  server.on('secureConnection', (socket) => {
    handshakeDone(remoteEnd(socket))
    socket.on('error', () => undefined)
    accept(socket).catch(() => socket.destroy())
  })
  // A disconnect or a protocol error only affects its own connection.
  server.on('tlsClientError', (_error, socket) => socket.destroy())

  return {
    async prepareHttp1() {
      await (loaded.http1 ??= loadProtocol.http1(api, clock, bodies))
    },
    async prepareHttp2() {
      await (loaded.h2 ??= loadProtocol.h2(api, clock, bodies))
    },
    drain() {
      isDraining = true
      for (const starting of Object.values(loaded)) void starting.then((protocol) => protocol.drain())
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
