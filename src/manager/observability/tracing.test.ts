import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { createExporter } from './tracing-exporter.ts'
import { type Span, spansOf, traceparent } from './tracing-spans.ts'
import { createTracing, tracingSettings } from './tracing.ts'

const id = '0af7651916cd43dd8448eb211c80319c'
const ledger: Ledger = {
  operator: 'cache',
  controller: 'memcached',
  key: 'default/m',
  generation: 3,
  path: ['CRGetter', 'Updater', 'ErrorManager'],
  stepsAt: [1000, 1002, 1030],
  entries: [
    { step: 'Updater', subject: 'config', operation: 'updated', fields: ['data.a'] },
    { step: 'Updater', subject: 'deployment', operation: 'failed', message: 'no' },
    { step: 'ErrorManager', subject: 'cr', operation: 'statusWritten' },
  ],
  health: new Map(),
  isFinalizing: false,
  startedAt: 1000,
  failure: {
    step: 'Updater',
    subject: 'deployment',
    reason: 'Forbidden',
    message: 'no',
    retry: 'terminal',
    gaveUp: false,
    afterMs: undefined,
  },
  effort: {
    id,
    endedAt: 1040,
    reads: 4,
    cpuMs: 2,
    sent: [
      {
        subject: 'config',
        verb: 'apply',
        kind: 'v1 ConfigMap',
        name: { name: 'm', namespace: 'default' },
        startedAt: 1003,
        endedAt: 1020,
        isDone: true,
      },
      {
        subject: 'deployment',
        verb: 'apply',
        kind: 'apps/v1 Deployment',
        name: { name: 'm', namespace: 'default' },
        startedAt: 1003,
        endedAt: 1020,
        isDone: false,
      },
      {
        subject: 'cr',
        verb: 'status',
        kind: 'cache.example.com/v1 Memcached',
        name: { name: 'm', namespace: 'default' },
        startedAt: 1031,
        endedAt: 1040,
        isDone: true,
      },
    ],
  },
}

const shown = ({ name, parentSpanId, startTimeUnixNano, endTimeUnixNano, status }: Span, all: readonly Span[]) => ({
  name,
  within: all.find(({ spanId }) => spanId === parentSpanId)?.name,
  ms: [startTimeUnixNano, endTimeUnixNano].map((nano) => Number(nano.slice(0, -6))),
  failed: status.code === 2,
})

describe('a trace of a reconcile', () => {
  it('has a span for the run, for each step and for each write, under the id of the run', () => {
    const spans = spansOf(ledger)
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([id]))
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    for (const { spanId } of spans) expect(spanId).toMatch(/^[0-9a-f]{16}$/)
    const run = 'reconcile cache/memcached'
    expect(spans.map((span) => shown(span, spans))).toEqual([
      { name: run, within: undefined, ms: [1000, 1040], failed: true },
      { name: 'CRGetter', within: run, ms: [1000, 1002], failed: false },
      { name: 'Updater', within: run, ms: [1002, 1030], failed: true },
      { name: 'ErrorManager', within: run, ms: [1030, 1040], failed: false },
      { name: 'apply ConfigMap', within: 'Updater', ms: [1003, 1020], failed: false },
      { name: 'apply Deployment', within: 'Updater', ms: [1003, 1020], failed: true },
      { name: 'status Memcached', within: 'ErrorManager', ms: [1031, 1040], failed: false },
    ])
    expect(traceparent(id)).toBe(`00-${id}-${spans[0]!.spanId}-01`)
  })

  it('is empty for a reconcile that was not measured', () => {
    const { effort: _, ...plain } = ledger
    expect(spansOf(plain)).toEqual([])
  })
})

/** A collector that answers with the status that `answer` returns. */
async function collector(
  answer: (body: string, request: IncomingMessage) => number,
): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const status = answer(body, request)
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces` }
}

describe('exported spans', () => {
  it('are sent by OTLP, in batches, with the configured headers', async () => {
    const seen: { body: string; headers: IncomingMessage['headers'] }[] = []
    const { url } = await collector((body, { headers }) => {
      seen.push({ body, headers })
      return 200
    })
    const tracing = createTracing({
      url,
      headers: { authorization: 'Bearer open-sesame' },
      serviceName: 'mine',
      clock: systemClock,
      version: '1.2.3',
    })
    tracing.note(ledger)
    tracing.note(ledger)
    await tracing.close()
    expect(seen).toHaveLength(1)
    expect(seen[0]!.headers).toMatchObject({ authorization: 'Bearer open-sesame', 'content-type': 'application/json' })
    const { resourceSpans } = JSON.parse(seen[0]!.body) as {
      resourceSpans: { resource: { attributes: object[] }; scopeSpans: { spans: object[] }[] }[]
    }
    expect(resourceSpans[0]!.resource.attributes).toContainEqual({
      key: 'service.name',
      value: { stringValue: 'mine' },
    })
    expect(resourceSpans[0]!.scopeSpans[0]!.spans).toHaveLength(14)
    expect(tracing.stats()).toEqual({ exported: 14, dropped: 0, waiting: 0 })
  })

  it('are dropped and counted beyond the limit, and kept for a temporarily unavailable collector', async () => {
    const clock = virtualClock(0)
    let answers: (() => Response | Promise<never>)[] = []
    let asked = 0
    const exporter = createExporter({
      url: 'http://collector/v1/traces',
      clock,
      resource: {},
      most: 10,
      bundle: 7,
      fetch: async () => {
        asked++
        return await (answers.shift() ?? (() => new Response('{}')))()
      },
    })
    const spans = spansOf(ledger)
    answers = [() => new Response('', { status: 503 }), () => Promise.reject(new Error('http://user:secret@collector'))]
    exporter.add(spans)
    exporter.add(spans)
    expect(exporter.stats()).toMatchObject({ waiting: 7, dropped: 7 })
    await clock.advance(1)
    expect(exporter.stats()).toMatchObject({ waiting: 7, problem: 'the collector answered 503' })
    await clock.advance(4000)
    expect(exporter.stats()).toMatchObject({ waiting: 7, problem: 'the collector cannot be reached' })
    await clock.advance(60_000)
    expect(exporter.stats()).toEqual({ exported: 7, dropped: 7, waiting: 0 })
    expect(asked).toBe(3)
    answers = [() => new Response('', { status: 400 })]
    exporter.add(spans)
    await clock.advance(10)
    expect(exporter.stats()).toMatchObject({ dropped: 14, waiting: 0, problem: 'the collector answered 400' })
  })

  it('do not affect runs when the collector hangs, redirects or is invalid', async () => {
    const clock = virtualClock(0)
    const hanging = createExporter({
      url: 'http://collector/v1/traces',
      clock,
      resource: {},
      fetch: (_, init) =>
        new Promise((__, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    })
    hanging.add(spansOf(ledger))
    let isClosed = false
    void hanging.close().then(() => (isClosed = true))
    await clock.until(() => isClosed)
    expect(hanging.stats()).toMatchObject({ dropped: 7, problem: 'no answer within 10000 ms' })

    const asked: string[] = []
    const { url } = await collector((_, request) => {
      asked.push(request.url ?? '')
      return 302
    })
    const misled = createExporter({ url, clock: systemClock, resource: {}, headers: { authorization: 'x' } })
    misled.add(spansOf(ledger))
    await misled.close()
    expect(asked).toEqual(['/v1/traces'])
    expect(misled.stats()).toMatchObject({ dropped: 7, exported: 0 })
  })
})

describe('tracing settings', () => {
  it('are those of every OpenTelemetry program', () => {
    expect(tracingSettings({})).toBeUndefined()
    expect(tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' })).toBeUndefined()
    expect(tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c:4318/' })).toEqual({
      url: 'https://c:4318/v1/traces',
      headers: {},
      serviceName: 'muster',
    })
    expect(
      tracingSettings({
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/x',
        OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20abc, b=c=d',
        OTEL_SERVICE_NAME: 'mine',
      }),
    ).toEqual({ url: 'https://c/x', headers: { authorization: 'Bearer abc', b: 'c=d' }, serviceName: 'mine' })
  })

  it('are rejected by name, and never repeated', () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://c'
    for (const wrong of [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://hidden@c' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'hidden' },
      { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'hidden' },
      { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'a=%hidden' },
      { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'a=hidden%0D%0Ab:c' },
    ]) {
      expect(() => tracingSettings(wrong)).toThrow(/^OTEL_EXPORTER_OTLP_/)
      expect(() => tracingSettings(wrong)).not.toThrow(/hidden/)
    }
  })
})
