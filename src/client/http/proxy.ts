/**
 * Proxies: which one is used for a server, and how to connect through it.
 *
 * A kubeconfig may set one (`proxy-url`). Otherwise HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment decide, with the
 * rules of Go programs, so that kubectl and Muster use the same route on the same machine.
 */
import type { Socket } from 'node:net'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { TlsSettings } from '../connection.ts'
import { socketError } from './socket-error.ts'
import { openTcp, openTls } from './socket.ts'
import { machineTrust, verifyServer } from './tls.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const defaultPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'socks5:': 1080,
  'socks5h:': 1080,
}

/** Host (without the brackets of IPv6) and port of a URL. */
export function proxyAddressOf(url: URL): { readonly host: string; readonly port: number } {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (defaultPorts[url.protocol] ?? 0) : Number(url.port),
  }
}

/** The proxy for `server`; none means a direct connection. An empty `proxyUrl` overrides the environment. */
export function proxyFor(server: URL, proxyUrl: string | undefined, env: Environment): URL | undefined {
  if (proxyUrl === '') return undefined
  if (proxyUrl !== undefined) return parseProxy(proxyUrl, 'proxy-url')
  const variable = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const value = setting(env, variable)
  // In a CGI program this variable is set by the `Proxy:` header of any visitor.
  const forged = variable === 'HTTP_PROXY' && env['REQUEST_METHOD']
  if (!value || forged || isExempt(server, setting(env, 'NO_PROXY') ?? '')) return undefined
  return parseProxy(value, variable)
}

function setting(env: Environment, name: string): string | undefined {
  return env[name] || env[name.toLowerCase()] || undefined
}

function parseProxy(value: string, origin: string): URL {
  const url = URL.parse(value.includes('://') ? value : `http://${value}`)
  if (!url || !(url.protocol in defaultPorts) || url.hostname === '') {
    // The value may hold a password: it is not quoted.
    throw new MusterError(
      clientErrors.ProxyFailed,
      `${origin} is not a URL of the form http://, https:// or socks5://host:port.`,
    )
  }
  return url
}

/** Loopback never uses a proxy; NO_PROXY lists addresses, ranges, names and domains, optionally with a port. */
function isExempt(server: URL, noProxy: string): boolean {
  const { BlockList, isIP } = process.getBuiltinModule('node:net')
  const { host, port } = proxyAddressOf(server)
  const family = isIP(host) === 6 ? 'ipv6' : 'ipv4'
  const isAddress = isIP(host) !== 0
  const within = (range: string, bits: number): boolean => {
    const list = new BlockList()
    list.addSubnet(range, bits, isIP(range) === 6 ? 'ipv6' : 'ipv4')
    return list.check(host, family)
  }
  if (host === 'localhost') return true
  if (isAddress && (family === 'ipv6' ? within('::1', 128) : within('127.0.0.0', 8))) return true

  return noProxy.split(',').some((entry) => {
    const rule = entry.trim().toLowerCase()
    if (rule === '*') return true
    const [, range = '', bits = ''] = /^([\d.a-f:]+)\/(\d+)$/.exec(rule) ?? []
    if (isIP(range)) return isAddress && Number(bits) <= (isIP(range) === 6 ? 128 : 32) && within(range, Number(bits))
    const [, bracketed, plain, onlyPort] = /^(?:\[(.+)\]|([^:]*)):(\w*)$/.exec(rule) ?? []
    if (onlyPort && Number(onlyPort) !== port) return false
    const name = bracketed ?? plain ?? rule
    if (isIP(name)) return isAddress && within(name, isIP(name) === 6 ? 128 : 32)
    if (name === '' || isAddress) return false
    const domain = name.replace(/^\*\./, '.')
    return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`)
  })
}

interface ThroughProxy {
  readonly proxy: URL
  readonly tls: TlsSettings
  readonly now: number
  readonly signal: AbortSignal
}

/** A connection to the proxy itself, for plain HTTP through an HTTP proxy. */
export async function openProxy({ proxy, tls, now, signal }: ThroughProxy): Promise<Socket> {
  const { host, port } = proxyAddressOf(proxy)
  const place = placeOf(proxy)
  try {
    if (proxy.protocol !== 'https:') return await openTcp(host, port, signal)
    const { isIP, checkServerIdentity } = {
      ...process.getBuiltinModule('node:net'),
      ...process.getBuiltinModule('node:tls'),
    }
    const socket = await openTls(
      {
        host,
        port,
        servername: isIP(host) ? '' : host,
        ca: [...machineTrust(), ...(tls.ca === undefined ? [] : [tls.ca])],
        allowPartialTrustChain: true,
        checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
      },
      signal,
    )
    const distrust = verifyServer(socket, tls, { host, place, now })
    if (!distrust) return socket
    socket.destroy()
    throw distrust
  } catch (error) {
    throw proxyError(error, place, signal)
  }
}

/** A socket that ends at `host:port`, through the proxy. */
export async function openTunnel(host: string, port: number, through: ThroughProxy): Promise<Socket> {
  const { proxy, signal } = through
  const place = placeOf(proxy)
  const socket = await openProxy(through)
  try {
    if (!proxy.protocol.startsWith('socks5')) return await openConnect(socket, host, port, through)
    const { openSocks5 } = await import('./socks5.ts')
    const user = proxy.username === '' ? undefined : decodeURIComponent(proxy.username)
    const password = decodeURIComponent(proxy.password)
    await openSocks5(socket, { host, port, user, password }, place, signal)
    return socket
  } catch (error) {
    socket.destroy()
    throw proxyError(error, place, signal)
  }
}

/** Proxy authentication headers, if the URL has credentials. */
export function proxyHeaders(proxy: URL): Readonly<Record<string, string>> {
  if (proxy.username === '') return {}
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}

function openConnect(socket: Socket, host: string, port: number, { proxy, signal }: ThroughProxy): Promise<Socket> {
  const { request } = process.getBuiltinModule('node:http')
  const target = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  return new Promise((resolve, reject) => {
    const sent = request({
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...proxyHeaders(proxy) },
      createConnection: () => socket,
    })
    const abort = (): void => {
      sent.destroy()
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', abort)
    sent.once('close', () => signal.removeEventListener('abort', abort))
    sent.on('error', reject)
    sent.once('connect', (answer, _, head: Uint8Array) => {
      signal.removeEventListener('abort', abort)
      if (answer.statusCode !== 200) {
        reject(
          new MusterError(clientErrors.ProxyFailed, `${placeOf(proxy)}: ${refusal(answer.statusCode ?? 0, target)}.`),
        )
        return
      }
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    sent.end()
  })
}

function refusal(status: number, target: string): string {
  return status === 407
    ? 'the proxy asks for a user and password, or refuses the ones it got (407)'
    : `the proxy answers ${status} when asked to connect to ${target}`
}

function placeOf(proxy: URL): string {
  return `proxy ${proxy.protocol}//${proxy.host}`
}

/** A failure before the tunnel is established is attributed to the proxy: the server was not reached. */
function proxyError(error: unknown, place: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const known = socketError(error, place, 'before it was through')
  return known.code === clientErrors.ProxyFailed.code
    ? known
    : new MusterError(clientErrors.ProxyFailed, known.message, { cause: known })
}
