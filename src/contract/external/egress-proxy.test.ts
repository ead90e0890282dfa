import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { connect, createServer as createPlainServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type EgressProxy, type EgressRefusal, openEgressProxy, readAllowList, readTarget } from './egress-proxy.ts'

interface Stage {
  readonly proxy: EgressProxy
  readonly told: readonly EgressRefusal[]
  /** What comes back for a text, until the other side has said all. */
  ask(this: void, text: string): Promise<string>
  dial(this: void): Socket
}

async function stage(allow: readonly string[]): Promise<Stage> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-egress-'))
  const place = path.join(folder, 's')
  const told: EgressRefusal[] = []
  const proxy = await openEgressProxy(place, { allow, operator: 'x', onRefused: (one) => void told.push(one) })
  onTestFinished(async () => {
    await proxy.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const dial = (): Socket => connect(place)
  return {
    proxy,
    told,
    dial,
    ask(text) {
      const socket = dial()
      socket.write(text)
      return allOf(socket)
    },
  }
}

/** All that comes, also where the connection breaks. */
function allOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (more: string) => (text += more))
    socket.on('error', () => undefined).on('close', () => resolve(text))
  })
}

interface Upstream {
  readonly port: number
  readonly seen: readonly IncomingMessage[]
}

/** A server outside of the sandbox: it echoes the request. */
async function upstream(answer?: RequestListener): Promise<Upstream> {
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    seen.push(request)
    if (answer) {
      answer(request, response)
      return
    }
    let body = ''
    request.setEncoding('utf8').on('data', (more: string) => (body += more))
    request.on('end', () => response.end(`${request.method} ${request.url} ${body}`))
  })
  return { port: await listening(server), seen }
}

async function listening(server: ReturnType<typeof createPlainServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as { readonly port: number }).port
}

const statusOf = (answer: string): string => answer.split('\r\n')[0]!.replace('HTTP/1.1 ', '')
const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4)

describe('the allow-list of an egress proxy', () => {
  it.each<[string, string, boolean]>([
    ['api.example.com:8443', 'api.example.com:8443', true],
    ['api.example.com:8443', 'api.example.com:443', false],
    ['api.example.com:8443', 'other.api.example.com:8443', false],
    ['api.example.com:8443', 'xapi.example.com:8443', false],
    ['api.example.com:8443', 'api.example.com.evil.org:8443', false],
    // Without a port, the default ports of HTTP and HTTPS.
    ['api.example.com', 'api.example.com:80', true],
    ['api.example.com', 'api.example.com:443', true],
    ['api.example.com', 'api.example.com:22', false],
    // Letters are the same in both sizes, and a last dot says nothing.
    ['API.example.com:443', 'api.EXAMPLE.com:443', true],
    ['api.example.com:443', 'api.example.com.:443', true],
    ['api.example.com.:443', 'api.example.com:443', true],
    // A domain is what is below it, at any depth, and not itself.
    ['*.example.com:443', 'a.example.com:443', true],
    ['*.example.com:443', 'a.b.Example.com.:443', true],
    ['*.example.com:443', 'example.com:443', false],
    ['*.example.com:443', 'notexample.com:443', false],
    ['*.example.com:443', 'a.example.com.evil.org:443', false],
    // One address in any spelling.
    ['10.0.0.1:6443', '10.0.0.1:6443', true],
    ['10.0.0.1:6443', '10.0.0.10:6443', false],
    ['10.0.0.1:6443', '10.1:6443', true],
    ['[::1]:6443', '[::1]:6443', true],
    ['[::1]:6443', '[0:0:0:0:0:0:0:1]:6443', true],
    ['[2001:DB8::1]:6443', '[2001:db8:0::1]:6443', true],
    ['[::1]:6443', '[::2]:6443', false],
    ['[::1]', '[::1]:443', true],
    ['127.0.0.1:6443', '[::1]:6443', false],
  ])('%s with a request for %s: %s', (entry, wanted, may) => {
    expect(readAllowList([entry])(readTarget(wanted)!)).toBe(may)
  })

  it.each(['', '*', '*.', 'https://x/', 'x/y', 'a b', 'x:0', 'x:65536', 'x:', '::1', '*.[::1]:443', 'user@x:443'])(
    'is invalid with “%s”',
    (entry) => {
      expect(() => readAllowList([entry])).toThrow(/is no address such as api\.example\.com:443/)
    },
  )

  it.each([
    '',
    'x',
    'x:',
    ':443',
    'x:0',
    'x:65536',
    'x:443/',
    'user@x:443',
    'x#.example.com:443',
    'x?.example.com:443',
    'x%00.example.com:443',
    '.example.com:443',
    'a..example.com:443',
    '::1:443',
    '[::1:443',
    `${'x'.repeat(254)}:443`,
  ])('rejects “%s”, which is not an address', (text) => {
    expect(readTarget(text)).toBeUndefined()
  })
})

describe('an egress proxy', () => {
  it('connects to listed origins: all further data passes, including data sent with the request', async () => {
    const { port } = await upstream()
    const { ask, proxy } = await stage([`127.0.0.1:${port}`])
    const get = 'GET /inside HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    const answer = await ask(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n${get}`)
    expect(statusOf(answer)).toBe('200 Connection Established')
    expect(answer).toMatch(/GET \/inside $/)
    expect(proxy.refused).toEqual([])
  })

  it('rejects all other connections, forwards nothing, and records them', async () => {
    const { port, seen } = await upstream()
    const { ask, proxy, told } = await stage(['127.0.0.1:1', '*.example.com'])
    const get = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\n\r\n`
    expect(await ask(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n${get}`)).toBe(
      'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n',
    )
    expect(await ask('CONNECT Elsewhere.example.org.:443 HTTP/1.1\r\n\r\n')).toContain('403 Forbidden')
    expect(await ask('CONNECT [::1]:443 HTTP/1.1\r\n\r\n')).toContain('403 Forbidden')
    expect(seen).toEqual([])
    const targets = [`127.0.0.1:${port}`, 'elsewhere.example.org:443', '[::1]:443']
    const refusals = targets.map((target) => ({ operator: 'x', target, message: `x tried to reach ${target}.` }))
    expect(proxy.refused).toEqual(refusals)
    expect(told).toEqual(refusals)
  })

  it('reports an unreachable and an invalid address', async () => {
    const server = createPlainServer()
    const port = await listening(server)
    await new Promise((resolve) => server.close(resolve))
    const { ask, proxy } = await stage([`127.0.0.1:${port}`])
    expect(statusOf(await ask(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`))).toBe('502 Bad Gateway')
    const plain = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
    expect(statusOf(await ask(plain))).toBe('502 Bad Gateway')
    expect(statusOf(await ask('CONNECT /etc/passwd HTTP/1.1\r\n\r\n'))).toBe('400 Bad Request')
    expect(proxy.refused).toEqual([])
  })

  it('forwards plain requests with the host of the address, not of their headers', async () => {
    const { port, seen } = await upstream()
    const { ask } = await stage([`127.0.0.1:${port}`])
    const answer = await ask(
      [
        `POST http://user:pass@127.0.0.1:${port}/a?b=c HTTP/1.1`,
        'host: elsewhere.example.com',
        'content-length: 4',
        'x-own: kept',
        'proxy-authorization: Basic c2VjcmV0',
        'proxy-connection: keep-alive',
        'upgrade: websocket',
        'connection: close, upgrade',
        '',
        'body',
      ].join('\r\n'),
    )
    expect([statusOf(answer), bodyOf(answer).includes('POST /a?b=c body')]).toEqual(['200 OK', true])
    expect(seen[0]!.headers).toEqual({
      host: `127.0.0.1:${port}`,
      'content-length': '4',
      'x-own': 'kept',
      connection: 'close',
    })
  })

  it('accepts absolute URLs of plain HTTP only', async () => {
    const { port, seen } = await upstream()
    const { ask } = await stage([`127.0.0.1:${port}`])
    for (const target of ['/', `//127.0.0.1:${port}/`, `https://127.0.0.1:${port}/`, `ftp://127.0.0.1:${port}/`, '*']) {
      const method = target === '*' ? 'OPTIONS' : 'GET'
      const answer = await ask(`${method} ${target} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`)
      expect(statusOf(answer)).toBe('400 Bad Request')
    }
    expect(seen).toEqual([])
  })

  it('checks each request of a connection separately', async () => {
    const { port, seen } = await upstream()
    const other = await upstream()
    const { ask, proxy } = await stage([`127.0.0.1:${port}`])
    const get = (to: number, last: string): string =>
      `GET http://127.0.0.1:${to}/ HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${last}\r\n`
    const answer = await ask(get(port, '') + get(other.port, '') + get(port, 'connection: close\r\n'))
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 403', 'HTTP/1.1 200'])
    expect([seen.length, other.seen.length]).toEqual([2, 0])
    expect(proxy.refused.map(({ target }) => target)).toEqual([`127.0.0.1:${other.port}`])
  })

  it.each<[string, readonly string[], string]>([
    ['two lengths', ['content-length: 4', 'content-length: 40'], 'abcd'],
    ['a length and chunks', ['content-length: 4', 'transfer-encoding: chunked'], '0\r\n\r\n'],
    ['invalid chunks', ['transfer-encoding: xchunked'], '0\r\n\r\n'],
    ['a header without a name', [': x'], ''],
    ['a space before the colon', ['content-length : 4'], 'abcd'],
    ['a folded header', ['x: y', ' z'], ''],
    ['a zero byte', ['x: y\0z'], ''],
  ])('forwards no ambiguous request: %s', async (_, lines, body) => {
    const { port, seen } = await upstream()
    const { ask } = await stage([`127.0.0.1:${port}`])
    const smuggled = `GET http://127.0.0.1:${port}/smuggled HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
    const head = [`POST http://127.0.0.1:${port}/ HTTP/1.1`, 'host: x', ...lines, '', body].join('\r\n')
    expect(statusOf(await ask(head + smuggled))).toBe('400 Bad Request')
    expect(seen).toEqual([])
  })

  it('forwards bodies with their framing, for any method and connection header', async () => {
    const { port, seen } = await upstream()
    const { ask } = await stage([`127.0.0.1:${port}`])
    const inner = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n'
    const answer = await ask(
      [
        `GET http://127.0.0.1:${port}/outer HTTP/1.1`,
        'host: x',
        'connection: close, transfer-encoding',
        'transfer-encoding: chunked',
        '',
        inner.length.toString(16),
        inner,
        '0',
        '',
        '',
      ].join('\r\n'),
    )
    expect(answer).toContain(`GET /outer ${inner}`)
    expect(seen.map(({ url }) => url)).toEqual(['/outer'])
  })

  it('rejects a huge head, and serves the next request', async () => {
    const { port, seen } = await upstream()
    const { ask } = await stage([`127.0.0.1:${port}`])
    const get = (more: string): string =>
      `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\n${more}connection: close\r\n\r\n`
    const huge = 'x'.repeat(100_000)
    expect(statusOf(await ask(get(`x: ${huge}\r\n`)))).toBe('431 Request Header Fields Too Large')
    expect(statusOf(await ask(`CONNECT ${huge}:443 HTTP/1.1\r\n\r\n`))).toMatch(/^4/)
    expect(seen).toEqual([])
    expect(statusOf(await ask(get('')))).toBe('200 OK')
  })

  it('survives an upstream that disconnects during its response', async () => {
    const { port } = await upstream((request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => request.socket.destroy())
    })
    const { ask } = await stage([`127.0.0.1:${port}`])
    const get = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`
    expect(bodyOf(await ask(get))).toBe('half')
    expect(bodyOf(await ask(get))).toBe('half')
  })

  it('ends with all its connections', async () => {
    const ended: Promise<unknown>[] = []
    const here = Promise.withResolvers<void>()
    const { port } = await upstream((request) => {
      ended.push(new Promise((resolve) => request.socket.on('close', resolve)))
      if (ended.length === 2) here.resolve()
    })
    const { proxy, dial } = await stage([`127.0.0.1:${port}`])
    const [tunnel, plain] = [dial(), dial()]
    tunnel.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n`)
    plain.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nhost: x\r\n\r\n`)
    await here.promise
    const both = Promise.all([allOf(tunnel), allOf(plain)])
    await proxy.close()
    await Promise.all(ended)
    // The one was through, and nothing came; the other waited for an answer.
    expect(await both).toEqual(['HTTP/1.1 200 Connection Established\r\n\r\n', ''])
  })

  it('reports each address once, up to a limit', async () => {
    const { ask, proxy, told } = await stage([])
    const tried = Array.from({ length: 130 }, (_, index) => `h${index}.example.com:443`)
    for (const target of ['h0.example.com:443', ...tried]) await ask(`CONNECT ${target} HTTP/1.1\r\n\r\n`)
    expect(told.slice(0, 100).map(({ target }) => target)).toEqual(tried.slice(0, 100))
    expect(told.slice(100).map(({ message }) => message)).toEqual(['x tried to reach more than 100 addresses.'])
    expect(proxy.refused.map(({ target }) => target)).toEqual(tried.slice(-100))
  })
})
