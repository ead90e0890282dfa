import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { apiserverErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type ApiServer, createApiServer } from './api-server.ts'
import { createWakingServer } from './lazy-start.ts'

const ready: TransportRequest = { method: 'GET', path: '/readyz', headers: {} }

async function textOf({ body }: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** A builder that fails a given number of times, and counts its calls. */
function builder({ failures = 0 } = {}): { readonly build: () => Promise<ApiServer>; calls: number } {
  const counted = {
    calls: 0,
    async build(): Promise<ApiServer> {
      counted.calls++
      await Promise.resolve()
      if (counted.calls <= failures) throw new MusterError(apiserverErrors.StorageFailed, 'the disk is full.')
      return createApiServer({ clock: virtualClock() })
    },
  }
  return counted
}

describe('a server that starts lazily', () => {
  it('is built by the first request, once for all concurrent ones', async () => {
    const counted = builder()
    const server = createWakingServer(counted.build)
    server.endWatches()
    expect(counted.calls).toBe(0)
    const answers = await Promise.all([server.handle(ready), server.handle(ready), server.handle(ready)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await server.handle(ready)).status).toBe(200)
    expect(counted.calls).toBe(1)
    expect(await server.awake()).toBe(await server.wake())
  })

  it('reports why it could not be built, and tries again with the next request', async () => {
    const counted = builder({ failures: 1 })
    const server = createWakingServer(counted.build)
    const refused = await server.handle(ready)
    expect(refused.status).toBe(500)
    expect(JSON.parse(await textOf(refused))).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      message: expect.stringContaining('the disk is full') as unknown,
    })
    expect(await server.awake()).toBeUndefined()
    expect((await server.handle(ready)).status).toBe(200)
    expect(counted.calls).toBe(2)
  })

  it('is never built without a request', async () => {
    const counted = builder()
    expect(await createWakingServer(counted.build).awake()).toBeUndefined()
    expect(counted.calls).toBe(0)
  })
})
