/**
 * The embedded server on a socket: HTTP/2 and HTTP/1.1 over TLS, for programs on this machine only.
 *
 * TLS even on loopback, because clients of Kubernetes send no credentials without it. The listener has a certificate
 * authority of its own, made anew at every start: it vouches for the server to clients, and for clients to the server.
 */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket, Server } from 'node:tls'
import type { Clock, Timer } from '../../clock/clock.ts'
import { MusterError } from '../../kube/errors.ts'
import { isLoopback } from '../../kube/loopback.ts'
import {
  type Certificate,
  createCertificateAuthority,
  type CertificateSubject,
  type CertificateAuthority,
} from '../../pki/certificate-authority.ts'
import type { Answering } from '../server/api-server.ts'
import { type BodyBudget, createBodyBudget, defaultBodiesBytes } from './body-budget.ts'
import { type Protocol, vouchFor } from './connection.ts'

export interface ListenerOptions {
  readonly clock: Clock
  /** A loopback address. @default "127.0.0.1" */
  readonly host?: string | undefined
  /** 0 takes a free one. @default 0 */
  readonly port?: number | undefined
  /** Who signs the certificates of server and clients. @default one of its own */
  readonly authority?: CertificateAuthority | undefined
  /** Bytes of request bodies under way, over all connections; beyond it a request gets 429. @default 64 MiB */
  readonly maxBodiesBytes?: number | undefined
}

export interface ServerListener {
  /** `https://127.0.0.1:36123`. */
  readonly url: string
  /** What clients must trust, in PEM. */
  readonly ca: string
  /** A certificate by which this listener knows a client: the common name is the user, organizations are groups. */
  clientCertificate(subject: CertificateSubject): Certificate
  /** Loads what is needed to speak with somebody, which the first client would else have to wait for. */
  prepare(): Promise<void>
  /** Ends watches, lets running requests finish, and cuts what is left after a moment. */
  close(): Promise<void>
}

/** What running requests get before a close cuts them off. */
const graceMs = 1000

/** The slowest honest client shakes hands far quicker. */
const handshakeMs = 10_000

/** Nobody runs an embedded cluster for longer. */
const certificateMs = 365 * 24 * 3_600_000

/** Clocks of one machine agree, but suspended ones wake up confused. */
const hourMs = 3_600_000

function validityFrom(clock: Clock): { readonly from: number; readonly until: number } {
  return { from: clock.now() - hourMs, until: clock.now() + certificateMs }
}

/** An authority for one listener: who wants to know what clients must trust before there is one makes it first. */
export function loopbackAuthority(clock: Clock): CertificateAuthority {
  return createCertificateAuthority({ commonName: 'muster', ...validityFrom(clock) })
}

export async function startListener(api: Answering, options: ListenerOptions): Promise<ServerListener> {
  const { clock, host = '127.0.0.1', port = 0 } = options
  if (!isLoopback(host)) {
    throw new MusterError('InvalidFlag', `host ${host}: the embedded server listens on loopback addresses only.`)
  }
  const { createServer } = await import('node:tls')
  const validity = validityFrom(clock)
  const authority = options.authority ?? loopbackAuthority(clock)
  const { cert, key } = authority.issue({ commonName: 'muster', ...validity, purpose: 'server', ...loopbackNames })
  // Who shows no certificate, or somebody else's, may still have a token: the handshake is not the place to refuse.
  // Nor is it told whom to trust: it would first wait until Node has read the authorities of the whole world.
  const tls = { cert, key, ca: [], requestCert: true, rejectUnauthorized: false }
  const server = createServer({ ...tls, ALPNProtocols: ['h2', 'http/1.1'] })
  server.on('secureConnection', (socket) => {
    vouchFor(socket, (certificate) => authority.isClient(certificate, clock.now()))
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
    ca: authority.cert,
    clientCertificate: (subject) => authority.issue({ ...subject, ...validity, purpose: 'client' }),
    prepare: () => connections.prepare(),
    close: () => (closing ??= close()),
  }
}

const loopbackNames = { dnsNames: ['localhost'], ips: ['127.0.0.1', '::1'] } as const

async function bind(server: Server, host: string, port: number): Promise<void> {
  listen(server, host, port)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'another program uses it' : (error as Error).message
    throw new MusterError('InvalidFlag', `port ${port}: ${why}.`, { cause: error })
  }
}

type Listen = (this: Server, address: string, port: number, family: 4 | 6, backlog: number) => void

/**
 * Goes straight to where `listen` ends for everybody. On its way it would load what processes share sockets with, and ask
 * whether an address might be an IPv6 one of the local link: megabytes and milliseconds of a start.
 */
function listen(server: Server, host: string, port: number): void {
  const directly = Reflect.get(server, '_listen2') as Listen | undefined
  // A name has to be looked up.
  if (host.toLowerCase() === 'localhost' || !directly) server.listen(port, host)
  else directly.call(server, host, port, host === '::1' ? 6 : 4, backlog)
}

/** As Node has it. */
const backlog = 511

interface Connections {
  prepare(): Promise<void>
  /** Each connection goes when its last request is done. */
  drain(): void
  cut(): void
}

type Speaking = readonly [api: Answering, clock: Clock, bodies: BodyBudget]

/** What a protocol needs is loaded when somebody speaks it: a server at rest should be small. */
const speakers = {
  h2: async (...speaking: Speaking): Promise<Protocol> => (await import('./http2.ts')).speakHttp2(...speaking),
  http1: async (...speaking: Speaking): Promise<Protocol> => (await import('./http1.ts')).speakHttp1(...speaking),
}

/** `bodies` is one for all connections, whichever protocol is spoken on them. */
function trackConnections(server: Server, api: Answering, clock: Clock, bodies: BodyBudget): Connections {
  const sockets = new Set<Socket>()
  // An encrypted connection and the bare one below it have nothing in common but their other end.
  const handshakes = new Map<string, Timer>()
  const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  const shaken = (end: string): void => {
    handshakes.get(end)?.cancel()
    handshakes.delete(end)
  }
  const spoken: Partial<Record<keyof typeof speakers, Promise<Protocol>>> = {}
  let isDraining = false

  const accept = async (socket: TLSSocket): Promise<void> => {
    const name = socket.alpnProtocol === 'h2' ? 'h2' : 'http1'
    const protocol = await (spoken[name] ??= speakers[name](api, clock, bodies))
    if (socket.destroyed) return
    if (isDraining) socket.destroy()
    else protocol.accept(socket)
  }

  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    const end = endOf(socket)
    handshakes.set(
      end,
      clock.after(handshakeMs, () => socket.destroy()),
    )
    socket.once('close', () => {
      sockets.delete(socket)
      shaken(end)
    })
  })
  server.on('secureConnection', (socket) => {
    shaken(endOf(socket))
    socket.on('error', () => undefined)
    accept(socket).catch(() => socket.destroy())
  })
  // A peer that breaks off, or breaks the protocol, concerns its own connection only.
  server.on('tlsClientError', (_error, socket) => socket.destroy())

  return {
    async prepare() {
      // Whoever speaks the other one needs most of this, too.
      await (spoken.http1 ??= speakers.http1(api, clock, bodies))
    },
    drain() {
      isDraining = true
      for (const starting of Object.values(spoken)) void starting.then((protocol) => protocol.drain())
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
