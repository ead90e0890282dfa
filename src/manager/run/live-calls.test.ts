import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Client } from '../../client/client.ts'
import { offline } from '../../operator/live.ts'
import { createLive } from './live-calls.ts'

// What the calls do not touch of a client is not there.
const noClient = {} as Client

describe('calls over HTTP', () => {
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  const serve = async (answer: RequestListener): Promise<string> => {
    const server = createServer(answer)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  // No wait between attempts takes time here; the time-outs of attempts never come.
  const impatient = { ...systemClock, sleep: () => Promise.resolve() }

  it('send JSON and read the response, whatever its status', async () => {
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

  it('are repeated where safe and useful only', async () => {
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

  it('without a response end at their timeout, without revealing the URL', async () => {
    const asked = Promise.withResolvers<void>()
    const url = await serve(() => asked.resolve())
    const clock = virtualClock()
    const call = createLive({ client: noClient, clock }).http({ url: `${url}/?token=hush`, timeoutMs: 50, retries: 0 })
    const failure = call.catch((error: unknown) => (error as Error).message)
    await asked.promise
    await clock.advance(50)
    expect(await failure).toBe(`GET ${url}: no answer within 50 ms.`)
  })

  it('limit the size of a response', async () => {
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

  describe('that are redirected', () => {
    const statuses = [301, 302, 303, 307, 308]
    const headers = { authorization: 'Bearer hush', 'x-api-key': 'hush', cookie: 'hush=1' }

    /** An application that redirects every call to `to()`, and another that notes what reaches it. */
    const redirecting = async (status: number): Promise<{ from: string; other: string; seen: string[] }> => {
      const seen: string[] = []
      const other = await serve((request, response) => {
        seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
        response.end('there')
      })
      const from = await serve((request, response) => {
        if (request.url === '/home') response.end(JSON.stringify([request.method, request.headers['x-api-key']]))
        else response.writeHead(status, { location: request.url === '/a' ? '/home' : `${other}/there` }).end()
      })
      return { from, other, seen }
    }

    it.each(statuses)('with %i reach no disallowed origin', async (status) => {
      const { from, other, seen } = await redirecting(status)
      const live = createLive({ client: noClient, clock: impatient })
      for (const redirectTo of [[], [from], [`${other}0`]]) {
        await expect(live.http({ url: from, headers, redirectTo })).rejects.toMatchObject({
          name: 'OutsideRefused',
          message: `${from} redirects (${status}) to ${other}: this origin is not allowed for the operator.`,
        })
      }
      expect(seen).toEqual([])
    })

    it.each(statuses)('with %i send no header and no body to another origin', async (status) => {
      const { from, other, seen } = await redirecting(status)
      const live = createLive({ client: noClient, clock: impatient })
      expect((await live.http({ url: from, headers, redirectTo: [other] })).body).toBe('there')
      expect((await live.http({ url: from, headers })).body).toBe('there')
      // What a redirect turns into a GET goes on without its body; what would take its body along does not.
      const outcomes = await Promise.allSettled([
        live.http({ method: 'POST', url: from, headers, body: { password: 'hush' } }),
        live.http({ method: 'PUT', url: from, headers, body: 'hush' }),
      ])
      const shown = outcomes.map((each) =>
        each.status === 'fulfilled' ? each.value.body : (each.reason as Error).message,
      )
      const refused = `${from} redirects (${status}) to ${other}: the body of a call does not go to another origin.`
      expect(shown).toEqual([status < 307 ? 'there' : refused, status === 303 ? 'there' : refused])
      expect(seen.every((request) => request.startsWith('GET /there'))).toBe(true)
      expect(seen.join()).not.toContain('hush')
    })

    it.each(statuses)('with %i keep their headers within their origin', async (status) => {
      const { from } = await redirecting(status)
      const live = createLive({ client: noClient, clock: impatient })
      const answer = await live.http({ method: 'POST', url: `${from}/a`, headers, body: 'b', redirectTo: [] })
      expect(answer.json()).toEqual([status < 307 ? 'GET' : 'POST', 'hush'])
    })

    it('end after five redirects, and follow no invalid address', async () => {
      let asked = 0
      const url = await serve((request, response) => {
        asked++
        response
          .writeHead(302, { location: request.url === '/' ? '/' : decodeURIComponent(request.url!.slice(1)) })
          .end()
      })
      const live = createLive({ client: noClient, clock: impatient })
      await expect(live.http({ url, retries: 0 })).rejects.toThrow('more than 5 redirects')
      expect(asked).toBe(6)
      for (const location of ['file:///etc/passwd', 'data:,x', 'http://u:hush@127.0.0.1/', 'http://[']) {
        const call = live.http({ url: `${url}/${encodeURIComponent(location)}`, redirectTo: [url] })
        await expect(call).rejects.toMatchObject({ name: 'OutsideRefused' })
        await expect(call).rejects.not.toThrow('hush')
      }
    })

    it('do not downgrade from HTTPS to HTTP', async () => {
      const send = (() =>
        Promise.resolve(
          Response.json({}, { status: 302, headers: { location: 'http://a.example.com/' } }),
        )) as typeof fetch
      const live = createLive({ client: noClient, clock: impatient, fetch: send })
      await expect(live.http({ url: 'https://a.example.com/' })).rejects.toThrow('does not go on in the clear')
    })
  })

  it('need a network: an offline run reports that', async () => {
    expect(offline.available).toBe(false)
    await expect(offline.http({ url: 'https://user:pass@example.com/x?token=hush' })).rejects.toThrow(
      'A call to https://example.com needs a network.',
    )
    await expect(offline.exec({ name: 'p' }, ['ls'])).rejects.toThrow('Pod p needs a cluster')
  })
})

describe('commands in containers', () => {
  it('return their output and exit code', async () => {
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

  it('with endless output are ended', async () => {
    const client = {
      exec: (_pod, _command, options) =>
        new Promise((_, reject) => {
          options?.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error))
          for (let count = 0; count < 9; count++) options?.onStderr?.(Buffer.alloc(1024 * 1024))
        }),
    } as Partial<Client> as Client
    const running = createLive({ client, clock: virtualClock() }).exec({ name: 'p' }, ['yes', 'secret'])
    await expect(running).rejects.toThrow('Pod p: yes prints more than 8388608 bytes.')
  })

  it('that do not end are ended at their timeout', async () => {
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
