import { on } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { closing, connectionTo, echoHandler, failure, get, listen, startHttp2, textOf } from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { httpTransport } from './http-transport.ts'
import type { Transport } from '../../transport/transport.ts'

interface SocksOptions {
  readonly password?: string
  /** The reply to the request to connect. @default 0 */
  readonly reply?: number
  /** Sends each answer byte by byte. */
  readonly slowly?: boolean
}

/** A SOCKS 5 server as RFC 1928 and 1929 describe it, for names only. */
async function startSocks(options: SocksOptions = {}): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = []
  const serve = async (socket: Socket): Promise<void> => {
    const reader = on(socket, 'readable', { close: ['close'] })
    const read = async (size: number): Promise<Buffer> => {
      for (;;) {
        const bytes = socket.read(size) as Buffer | null
        if (bytes) return bytes
        if ((await reader.next()).done) throw new Error('the client hung up')
      }
    }
    const write = (...bytes: readonly number[]): void => {
      for (const part of options.slowly ? bytes.map((byte) => [byte]) : [bytes]) socket.write(Uint8Array.from(part))
    }
    const [, count = 0] = await read(2)
    const methods = [...(await read(count))]
    if (options.password === undefined) write(5, 0)
    else if (!methods.includes(2)) {
      write(5, 0xff)
      return
    } else {
      write(5, 2)
      const [, userLength = 0] = await read(2)
      const user = (await read(userLength)).toString()
      const [passwordLength = 0] = await read(1)
      const password = (await read(passwordLength)).toString()
      write(1, `${user}:${password}` === options.password ? 0 : 1)
    }
    const [, , , kind, length = 0] = await read(5)
    expect(kind).toBe(3)
    const name = (await read(length)).toString()
    const port = (await read(2)).readUInt16BE()
    asked.push(`${name}:${port}`)
    write(5, options.reply ?? 0, 0, 1, 127, 0, 0, 1, 0, 80)
    if (options.reply) return
    await reader.return?.()
    const far = connect(port, '127.0.0.1')
    far.pipe(socket).pipe(far)
    far.on('error', () => socket.destroy())
    socket.on('close', () => far.destroy())
  }
  const server = createServer((socket) => void serve(socket).catch(() => socket.destroy()))
  return { port: await listen(server), asked }
}

const through = (server: string, proxyUrl: string): Transport =>
  closing(httpTransport(connectionTo(server, { proxyUrl }), { clock: systemClock, env: {} }))

describe('through a SOCKS 5 proxy', () => {
  it.each([false, true])('a server is reached by its name, which the proxy resolves (slowly: %s)', async (slowly) => {
    const server = await startHttp2(echoHandler)
    const proxy = await startSocks({ slowly })
    const url = server.url.replace('127.0.0.1', 'localhost')
    const answer = await through(url, `socks5://127.0.0.1:${proxy.port}`).send(get('/pods'))
    expect(await textOf(answer.body)).toBe('/pods')
    expect(proxy.asked).toEqual([new URL(url).host])
  })

  it('user and password are sent when the proxy asks for them', async () => {
    const server = await startHttp2(echoHandler)
    const proxy = await startSocks({ password: 'jane:p@ss' })
    const answer = await through(server.url, `socks5h://jane:p%40ss@127.0.0.1:${proxy.port}`).send(get('/pods'))
    expect(await textOf(answer.body)).toBe('/pods')
  })

  it.each([
    ['socks5://', 'the proxy asks for a user and password'],
    ['socks5://jane:secret@', 'the proxy refuses the user or password'],
  ])('%s is reported', async (start, text) => {
    const proxy = await startSocks({ password: 'jane:other' })
    const error = await failure(through('https://10.0.0.1', `${start}127.0.0.1:${proxy.port}`).send(get('/')))
    expect(error.name).toBe('ProxyFailed')
    expect(error.message).toBe(`proxy socks5://127.0.0.1:${proxy.port}: ${text}.`)
  })

  it('its rejection is explained', async () => {
    const proxy = await startSocks({ reply: 5 })
    const error = await failure(through('https://10.0.0.1:6443', `socks5://127.0.0.1:${proxy.port}`).send(get('/')))
    expect(error.message).toContain('no connection to 10.0.0.1:6443: the server refused the connection')
  })

  it('a server with another protocol, or one that disconnects, is not a SOCKS proxy', async () => {
    for (const answer of ['HTTP/1.1 400 Bad Request\r\n\r\n', '']) {
      const port = await listen(createServer((socket) => void socket.once('data', () => socket.end(answer))))
      const error = await failure(through('https://10.0.0.1:6443', `socks5://127.0.0.1:${port}`).send(get('/')))
      expect(error.name).toBe('ProxyFailed')
    }
  })
})
