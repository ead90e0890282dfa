/**
 * Opens connections to one API server: directly or through a proxy, plain or with TLS, with one client certificate. The
 * result is a verified socket and the protocol that was negotiated (ALPN).
 */
import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ClientCertificate, Connection } from '../connection.ts'
import { type Environment, proxyAddressOf, openProxy, openTunnel, proxyFor, proxyHeaders } from './proxy.ts'
import { socketError } from './socket-error.ts'
import { openTcp, openTls } from './socket.ts'
import { checkClientCertificate, secureContext, verifyServer } from './tls.ts'

export interface DialOptions {
  readonly clock: Clock
  /** Time-out of a connection, including TLS. */
  readonly connectTimeoutMs: number
  readonly env: Environment
}

interface Dialer {
  readonly server: URL
  /** The name of the server in messages: `prod (10.0.0.1:6443)`. */
  readonly place: string
  /** Opens a socket to the server; `protocols` are offered in order of preference. */
  readonly dial: (protocols: readonly string[], signal: AbortSignal) => Promise<Socket>
  /** Set if plain HTTP goes through an HTTP proxy, which reads each request. */
  readonly plainProxy: PlainProxy | undefined
}

/** Requests carry the absolute URL and these headers, on a socket to the proxy. */
export interface PlainProxy {
  readonly headers: Readonly<Record<string, string>>
  readonly dial: (signal: AbortSignal) => Promise<Socket>
}

export function dialer(
  connection: Connection,
  certificate: ClientCertificate | undefined,
  { clock, connectTimeoutMs, env }: DialOptions,
): Dialer {
  const server = serverUrl(connection)
  const { host, port } = proxyAddressOf(server)
  const secure = server.protocol === 'https:'
  const proxy = proxyFor(server, connection.proxyUrl, env)
  const place = `${connection.name} (${host.includes(':') ? `[${host}]` : host}:${port})`
  const tls = connection.tls
  let context: SecureContext | undefined

  const openRaw = async (signal: AbortSignal): Promise<Socket> =>
    proxy ? await openTunnel(host, port, { proxy, tls, now: clock.now(), signal }) : await openTcp(host, port, signal)

  const openSecure = async (protocols: readonly string[], signal: AbortSignal): Promise<TLSSocket> => {
    if (certificate) checkClientCertificate(certificate, clock.now(), place)
    context ??= secureContext(tls, certificate, place)
    const { isIP } = process.getBuiltinModule('node:net')
    const { checkServerIdentity } = process.getBuiltinModule('node:tls')
    const name = tls.serverName ?? host
    const socket = await openTls(
      {
        ...(proxy ? { socket: await openRaw(signal) } : { host, port }),
        secureContext: context,
        ALPNProtocols: [...protocols],
        // An IP address must not be sent as SNI; it is still compared with the certificate.
        servername: isIP(name) ? '' : name,
        checkServerIdentity: (_, peer) => checkServerIdentity(name, peer),
      },
      signal,
    )
    const distrust = verifyServer(socket, tls, { host: name, place, now: clock.now() })
    if (!distrust) return socket
    socket.destroy()
    throw distrust
  }

  const inTime = async (signal: AbortSignal, open: (signal: AbortSignal) => Promise<Socket>): Promise<Socket> => {
    signal.throwIfAborted()
    const giveUp = new AbortController()
    const timer = clock.after(connectTimeoutMs, () => {
      const seconds = connectTimeoutMs / 1000
      giveUp.abort(new MusterError(clientErrors.RequestTimeout, `${place}: no connection within ${seconds} s.`))
    })
    const abort = (): void => giveUp.abort(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      return await open(giveUp.signal)
    } catch (error) {
      if (giveUp.signal.aborted) throw giveUp.signal.reason
      throw socketError(error, place, 'while it was being opened')
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', abort)
    }
  }

  return {
    server,
    place,
    dial: (protocols, signal) => inTime(signal, (inner) => (secure ? openSecure(protocols, inner) : openRaw(inner))),
    plainProxy:
      !secure && proxy?.protocol.startsWith('http')
        ? {
            headers: proxyHeaders(proxy),
            dial: (signal) => inTime(signal, (inner) => openProxy({ proxy, tls, now: clock.now(), signal: inner })),
          }
        : undefined,
  }
}

function serverUrl({ name, server }: Connection): URL {
  const url = URL.parse(server)
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url
  throw new MusterError(clientErrors.KubeconfigMalformed, `${name}: the server must be a URL with https:// or http://.`)
}
