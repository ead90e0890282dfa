/**
 * One request below the verbs: applies flow control, sends, retries where that is safe, and turns error responses into
 * errors. One deadline covers everything, and the caller can abort at any time.
 */
import type { Clock } from '../clock/clock.ts'
import type { Random } from '../clock/random.ts'
import { apiError, whereabouts } from './api-error.ts'
import { abortable, bodyOf, leave, readBytes } from './body.ts'
import type { ClientStats, RawRequest } from './client.ts'
import { Deadline } from './deadline.ts'
import type { FlowControl } from './flow-control.ts'
import { mediaType } from './media-type.ts'
import { type RetryPolicy, withRetries } from './retry.ts'
import type { MessageStream, Transport, TransportRequest, TransportResponse } from '../transport/transport.ts'
import { parseWarnings, type ServerWarning } from './warning.ts'

export interface RequesterOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly flow: FlowControl | undefined
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly userAgent: string
  readonly onWarning: ((warning: ServerWarning, request: Pick<RawRequest, 'method' | 'path'>) => void) | undefined
}

export interface Requester {
  request(request: RawRequest): Promise<TransportResponse>
  connect(request: RawRequest, protocols: readonly string[]): Promise<MessageStream>
  stats(): ClientStats
}

export function createRequester(options: RequesterOptions): Requester {
  const { transport, clock, random, flow, onWarning } = options
  let requests = 0
  let retries = 0
  let retryWaitMs = 0

  const toTransport = (raw: RawRequest, deadline: Deadline): TransportRequest => ({
    method: raw.method,
    path: raw.path,
    headers: {
      accept: mediaType.json,
      'user-agent': options.userAgent,
      ...(raw.body === undefined ? {} : { 'content-type': mediaType.json }),
      ...raw.headers,
    },
    body: raw.body,
    signal: deadline.signal,
    // The deadline covers all attempts; the transport's own time-out must not be shorter than the rest of it.
    headTimeoutMs: Number.isFinite(deadline.at) ? Math.max(deadline.at - clock.now(), 1) : undefined,
  })

  /** Runs `attempt`, and again where that is safe, until the deadline. */
  const run = <T>(raw: RawRequest, deadline: Deadline, attempt: () => Promise<T>): Promise<T> => {
    const go = (): Promise<T> => {
      requests++
      return deadline.race(attempt())
    }
    const inTurn = flow ? (): Promise<T> => flow.take(deadline.signal).then(go) : go
    deadline.signal.throwIfAborted()
    if (raw.retry === false) return inTurn()
    const onWait = (ms: number): void => {
      retries++
      retryWaitMs += ms
    }
    const repeatable = raw.repeatable ?? raw.method === 'GET'
    const { at, signal } = deadline
    return withRetries({ policy: options.retry, clock, random, repeatable, deadline: at, signal, onWait }, inTurn)
  }

  const start = (raw: RawRequest): Deadline =>
    new Deadline({
      clock,
      timeoutMs: raw.timeoutMs ?? options.timeoutMs,
      signal: raw.signal,
      what: whereabouts(raw),
    })

  const exchange = async (raw: RawRequest, deadline: Deadline): Promise<TransportResponse> => {
    const response = await transport.send(toTransport(raw, deadline))
    if (deadline.signal.aborted) {
      // Aborted while the response arrived: it has no reader.
      leave(response.body)
      throw deadline.signal.reason as Error
    }
    const warnings = onWarning && response.headers['warning']
    if (warnings) for (const warning of parseWarnings(warnings)) onWarning(warning, raw)
    if (!isWanted(raw, response.status)) throw await apiError(raw, response, clock.now())
    // A complete body needs no waiting.
    if (raw.streaming || response.whole) return response
    const whole = await readBytes(response.body)
    return { ...response, body: bodyOf(whole), whole }
  }

  return {
    async request(raw) {
      const deadline = start(raw)
      try {
        const response = await run(raw, deadline, () => exchange(raw, deadline))
        if (!raw.streaming) {
          deadline.release()
          return response
        }
        deadline.stopTiming()
        return { ...response, body: abortable(response.body, deadline.signal, () => deadline.release()) }
      } catch (error) {
        deadline.release()
        throw error
      }
    },

    async connect(raw, protocols) {
      const deadline = start(raw)
      try {
        return await run(raw, deadline, async () => {
          const stream = await transport.connect(toTransport(raw, deadline), protocols)
          if (deadline.signal.aborted) stream.close()
          return stream
        })
      } finally {
        deadline.release()
      }
    },

    stats: () => ({ requests, retries, retryWaitMs, flow: flow?.snapshot() }),
  }
}

function isWanted(raw: RawRequest, status: number): boolean {
  return (status >= 200 && status < 300) || (status === 304 && raw.headers?.['if-none-match'] !== undefined)
}
