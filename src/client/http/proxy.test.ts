import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import {
  closing,
  connectionTo,
  echoHandler,
  eventually,
  failure,
  get,
  listen,
  serverPair,
  startHttp2,
  textOf,
} from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Connection } from '../connection.ts'
import { httpTransport } from './http-transport.ts'
import { type Environment, proxyFor } from './proxy.ts'
import type { Transport } from '../../transport/transport.ts'

const chosen = (server: string, env: Environment, proxyUrl?: string): string | undefined =>
  proxyFor(new URL(server), proxyUrl, env)?.href

describe('proxyFor', () => {
  const proxy = 'http://proxy:3128/'

  it('uses the variable of the scheme, upper case first', () => {
    const env = { HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'http://plain:2', https_proxy: 'http://lower:3' }
    expect(chosen('https://api', env)).toBe('http://secure:1/')
    expect(chosen('http://api', env)).toBe('http://plain:2/')
    expect(chosen('https://api', { https_proxy: 'http://lower:3' })).toBe('http://lower:3/')
    expect(chosen('https://api', { HTTPS_PROXY: '', https_proxy: 'http://lower:3' })).toBe('http://lower:3/')
    expect(chosen('https://api', {})).toBeUndefined()
  })

  it('treats a host without a scheme as an HTTP proxy', () => {
    expect(chosen('https://api', { HTTPS_PROXY: 'proxy:3128' })).toBe(proxy)
  })

  it('ignores HTTP_PROXY where a CGI server could have set it', () => {
    expect(chosen('http://api', { HTTP_PROXY: proxy, REQUEST_METHOD: 'GET' })).toBeUndefined()
    expect(chosen('https://api', { HTTPS_PROXY: proxy, REQUEST_METHOD: 'GET' })).toBe(proxy)
  })

  it('lets proxy-url override the environment, even an empty one', () => {
    const env = { HTTPS_PROXY: proxy, NO_PROXY: '*' }
    expect(chosen('https://api', env, 'socks5://other:1')).toBe('socks5://other:1')
    expect(chosen('https://127.0.0.1', {}, 'http://other')).toBe('http://other/')
    expect(chosen('https://api', { HTTPS_PROXY: proxy }, '')).toBeUndefined()
  })

  it('never proxies loopback by default', () => {
    for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]']) {
      expect(chosen(`https://${host}:6443`, { HTTPS_PROXY: proxy })).toBeUndefined()
    }
    expect(chosen('https://128.0.0.1', { HTTPS_PROXY: proxy })).toBe(proxy)
  })

  it.each([
    ['*', 'api.example.com', true],
    ['other, *', '10.0.0.1', true],
    ['example.com', 'example.com', true],
    ['example.com', 'api.example.com', true],
    ['EXAMPLE.com', 'api.example.com', true],
    ['example.com', 'badexample.com', false],
    ['.example.com', 'api.example.com', true],
    ['.example.com', 'example.com', false],
    ['*.example.com', 'api.example.com', true],
    ['*.example.com', 'example.com', false],
    ['example.com:6443', 'api.example.com:6443', true],
    ['example.com:443', 'api.example.com:6443', false],
    ['example.com:443', 'api.example.com', true],
    ['10.0.0.1', '10.0.0.1:6443', true],
    ['10.0.0.1', '10.0.0.10', false],
    ['10.0.0.1:6443', '10.0.0.1:6443', true],
    ['10.0.0.1:443', '10.0.0.1:6443', false],
    ['10.0.0.0/8', '10.200.3.4', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.0.0.0/33', '10.0.0.1', false],
    ['10.0.0.0/8', 'ten.example.com', false],
    ['fd00::/8', '[fd12::1]:6443', true],
    ['fd00::/8', '10.0.0.1', false],
    ['::2', '[::2]', true],
    ['[::2]:6443', '[::2]:6443', true],
    ['[::2]:443', '[::2]:6443', false],
    ['a,, b , example.com', 'example.com', true],
    [':443', 'example.com', false],
    ['', 'example.com', false],
    ['1', '10.0.0.1', false],
  ])('NO_PROXY=%s exempts %s: %s', (noProxy, host, exempt) => {
    expect(chosen(`https://${host}`, { HTTPS_PROXY: proxy, NO_PROXY: noProxy })).toBe(exempt ? undefined : proxy)
  })

  it('rejects an invalid proxy, without quoting it', () => {
    for (const value of ['ftp://user:secret@proxy', 'http://', 'http://user:secret@']) {
      expect(() => chosen('https://api', {}, value)).toThrow(/^proxy-url is not a URL of the form/)
      expect(() => chosen('https://api', { HTTPS_PROXY: value })).toThrow(/^HTTPS_PROXY is not a URL/)
    }
  })
})

interface Proxy {
  readonly port: number
  readonly asked: string[]
}

/** An HTTP proxy that lets through what `status` says, and remembers what it was asked for. */
async function startProxy(
  options: { readonly secure?: boolean; readonly status?: (request: IncomingMessage) => number } = {},
): Promise<Proxy> {
  const asked: string[] = []
  const server = options.secure ? createHttpsServer(serverPair) : createHttpServer()
  server.on('connect', (request: IncomingMessage, near: Duplex) => {
    asked.push(request.url!)
    const status = options.status?.(request) ?? 200
    near.on('error', () => {})
    if (status !== 200) {
      near.end(`HTTP/1.1 ${status} No\r\n\r\n`)
      return
    }
    const far: Socket = connect(Number(request.url!.split(':').at(-1)), '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connected\r\n\r\n')
      far.pipe(near).pipe(far)
    })
    far.on('error', () => near.destroy())
    near.on('close', () => far.destroy())
  })
  server.on('request', (request, response) => {
    asked.push(request.url!)
    const status = options.status?.(request) ?? 200
    response.writeHead(status).end(`${request.method} ${request.url}`)
  })
  return { port: await listen(server), asked }
}

const openTo = (connection: Connection): Transport =>
  closing(httpTransport(connection, { clock: systemClock, env: {} }))

describe('through a proxy', () => {
  it('HTTP/2 runs in a tunnel, with its own TLS', async () => {
    const server = await startHttp2(echoHandler)
    const proxy = await startProxy()
    const transport = openTo(connectionTo(server.url, { proxyUrl: `http://127.0.0.1:${proxy.port}` }))
    expect(await textOf((await transport.send(get('/pods'))).body)).toBe('/pods')
    expect(await textOf((await transport.send(get('/again'))).body)).toBe('/again')
    expect(proxy.asked).toEqual([new URL(server.url).host])
    expect(server.seen.length).toBe(1)
  })

  it('the tunnel to an untrusted server is closed', async () => {
    const server = await startHttp2(echoHandler)
    let [open, opened] = [0, 0]
    const proxy = await startProxy({
      status: (request) => {
        open++
        opened++
        request.socket.once('close', () => open--)
        return 200
      },
    })
    const proxyUrl = `http://127.0.0.1:${proxy.port}`
    const error = await failure(openTo(connectionTo(server.url, { proxyUrl, tls: {} })).send(get('/')))
    expect(error.name).toBe('CertificateUntrusted')
    await eventually(() => open === 0)
    expect(opened).toBe(1)
  })

  it('the proxy itself may speak TLS', async () => {
    const server = await startHttp2(echoHandler)
    const proxy = await startProxy({ secure: true })
    const transport = openTo(connectionTo(server.url, { proxyUrl: `https://127.0.0.1:${proxy.port}` }))
    expect(await textOf((await transport.send(get('/pods'))).body)).toBe('/pods')
    expect(proxy.asked.length).toBe(1)
  })

  it('a proxy with an untrusted certificate is rejected', async () => {
    const proxy = await startProxy({ secure: true })
    const connection = connectionTo('https://10.0.0.1', { proxyUrl: `https://127.0.0.1:${proxy.port}`, tls: {} })
    const error = await failure(openTo(connection).send(get('/')))
    expect(error.name).toBe('ProxyFailed')
    expect(error.message).toContain('is not trusted')
    expect(proxy.asked).toEqual([])
  })

  it('user and password of its URL are sent to the proxy only', async () => {
    const seen: (string | undefined)[] = []
    const server = await startHttp2((stream, headers) => {
      stream.respond({ ':status': 200 })
      stream.end(JSON.stringify(headers))
    })
    const proxy = await startProxy({
      status: (request) => {
        seen.push(request.headers['proxy-authorization'])
        return 200
      },
    })
    const transport = openTo(connectionTo(server.url, { proxyUrl: `http://jane:p%40ss@127.0.0.1:${proxy.port}` }))
    const answer = await textOf((await transport.send(get('/'))).body)
    expect(seen).toEqual([`Basic ${Buffer.from('jane:p@ss').toString('base64')}`])
    expect(answer).not.toContain('proxy-authorization')
  })

  it.each([
    [407, 'the proxy asks for a user and password, or refuses the ones it got (407)'],
    [403, 'the proxy answers 403 when asked to connect to 10.0.0.1:6443'],
  ])('its rejection (%i) is reported without the password', async (status, text) => {
    const proxy = await startProxy({ status: () => status })
    const proxyUrl = `http://jane:secret@127.0.0.1:${proxy.port}`
    const error = await failure(openTo(connectionTo('https://10.0.0.1:6443', { proxyUrl })).send(get('/')))
    expect(error).toMatchObject({ name: 'ProxyFailed', message: `proxy http://127.0.0.1:${proxy.port}: ${text}.` })
  })

  it('an unreachable proxy is reported as such, not the server', async () => {
    const error = await failure(
      openTo(connectionTo('https://10.0.0.1:6443', { proxyUrl: 'http://127.0.0.1:1' })).send(get('/')),
    )
    expect(error.name).toBe('ProxyFailed')
    expect(error.message).toBe('proxy http://127.0.0.1:1: nothing listens there (connection refused).')
  })

  it('a silent proxy times out', async () => {
    const clock = virtualClock()
    const { createServer } = await import('node:net')
    let accepted = 0
    const port = await listen(createServer((socket) => void socket.once('data', () => accepted++)))
    const connection = connectionTo('https://10.0.0.1:6443', { proxyUrl: `http://127.0.0.1:${port}` })
    const sent = failure(closing(httpTransport(connection, { clock, env: {} })).send(get('/')))
    await eventually(() => accepted === 1)
    await clock.advance(10_000)
    expect((await sent).name).toBe('RequestTimeout')
  })

  it('plain HTTP is sent to an HTTP proxy with the whole URL', async () => {
    const proxy = await startProxy()
    const transport = openTo(
      connectionTo('http://10.0.0.1:8080/prefix', { proxyUrl: `http://127.0.0.1:${proxy.port}` }),
    )
    expect(await textOf((await transport.send(get('/pods?limit=1'))).body)).toBe(
      'GET http://10.0.0.1:8080/prefix/pods?limit=1',
    )
  })
})
