import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Client } from './client.ts'
import { connect } from './connect.ts'
import { connectionFromKubeconfig } from './load-connection.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A client of a server on the loopback that answers GETs with what it heard, and commands as `run` says. */
async function connected(
  protocols: readonly string[],
  run: (socket: WebSocket, request: IncomingMessage) => void,
): Promise<Client> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ path: request.url, agent: request.headers['user-agent'] }))
  })
  const handleProtocols = (offered: Set<string>): string | false => protocols.find((one) => offered.has(one)) ?? false
  const sockets = new WebSocketServer({ noServer: true, handleProtocols })
  server.on('upgrade', (request, socket, head) => {
    if (request.url?.includes('/pods/missing/')) {
      const status = {
        kind: 'Status',
        code: 404,
        reason: 'NotFound',
        details: { name: 'missing' },
        message: 'no such pod',
      }
      const body = JSON.stringify(status)
      socket.end(
        `HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      return
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => run(webSocket, request))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const connection = await connectionFromKubeconfig({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'here', cluster: { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } }],
    users: [{ name: 'me', user: { token: 'sesame' } }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
  })
  const client = await connect({ connection, userAgent: 'tester/1.0' })
  closing.push(() => client.close())
  return client
}

/** A container that has `cat`: it gives back what it reads, and at the end of its input exits with 3. */
function cat(socket: WebSocket): void {
  const status = {
    status: 'Failure',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: '3' }] },
  }
  const send = (channel: number, text: string): void =>
    socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]))
  for (const channel of [1, 2, 3]) send(channel, '')
  socket.on('message', (data: Buffer) => {
    if (data[0] === 0) send(1, data.subarray(1).toString())
    if (data[0] === 255 && data[1] === 0) {
      send(2, 'bye')
      send(3, JSON.stringify(status))
      socket.close(1000)
    }
  })
}

async function* input(...items: readonly string[]): AsyncGenerator<Uint8Array, void, void> {
  for (const item of items) yield Buffer.from(item)
}

const pod = { namespace: 'a', name: 'web' }

describe('a connected client', () => {
  it('sends HTTP to the server of its connection, under its own name', async () => {
    const client = await connected([], () => undefined)
    const nodes = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
    expect(await client.get(nodes, { name: 'n1' })).toEqual({
      path: '/api/v1/nodes/n1',
      agent: 'tester/1.0',
    })
  })

  it('runs a command over WebSocket to its end, including input', async () => {
    let path: string | undefined
    const client = await connected(['v5.channel.k8s.io', 'v4.channel.k8s.io'], (socket, request) => {
      path = request.url
      cat(socket)
    })
    const output = { out: '', err: '' }
    const result = await client.exec(pod, ['cat', '-'], {
      stdin: input('hello ', 'wörld'),
      onStdout: (chunk) => void (output.out += Buffer.from(chunk).toString()),
      onStderr: (chunk) => void (output.err += Buffer.from(chunk).toString()),
    })
    expect(result).toEqual({ exitCode: 3 })
    expect(output).toEqual({ out: 'hello wörld', err: 'bye' })
    expect(path).toBe('/api/v1/namespaces/a/pods/web/exec?command=cat&command=-&stdin=true&stdout=true&stderr=true')
  })

  it('falls back to the older protocol, and rejects an unknown one', async () => {
    const finish = (socket: WebSocket): void => {
      socket.send(Buffer.from('\u0003{"status":"Success"}'))
      socket.close(1000)
    }
    const older = await connected(['v4.channel.k8s.io'], finish)
    expect(await older.exec(pod, ['true'])).toEqual({ exitCode: 0 })
    const stranger = await connected([], finish)
    await expect(stranger.exec(pod, ['true'])).rejects.toMatchObject({ name: 'ProtocolError' })
  })

  it('reports why a command could not be started', async () => {
    const client = await connected([], () => undefined)
    await expect(client.exec({ ...pod, name: 'missing' }, ['cat', 'hunter2'])).rejects.toMatchObject({
      name: 'NotFound',
      message: 'GET /api/v1/namespaces/a/pods/missing/exec: no such pod',
    })
  })

  it('detects a server that disconnects during a command', async () => {
    const client = await connected(['v5.channel.k8s.io'], (socket) => socket.terminate())
    await expect(client.exec(pod, ['sleep', '1'])).rejects.toMatchObject({ name: 'ConnectionLost' })
  })
})
