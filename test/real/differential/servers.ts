/** The two servers that are compared, down to what both are: something that takes a request and answers. */
import { Agent, request } from 'node:https'
import { type ApiServer, createApiServer } from '../../../src/apiserver/server/api-server.ts'
import type { Clock } from '../../../src/clock/clock.ts'
import { systemClock } from '../../../src/clock/system-clock.ts'
import type { Access } from '../cluster.ts'
import type { Verb } from './step.ts'

export interface Message {
  readonly method: Verb
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
}

export interface Side {
  send(message: Message): Promise<Reply>
  close(): void
}

/** A new embedded server. The test sets its clock, so that both servers agree on the second. */
export function embeddedSide(): Side & { setTime(now: number): void } {
  let now = systemClock.now()
  const clock: Clock = { ...systemClock, now: () => now }
  const users = new Map([['admin-token', { username: 'admin', uid: 'u-admin', groups: ['system:masters'] }]])
  const server: ApiServer = createApiServer({ clock, access: { tokens: users, strangers: 'anonymous' } })
  return {
    send: async (message) => await server.handle(message),
    close: () => server.endWatches(),
    setTime(time) {
      now = time
    },
  }
}

/** The real server breaks down over a few requests (a list where a merge key should be), and closes the connection. */
const noAnswer: Reply = { status: 0, headers: {}, body: nothing() }

async function* nothing(): AsyncGenerator<Uint8Array> {
  // There is nothing to read.
}

export function realSide(access: Access): Side {
  const agent = new Agent({ keepAlive: true, ca: access.ca })
  const side: Side = {
    send({ method, path, headers: wanted, body, signal }) {
      const headers = body === undefined ? wanted : { ...wanted, 'content-length': String(Buffer.byteLength(body)) }
      const { promise, resolve, reject } = Promise.withResolvers<Reply>()
      const outgoing = request(access.server + path, { method, agent, headers, signal }, (response) => {
        const answered = Object.entries(response.headers).map(([name, value]): [string, string] => [
          name,
          Array.isArray(value) ? value.join(', ') : (value ?? ''),
        ])
        resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(answered), body: response })
      })
      outgoing.on('error', (error) => {
        // The server may close an idle connection just as it is reused: it has not seen the request.
        if (outgoing.reusedSocket && error.message === 'socket hang up') {
          resolve(side.send({ method, path, headers: wanted, body, signal }))
        } else if (error.message === 'socket hang up') resolve(noAnswer)
        else reject(error)
      })
      outgoing.end(body)
      return promise
    },
    close: () => agent.destroy(),
  }
  return side
}
