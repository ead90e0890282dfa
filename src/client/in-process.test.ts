import { describe, expect, it } from 'vitest'
import type { Handler } from '../transport/transport.ts'
import { inProcessTransport } from './in-process.ts'
import type { TransportRequest, TransportResponse } from '../transport/transport.ts'

const request: TransportRequest = { method: 'GET', path: '/watch', headers: {}, body: undefined, signal: undefined }

async function* forever(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  yield Buffer.from('first')
  await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
}

/** Answers with a stream that ends when its signal says so, and remembers the signals. */
function streaming(): Handler & { readonly signals: AbortSignal[] } {
  const signals: AbortSignal[] = []
  return {
    signals,
    handle({ signal }): Promise<TransportResponse> {
      signals.push(signal!)
      return Promise.resolve({ status: 200, headers: {}, body: forever(signal) })
    },
  }
}

describe('an in-process transport', () => {
  it('ends pending requests when it is closed, and accepts no more', async () => {
    const transport = inProcessTransport(streaming())
    const { body } = await transport.send(request)
    const chunks = body[Symbol.asyncIterator]()
    await chunks.next()
    expect(transport.stats().streams).toBe(1)
    const next = chunks.next()
    await transport.close()
    await expect(next).rejects.toMatchObject({ name: 'TransportClosed' })
    expect(transport.stats().streams).toBe(0)
    await expect(transport.send(request)).rejects.toMatchObject({ name: 'TransportClosed' })
  })

  it('ends an aborted request, with the reason', async () => {
    const handler = streaming()
    const caller = new AbortController()
    const { body } = await inProcessTransport(handler).send({ ...request, signal: caller.signal })
    const chunks = body[Symbol.asyncIterator]()
    await chunks.next()
    const next = chunks.next()
    caller.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    expect(handler.signals[0]!.aborted).toBe(true)
    await expect(inProcessTransport(handler).send({ ...request, signal: caller.signal })).rejects.toThrow('enough')
  })

  it.each(['after its first chunk', 'before'])('releases a body that is abandoned %s', async (when) => {
    const handler = streaming()
    const caller = new AbortController()
    const transport = inProcessTransport(handler)
    const { body } = await transport.send({ ...request, signal: caller.signal })
    const chunks = body[Symbol.asyncIterator]()
    if (when !== 'before') await chunks.next()
    // What waits for an end that never comes is not waited for.
    void chunks.return?.()
    await Promise.resolve()
    expect(transport.stats().streams).toBe(0)
    caller.abort()
    await transport.close()
    expect(handler.signals[0]!.aborted).toBe(false)
  })

  it('releases a failed request, and a closed message stream', async () => {
    const signals: AbortSignal[] = []
    const caller = new AbortController()
    const transport = inProcessTransport({
      handle({ signal }) {
        signals.push(signal!)
        return Promise.reject(new Error('no'))
      },
      connect({ signal }) {
        signals.push(signal!)
        const messages = forever(signal)
        return Promise.resolve({ protocol: 'v5', send: () => undefined, messages, close: () => undefined })
      },
    })
    await expect(transport.send({ ...request, signal: caller.signal })).rejects.toThrow('no')
    const stream = await transport.connect({ ...request, signal: caller.signal }, ['v5'])
    expect(stream.protocol).toBe('v5')
    stream.close()
    caller.abort()
    await transport.close()
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
  })
})
