import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { abortable } from './body.ts'
import type { Handler, Transport, TransportRequest } from '../transport/transport.ts'

/** A request in flight, and how either side ends it. */
interface Passage {
  readonly request: TransportRequest & { readonly signal: AbortSignal }
  /** The request is complete: it can no longer be aborted. */
  readonly arrived: () => void
}

/** A transport that calls `handler` in this process. No socket, and no serialisation beyond the bodies. */
export function inProcessTransport(handler: Handler): Transport {
  const underWay = new Set<AbortController>()
  let closed: MusterError | undefined
  let streams = 0

  // Not `AbortSignal.any`: its weak references, and everything they refer to, survive until the next major garbage collection.
  const start = (request: TransportRequest): Passage => {
    if (closed)
      throw new MusterError(clientErrors.TransportClosed, `${request.method} ${request.path}: the client is closed.`)
    const given = request.signal
    given?.throwIfAborted()
    const own = new AbortController()
    const abort = (): void => own.abort(given?.reason)
    given?.addEventListener('abort', abort, { once: true })
    underWay.add(own)
    return {
      request: { ...request, signal: own.signal },
      arrived() {
        underWay.delete(own)
        given?.removeEventListener('abort', abort)
      },
    }
  }

  return {
    async send(request) {
      const { request: guarded, arrived } = start(request)
      try {
        const response = await handler.handle(guarded)
        if (response.whole) {
          arrived()
          return response
        }
        streams++
        const end = (): void => {
          streams--
          arrived()
        }
        return { ...response, body: abortable(response.body, guarded.signal, end) }
      } catch (error) {
        arrived()
        throw error
      }
    },
    async connect(request, protocols) {
      const { request: guarded, arrived } = start(request)
      try {
        if (!handler.connect)
          throw new MusterError(clientErrors.ProtocolError, `${request.path}: this server offers no message streams.`)
        const stream = await handler.connect(guarded, protocols)
        return {
          protocol: stream.protocol,
          send: (message) => stream.send(message),
          messages: abortable(stream.messages, guarded.signal, arrived),
          close() {
            arrived()
            stream.close()
          },
        }
      } catch (error) {
        arrived()
        throw error
      }
    },
    stats: () => ({ connections: 0, streams }),
    close() {
      closed = new MusterError(clientErrors.TransportClosed, 'the client is closed.')
      for (const one of underWay) one.abort(closed)
      underWay.clear()
      return Promise.resolve()
    },
  }
}
