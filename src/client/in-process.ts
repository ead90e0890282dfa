import { MusterError } from '../kube/errors.ts'
import type { MessageStream, Transport, TransportRequest, TransportResponse } from './transport.ts'

/** An API server as a function: what the embedded one is, and what a test writes in ten lines. */
export interface Handler {
  handle(request: TransportRequest): Promise<TransportResponse>
  connect?(request: TransportRequest, protocols: readonly string[]): Promise<MessageStream>
}

/** A transport that calls `handler` in this process. No socket, no serialisation beyond the bodies themselves. */
export function inProcessTransport(handler: Handler): Transport {
  const closing = new AbortController()
  let streams = 0

  const guard = (request: TransportRequest): TransportRequest => {
    if (closing.signal.aborted)
      throw new MusterError('TransportClosed', `${request.method} ${request.path}: the client is closed.`)
    return { ...request, signal: request.signal ? AbortSignal.any([request.signal, closing.signal]) : closing.signal }
  }

  return {
    async send(request) {
      const guarded = guard(request)
      guarded.signal?.throwIfAborted()
      const response = await handler.handle(guarded)
      return { ...response, body: counted(response.body, (change) => void (streams += change)) }
    },
    async connect(request, protocols) {
      const guarded = guard(request)
      if (!handler.connect)
        throw new MusterError('ProtocolError', `${request.path}: this server offers no message streams.`)
      return await handler.connect(guarded, protocols)
    },
    stats: () => ({ connections: 0, streams }),
    close() {
      closing.abort(new MusterError('TransportClosed', 'the client is closed.'))
      return Promise.resolve()
    },
  }
}

async function* counted(body: AsyncIterable<Uint8Array>, count: (change: number) => void): AsyncGenerator<Uint8Array> {
  count(1)
  try {
    yield* body
  } finally {
    count(-1)
  }
}
