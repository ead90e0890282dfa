/**
 * The load on both servers: a minimal HTTP/2 client with as many requests in flight as there are clients. It does as
 * little as possible, because it shares the machine with the servers.
 */
import { type ClientHttp2Session, connect } from 'node:http2'

export interface Target {
  readonly url: string
  readonly ca: string
  readonly token: string
}

export interface Load {
  /** One request; resolves with the length of the response. Any status other than 2xx throws. */
  send(method: string, path: string, body?: string, type?: string): Promise<number>
  /** `count` requests by `clients` concurrent clients; requests per second. */
  rate(count: number, clients: number, request: (index: number) => Promise<unknown>): Promise<number>
  /** Opens `watchers` watches and resolves, on request, with the milliseconds until each has seen `events`. */
  watch(path: string, watchers: number, events: number): Promise<{ readonly done: Promise<void> }>
  close(): void
}

/** Windows as large as those of Go's clients: with the small defaults of Node, a real server ended watches as too slow. */
function openSession(url: string, ca: string): ClientHttp2Session {
  const session = connect(url, { ca, settings: { initialWindowSize: 4 << 20 } })
  session.once('connect', () => session.setLocalWindowSize(1 << 30))
  return session
}

export function openLoad({ url, ca, token }: Target): Load {
  // A server allows a hundred streams on a connection.
  const sessions = [openSession(url, ca), openSession(url, ca)] as const
  const headersOf = (method: string, path: string): Record<string, string> => ({
    ':method': method,
    ':path': path,
    authorization: `Bearer ${token}`,
    accept: 'application/json',
  })
  let turn = 0
  const next = (): ClientHttp2Session => sessions[turn++ % sessions.length]!

  return {
    send(method, path, body, type = 'application/json') {
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      const headers = headersOf(method, path)
      if (body !== undefined) headers['content-type'] = type
      const stream = next().request(headers, { endStream: body === undefined })
      let status = 0
      let size = 0
      let head = ''
      stream.on('response', (answer) => (status = Number(answer[':status'])))
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (status >= 300) head += chunk.toString()
      })
      stream.on('end', () => (status < 300 ? resolve(size) : reject(new Error(`${method} ${path}: ${status} ${head}`))))
      stream.on('error', reject)
      if (body !== undefined) stream.end(body)
      return promise
    },
    async rate(count, clients, request) {
      let started = 0
      const start = performance.now()
      const client = async (): Promise<void> => {
        while (started < count) await request(started++)
      }
      await Promise.all(Array.from({ length: clients }, client))
      return (count / (performance.now() - start)) * 1000
    },
    async watch(path, watchers, events) {
      const newline = 0x0a
      const open = Array.from({ length: watchers }, () => {
        const stream = next().request(headersOf('GET', path))
        const ready = Promise.withResolvers<void>()
        const done = Promise.withResolvers<void>()
        let seen = 0
        stream.on('response', () => ready.resolve())
        stream.on('data', (chunk: Buffer) => {
          for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) seen++
          if (seen >= events) {
            done.resolve()
            stream.close()
          }
        })
        stream.on('error', done.reject)
        // A server ends the watch of a slow client.
        stream.on('end', () => done.reject(new Error(`a watch ended after ${seen} of ${events} events`)))
        return { ready: ready.promise, done: done.promise }
      })
      await Promise.all(open.map(({ ready }) => ready))
      return { done: Promise.all(open.map(({ done }) => done)).then(() => undefined) }
    },
    close() {
      for (const session of sessions) session.close()
    },
  }
}
