import { describe, expect, it } from 'vitest'
import { seededRandom } from '../clock/random.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import { transportErrors } from '../transport/errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { bodyOf, readText } from './body.ts'
import type { RawRequest } from './client.ts'
import { createFlowControl } from './flow-control.ts'
import { inProcessTransport } from './in-process.ts'
import { createRequester, type RequesterOptions } from './requester.ts'
import { defaultRetryPolicy } from './retry.ts'
import type { TransportRequest, TransportResponse } from '../transport/transport.ts'
import type { ServerWarning } from './warning.ts'

type Handle = (request: TransportRequest) => TransportResponse | Promise<TransportResponse>

function respond(status: number, body: string, headers: Readonly<Record<string, string>> = {}): TransportResponse {
  return { status, headers, body: bodyOf(Buffer.from(body)) }
}

function refuse(status: number, reason: string, headers: Readonly<Record<string, string>> = {}): TransportResponse {
  return respond(status, JSON.stringify({ kind: 'Status', apiVersion: 'v1', code: status, reason }), headers)
}

async function* cutOff(text: string): AsyncGenerator<Uint8Array, void, void> {
  yield Buffer.from(text)
  throw new MusterError(transportErrors.ConnectionLost, 'cut')
}

const get: RawRequest = { method: 'GET', path: '/x?secret=1' }

/** A requester on a server that gives these answers one after the other, the last one for ever. */
function against(answers: readonly Handle[], options: Partial<RequesterOptions> = {}) {
  const clock = virtualClock()
  const seen: TransportRequest[] = []
  const transport = inProcessTransport({
    handle: async (request) => {
      seen.push(request)
      return await answers[Math.min(seen.length, answers.length) - 1]!(request)
    },
  })
  const requester = createRequester({
    transport,
    clock,
    random: seededRandom(1),
    flow: undefined,
    retry: defaultRetryPolicy,
    timeoutMs: 30_000,
    userAgent: 'test',
    onWarning: undefined,
    ...options,
  })
  /** What became of a request after `ms`. */
  const outcome = async (raw: RawRequest, ms = 60_000): Promise<string> => {
    let result = 'pending'
    requester
      .request(raw)
      .then(async ({ body }) => await readText(body))
      .then(
        (text) => (result = text),
        (error: unknown) => (result = (error as Error).name),
      )
    await clock.advance(ms)
    return result
  }
  return { clock, seen, requester, transport, outcome }
}

describe('a request', () => {
  it('has user agent, accepted types and body', async () => {
    const { seen, outcome } = against([() => respond(200, 'ok')])
    expect(await outcome({ method: 'POST', path: '/x', body: '{}' })).toBe('ok')
    expect(await outcome({ ...get, headers: { accept: 'text/plain' } })).toBe('ok')
    expect(seen[0]?.headers).toEqual({
      accept: 'application/json',
      'user-agent': 'test',
      'content-type': 'application/json',
    })
    expect(seen[1]?.headers).toEqual({ accept: 'text/plain', 'user-agent': 'test' })
  })

  it('that is throttled is repeated after the requested delay, and reports it', async () => {
    const answers = [() => refuse(429, 'TooManyRequests', { 'retry-after': '5' }), () => respond(201, 'made')]
    const { seen, outcome, requester } = against(answers)
    const post: RawRequest = { method: 'POST', path: '/x', body: '{}' }
    expect(await outcome(post, 5_000)).toBe('pending')
    expect(seen).toHaveLength(1)
    expect(await outcome(get, 1_000)).toBe('made')
    expect(requester.stats()).toMatchObject({ requests: 3, retries: 1 })
    expect(requester.stats().retryWaitMs).toBeGreaterThan(5_000)
  })

  it('that writes is not repeated when the server may have acted', async () => {
    const { seen, outcome } = against([() => refuse(500, 'InternalError')])
    expect(await outcome({ method: 'POST', path: '/x', body: '{}' })).toBe('ServerError')
    expect(seen).toHaveLength(1)
    expect(await outcome({ method: 'PUT', path: '/x', body: '{}', repeatable: true })).toBe('ServerError')
    expect(seen).toHaveLength(6)
  })

  it('whose response is truncated is repeated, if it only reads', async () => {
    const cut: Handle = () => ({ status: 200, headers: {}, body: cutOff('{"half":') })
    const reading = against([cut, () => respond(200, 'whole')])
    expect(await reading.outcome(get)).toBe('whole')
    const writing = against([cut, () => respond(200, 'whole')])
    expect(await writing.outcome({ method: 'POST', path: '/x' })).toBe('ConnectionLost')
  })

  it('with its own retry loop receives each failure', async () => {
    const { seen, outcome } = against([() => refuse(503, 'ServiceUnavailable')])
    expect(await outcome({ ...get, retry: false })).toBe('ServiceUnavailable')
    expect(seen).toHaveLength(1)
  })

  it('ends at its timeout, even if server and transport are silent', async () => {
    const { outcome } = against([() => new Promise(() => undefined)])
    expect(await outcome({ ...get, timeoutMs: 2_000 }, 1_999)).toBe('pending')
    expect(await outcome({ ...get, timeoutMs: 2_000 }, 2_000)).toBe('RequestTimeout')
  })

  it('has one timeout for attempts, delays and the body', async () => {
    async function* stalled(): AsyncGenerator<Uint8Array, void, void> {
      yield Buffer.from('a')
      await new Promise(() => undefined)
    }
    const slowBody = against([() => ({ status: 200, headers: {}, body: stalled() })])
    expect(await slowBody.outcome({ ...get, timeoutMs: 1_000 }, 1_000)).toBe('RequestTimeout')
    const busy = against([() => refuse(429, 'TooManyRequests', { 'retry-after': '1' })])
    expect(await busy.outcome({ ...get, timeoutMs: 3_000 }, 3_000)).toBe('TooManyRequests')
    expect(busy.seen.length).toBeLessThan(4)
  })

  it('ends at once when aborted: queued, in flight, waiting to retry', async () => {
    const cases: readonly (readonly [Handle, Partial<RequesterOptions>])[] = [
      [() => new Promise(() => undefined), {}],
      [() => refuse(429, 'TooManyRequests', { 'retry-after': '9' }), {}],
      [() => respond(200, 'never'), { flow: { take: (signal) => rejectOn(signal!), snapshot: () => idle } }],
    ]
    for (const [answer, options] of cases) {
      const { clock, requester } = against([answer], options)
      const abort = new AbortController()
      const asking = requester.request({ ...get, signal: abort.signal })
      asking.catch(() => undefined)
      await clock.advance(100)
      abort.abort()
      await expect(asking).rejects.toMatchObject({ name: 'Aborted', message: 'GET /x: aborted by the caller.' })
    }
  })

  it('that was already aborted is not sent', async () => {
    const { seen, requester } = against([() => respond(200, '')])
    await expect(requester.request({ ...get, signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'Aborted' })
    expect(seen).toHaveLength(0)
  })

  it('may get a 304 only if it is conditional', async () => {
    const { outcome } = against([() => respond(304, '')])
    expect(await outcome({ ...get, headers: { 'if-none-match': '"a"' } })).toBe('')
    expect(await outcome(get)).toBe('UnexpectedAnswer')
  })

  it('waits in the bucket that its identity shares', async () => {
    const clock = virtualClock()
    const flow = createFlowControl({ qps: 1, burst: 1 }, clock)
    const seen: string[] = []
    const of = (name: string) =>
      against([() => respond(200, name)], { clock, flow, userAgent: name })
        .requester.request(get)
        .then(() => seen.push(name))
    void of('a')
    void of('b')
    await clock.settle()
    expect(seen).toEqual(['a'])
    await clock.advance(1_000)
    expect(seen).toEqual(['a', 'b'])
    expect(flow.snapshot()).toMatchObject({ taken: 2, waited: 1, waitedMs: 1_000 })
  })

  it('passes on warnings of successful and failed responses', async () => {
    const heard: string[] = []
    const onWarning = (warning: ServerWarning, { path }: { readonly path: string }): void =>
      void heard.push(`${path} ${warning.text}`)
    const headers = { warning: '299 - "old", 299 - "odd"' }
    const { outcome } = against([() => respond(200, 'ok', headers), () => refuse(422, 'Invalid', headers)], {
      onWarning,
    })
    await outcome({ method: 'GET', path: '/a' })
    await outcome({ method: 'GET', path: '/b' })
    expect(heard).toEqual(['/a old', '/a odd', '/b old', '/b odd'])
  })
})

describe('a stream', () => {
  const streaming: RawRequest = { ...get, streaming: true, timeoutMs: 1_000 }

  it('has a timeout until its response head, and not after', async () => {
    async function* slow(clock: ReturnType<typeof virtualClock>): AsyncGenerator<Uint8Array, void, void> {
      await clock.sleep(5_000)
      yield Buffer.from('late')
    }
    const silent = against([() => new Promise(() => undefined)])
    expect(await silent.outcome(streaming, 1_000)).toBe('RequestTimeout')
    const open: ReturnType<typeof against> = against([() => ({ status: 200, headers: {}, body: slow(open.clock) })])
    expect(await open.outcome(streaming, 5_000)).toBe('late')
  })

  it('fails at once when aborted, even if its source is silent', async () => {
    async function* silent(): AsyncGenerator<Uint8Array, void, void> {
      yield Buffer.from('a')
      await new Promise(() => undefined)
    }
    const { requester } = against([() => ({ status: 200, headers: {}, body: silent() })])
    const abort = new AbortController()
    const { body } = await requester.request({ ...streaming, signal: abort.signal })
    const reading = readText(body)
    abort.abort()
    await expect(reading).rejects.toMatchObject({ name: 'Aborted' })
  })

  it('that breaks is not repeated: only its reader knows its position', async () => {
    const { seen, outcome } = against([() => ({ status: 200, headers: {}, body: cutOff('a') })])
    expect(await outcome(streaming)).toBe('ConnectionLost')
    expect(seen).toHaveLength(1)
  })

  it('releases its connection when its response is too late', async () => {
    let left = false
    const clock = virtualClock()
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: true, value: undefined }),
        return: () => {
          left = true
          return Promise.resolve({ done: true, value: undefined })
        },
      }),
    }
    const transport = {
      ...inProcessTransport({ handle: () => Promise.reject(new Error('unused')) }),
      send: async (): Promise<TransportResponse> => {
        await clock.sleep(2_000)
        return { status: 200, headers: {}, body }
      },
    }
    const { requester } = against([], { clock, transport })
    const asking = requester.request(streaming)
    asking.catch(() => undefined)
    await clock.advance(3_000)
    await expect(asking).rejects.toMatchObject({ name: 'RequestTimeout' })
    expect(left).toBe(true)
  })
})

const idle = { waiting: 0, taken: 0, waited: 0, waitedMs: 0, longestWaitMs: 0 }

function rejectOn(signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
