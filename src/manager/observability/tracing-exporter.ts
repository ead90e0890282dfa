/**
 * Exports spans to a collector, by OTLP over HTTP as JSON. Tracing must not slow down the manager: spans are sent in
 * batches in the background; spans beyond the buffer are dropped and counted; a collector that is slow, unreachable or
 * faulty costs nothing but its spans.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { Attribute, Span } from './tracing-spans.ts'

interface ExporterOptions {
  /** The URL of the traces endpoint: `http://collector:4318/v1/traces`. */
  readonly url: string
  /** They may contain a secret, and are sent to the collector only. */
  readonly headers?: Readonly<Record<string, string>>
  readonly clock: Clock
  /** Resource attributes: `service.name` and the like. */
  readonly resource: Readonly<Record<string, string>>
  /** Spans in memory. @default 4096 */
  readonly most?: number
  /** Spans in one request. @default 512 */
  readonly bundle?: number
  /** @default the platform's */
  readonly fetch?: typeof fetch
}

interface Exporter {
  add(spans: readonly Span[]): void
  stats(): ExporterStats
  /** Sends the remaining spans, in one request. */
  close(): Promise<void>
}

export interface ExporterStats {
  readonly exported: number
  readonly dropped: number
  readonly waiting: number
  /** Why the last request failed, in our own words. */
  readonly problem?: string
}

const timeoutMs = 10_000
/** How long spans are collected into a batch. */
const everyMs = 2000
const patience: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** Longest back-off after failed requests. */
const longestWaitMs = 60_000

export function createExporter(options: ExporterOptions): Exporter {
  const { url, headers = {}, clock, most = 4096, bundle = 512, fetch: send = fetch } = options
  const resource = { attributes: attributesOf(options.resource) }
  let waiting: Span[] = []
  let exported = 0
  let dropped = 0
  let failures = 0
  let problem: string | undefined
  let timer: Timer | undefined
  let sending: Promise<void> | undefined
  let isClosed = false

  const post = async (spans: readonly Span[]): Promise<'sent' | 'later' | 'never'> => {
    const deadline = new AbortController()
    const limit = clock.after(timeoutMs, () => deadline.abort())
    try {
      const response = await send(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'muster' }, spans }] }] }),
        // A redirect would send the headers to another host.
        redirect: 'error',
        signal: deadline.signal,
      })
      await response.body?.cancel()
      if (response.ok) return 'sent'
      problem = `the collector answered ${response.status}`
      return patience.has(response.status) ? 'later' : 'never'
    } catch {
      // The error's message may contain the URL, which may contain a password.
      problem = deadline.signal.aborted ? `no answer within ${timeoutMs} ms` : 'the collector cannot be reached'
      return 'later'
    } finally {
      limit.cancel()
    }
  }

  const sendBundle = async (): Promise<void> => {
    const spans = waiting.slice(0, bundle)
    waiting = waiting.slice(bundle)
    const result = await post(spans)
    if (result === 'sent') {
      exported += spans.length
      failures = 0
      problem = undefined
      return
    }
    failures++
    // Newer spans may have arrived: only what fits is kept.
    const room = result === 'later' && !isClosed ? Math.max(most - waiting.length, 0) : 0
    waiting = [...spans.slice(0, room), ...waiting]
    dropped += spans.length - Math.min(room, spans.length)
  }

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const before = failures
      await sendBundle()
      if (failures > before) break
    }
  }

  const arm = (): void => {
    if (timer || sending || isClosed || waiting.length === 0) return
    const wait = Math.min(everyMs * 2 ** Math.min(failures, 10), longestWaitMs)
    timer = clock.after(failures === 0 && waiting.length >= bundle ? 0 : wait, () => {
      timer = undefined
      sending = flush().finally(() => {
        sending = undefined
        arm()
      })
    })
  }

  return {
    add(spans) {
      if (isClosed || waiting.length + spans.length > most) {
        dropped += spans.length
        return
      }
      waiting.push(...spans)
      arm()
    },
    stats: () => ({ exported, dropped, waiting: waiting.length, ...(problem !== undefined && { problem }) }),
    async close() {
      isClosed = true
      timer?.cancel()
      await sending
      await flush()
      dropped += waiting.length
      waiting = []
    },
  }
}

function attributesOf(values: Readonly<Record<string, string>>): readonly Attribute[] {
  return Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }))
}
