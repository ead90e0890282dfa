import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../clock/system-clock.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import type { Client } from '../client/client.ts'
import { offline } from '../operator/live.ts'
import { createLive } from './live-calls.ts'

// What the calls do not touch of a client is not there.
const noClient = {} as Client

describe('calls over HTTP', () => {
  let server: Server | undefined
  afterEach(() => {
    server?.closeAllConnections()
    server?.close()
  })

  const serve = async (answer: RequestListener): Promise<string> => {
    server = createServer(answer)
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  // No wait between attempts takes time here; the time-outs of attempts never come.
  const impatient = { ...systemClock, sleep: () => Promise.resolve() }

  it('send JSON and read the answer, whatever its status', async () => {
    const url = await serve((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += String(chunk)))
      request.on('end', () => {
        response.writeHead(418, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ method: request.method, type: request.headers['content-type'], body }))
      })
    })
    const answer = await createLive({ client: noClient, clock: impatient }).http({
      method: 'POST',
      url,
      body: { a: 1 },
    })
    expect(answer.status).toBe(418)
    expect(answer.json()).toEqual({ method: 'POST', type: 'application/json', body: '{"a":1}' })
  })

  it('are repeated where that is safe and may help, and nowhere else', async () => {
    const seen: string[] = []
    const url = await serve((request, response) => {
      seen.push(request.method ?? '')
      response.writeHead(seen.length < 3 ? 503 : 200).end()
    })
    const live = createLive({ client: noClient, clock: impatient })
    expect((await live.http({ url })).status).toBe(200)
    expect(seen).toEqual(['GET', 'GET', 'GET'])
    seen.length = 0
    expect((await live.http({ url, method: 'POST' })).status).toBe(503)
    expect(seen).toEqual(['POST'])
  })

  it('that are not answered end when their time is over, without telling what was in the address', async () => {
    const asked = Promise.withResolvers<void>()
    const url = await serve(() => asked.resolve())
    const clock = virtualClock()
    const call = createLive({ client: noClient, clock }).http({ url: `${url}/?token=hush`, timeoutMs: 50, retries: 0 })
    const failure = call.catch((error: unknown) => (error as Error).message)
    await asked.promise
    await clock.advance(50)
    expect(await failure).toBe(`GET ${url}: no answer within 50 ms.`)
  })

  it('do not take an answer without end', async () => {
    const url = await serve((_, response) => {
      const chunk = Buffer.alloc(1024 * 1024)
      const pour = (): void => {
        while (response.write(chunk));
      }
      response.on('drain', pour)
      pour()
    })
    const call = createLive({ client: noClient, clock: impatient }).http({ url, retries: 0 })
    await expect(call).rejects.toThrow('larger than')
  })

  it('need a network: an offline run says so', async () => {
    expect(offline.available).toBe(false)
    await expect(offline.http({ url: 'https://user:pass@example.com/x?token=hush' })).rejects.toThrow(
      'A call to https://example.com needs a network.',
    )
    await expect(offline.exec({ name: 'p' }, ['ls'])).rejects.toThrow('Pod p needs a cluster')
  })
})

describe('commands in containers', () => {
  it('give back what they wrote and how they ended', async () => {
    const client = {
      exec: (_pod, _command, options) => {
        options?.onStdout?.(Buffer.from('out'))
        options?.onStderr?.(Buffer.from('err'))
        return Promise.resolve({ exitCode: 3 })
      },
    } as Partial<Client> as Client
    const live = createLive({ client, clock: virtualClock() })
    expect(await live.exec({ name: 'p' }, ['x'])).toEqual({ exitCode: 3, stdout: 'out', stderr: 'err' })
  })

  it('that do not end are ended', async () => {
    const clock = virtualClock()
    const client = {
      exec: (_pod, _command, options) =>
        new Promise((_, reject) => {
          options?.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error))
        }),
    } as Partial<Client> as Client
    const running = createLive({ client, clock }).exec({ name: 'p' }, ['sleep', 'secret'], { timeoutMs: 100 })
    const failure = running.catch((error: unknown) => (error as Error).message)
    await clock.advance(100)
    expect(await failure).toBe('Pod p: sleep did not end within 100 ms.')
  })
})
