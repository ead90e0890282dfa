import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failure } from '../../test/loopback.ts'
import { seededRandom } from '../clock/random.ts'
import { type VirtualClock, virtualClock } from '../clock/virtual-clock.ts'
import { sidecarClient, type SidecarClient, type SidecarRequest, type SidecarResponse } from './client.ts'

const state = { state: 'running', since: '2026-01-01T00:00:00.000Z', reachable: true }
const record = { key: 'a/b', name: 'backup', state: 'running', startedAt: state.since, updatedAt: state.since }

interface Scene {
  readonly clock: VirtualClock
  readonly client: SidecarClient
  readonly requests: SidecarRequest[]
}

type Reply = Error | readonly [status: number, body: unknown, headers?: Record<string, string>]

/** A sidecar that gives these answers, one after the other, and the last one for ever. */
function scene(...replies: readonly Reply[]): Scene {
  const clock = virtualClock()
  const requests: SidecarRequest[] = []
  const transport = async (request: SidecarRequest): Promise<SidecarResponse> => {
    const reply = replies[Math.min(requests.length, replies.length - 1)]!
    requests.push(request)
    if (reply instanceof Error) throw reply
    const [status, body, headers = {}] = reply
    return { status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
  }
  const client = sidecarClient({
    url: 'http://10.0.0.7:8787/',
    token: () => 'the-secret-token',
    clock,
    random: seededRandom(1),
    transport,
  })
  return { clock, client, requests }
}

async function settled<T>({ clock }: Scene, work: Promise<T>): Promise<T> {
  let isOver = false
  const over = (): void => void (isOver = true)
  work.then(over, over)
  await clock.until(() => isOver)
  return await work
}

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

describe('a client of a sidecar', () => {
  it('sends its token and the requested parameters', async () => {
    const one = scene([200, state])
    expect(await one.client.state({ since: state.since, waitMs: 2500 })).toEqual(state)
    expect(one.requests[0]).toMatchObject({
      method: 'GET',
      url: 'http://10.0.0.7:8787/v1/state?since=2026-01-01T00%3A00%3A00.000Z&wait=2.500',
      headers: { authorization: 'Bearer the-secret-token' },
    })
    const two = scene([202, record])
    expect(await two.client.start({ key: 'a/b', name: 'backup', input: { n: 1 } })).toEqual(record)
    expect(two.requests[0]).toMatchObject({ method: 'POST', body: '{"key":"a/b","name":"backup","input":{"n":1}}' })
    const three = scene([200, record])
    await three.client.action('a/b')
    await three.client.cancel('a/b')
    expect(three.requests.map(({ method, url }) => [method, url])).toEqual([
      ['GET', 'http://10.0.0.7:8787/v1/actions/a%2Fb'],
      ['DELETE', 'http://10.0.0.7:8787/v1/actions/a%2Fb'],
    ])
    expect(await scene([200, { actions: [record] }]).client.actions()).toEqual([record])
  })

  it('retries transient failures: every request is idempotent', async () => {
    const one = scene(refused, [500, { error: 'Internal', message: 'x' }], [503, 'nothing like JSON'], [202, record])
    expect(await settled(one, one.client.start({ key: 'a/b', name: 'backup' }))).toEqual(record)
    expect(one.requests).toHaveLength(4)
    expect(new Set(one.requests.map(({ body }) => body)).size).toBe(1)
  })

  it('gives up at its deadline, and reports the last failure', async () => {
    const one = scene(refused)
    const error = await failure(settled(one, one.client.state()))
    expect(error).toMatchObject({
      name: 'SidecarUnreachable',
      retry: 'transient',
      message: 'sidecar, GET /v1/state: ECONNREFUSED.',
    })
    expect(one.requests.length).toBeGreaterThan(3)
  })

  it('waits for a silent sidecar only up to its deadline', async () => {
    const clock = virtualClock()
    const transport = ({ signal }: SidecarRequest): Promise<SidecarResponse> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    const client = sidecarClient({
      url: 'http://x',
      token: 't',
      clock,
      random: seededRandom(1),
      transport,
      timeoutMs: 500,
    })
    const asked = failure(client.state({ since: 'x', waitMs: 1000 }))
    let isOver = false
    void asked.then(() => (isOver = true))
    await clock.advance(1499)
    expect(isOver).toBe(false)
    await clock.advance(1)
    expect(await asked).toMatchObject({
      name: 'SidecarUnreachable',
      message: expect.stringContaining('500 ms') as string,
    })
  })

  it.each<readonly [string, string, Reply, number | undefined]>([
    ['SidecarBusy', 'throttled', [429, { error: 'Busy', message: '"a" still running.' }, { 'retry-after': '5' }], 5000],
    ['ActionConflict', 'terminal', [409, { error: 'Conflict', message: 'known.' }], undefined],
    ['SidecarUnauthorized', 'transient', [401, { error: 'Unauthorized', message: 'no.' }], undefined],
    ['SidecarRefused', 'terminal', [400, { error: 'UnknownAction', message: 'none.' }], undefined],
  ])('reports %s at once (%s)', async (name, retry, reply, retryAfterMs) => {
    const one = scene(reply)
    const error = await failure(one.client.start({ key: 'b', name: 'backup', input: 'a-secret-input' }))
    expect(error).toMatchObject({ name, retry, retryAfterMs })
    expect(error.message).not.toMatch(/secret/)
    expect(one.requests).toHaveLength(1)
  })

  it('distinguishes an unknown action from an action that cannot be requested', async () => {
    const none: Reply = [404, { error: 'NotFound', message: 'there is none.' }]
    expect(await scene(none).client.action('x')).toBeUndefined()
    expect(await scene(none).client.cancel('x')).toBeUndefined()
    // Something else answers at that address.
    expect(await failure(scene([404, '<html>']).client.action('x'))).toMatchObject({ name: 'SidecarRefused' })
  })

  it('raises its own error for any invalid response', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), async (status, body) => {
        const one = scene([status, body])
        const error = await settled(one, one.client.actions()).catch((reason: unknown) => reason as Error)
        expect(
          Array.isArray(error) ||
            (error as Error).name.startsWith('Sidecar') ||
            (error as Error).name === 'ActionConflict',
        ).toBe(true)
      }),
      { numRuns: 50 },
    )
  })
})
