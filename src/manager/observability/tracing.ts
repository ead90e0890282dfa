/**
 * OpenTelemetry traces of reconciles, if configured: every reconcile becomes a trace, and each of its requests carries
 * a `traceparent`, so that the API server's own spans join in. It is configured by the environment variables of
 * OpenTelemetry.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Transport, TransportRequest } from '../../transport/transport.ts'
import type { Clock } from '../../clock/clock.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { createExporter, type ExporterStats } from './tracing-exporter.ts'
import { spansOf, traceparent } from './tracing-spans.ts'

interface TracingSettings {
  /** Where traces are sent: `http://collector:4318/v1/traces`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
}

export interface Tracing {
  /** A reconcile has ended: for `onLedger`. */
  note(ledger: Ledger): void
  /** Marks the requests that are made within `run`: for `measured`. */
  within<T>(id: string, run: () => Promise<T>): Promise<T>
  /** A transport that adds `traceparent` to requests. */
  mark(transport: Transport): Transport
  stats(): ExporterStats
  close(): Promise<void>
}

interface TracingOptions extends TracingSettings {
  readonly clock: Clock
  /** Muster's version, part of each span. */
  readonly version?: string
  /** @default the platform's */
  readonly fetch?: typeof fetch
}

export function createTracing(options: TracingOptions): Tracing {
  const { url, headers, serviceName, clock, version, fetch: send } = options
  const current = new AsyncLocalStorage<string>()
  const exporter = createExporter({
    url,
    headers,
    clock,
    resource: { 'service.name': serviceName, ...(version !== undefined && { 'service.version': version }) },
    ...(send && { fetch: send }),
  })
  const marked = (request: TransportRequest): TransportRequest => {
    const id = current.getStore()
    return id === undefined ? request : { ...request, headers: { ...request.headers, traceparent: traceparent(id) } }
  }
  return {
    note: (ledger) => exporter.add(spansOf(ledger)),
    within: (id, run) => current.run(id, run),
    mark: (transport) => ({
      ...transport,
      send: (request) => transport.send(marked(request)),
      connect: (request, protocols) => transport.connect(marked(request), protocols),
    }),
    stats: () => exporter.stats(),
    close: () => exporter.close(),
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Undefined: tracing is not configured. @throws InvalidConfiguration */
export function tracingSettings(env: Environment): TracingSettings | undefined {
  const isOff = env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none'
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
  const common = env['OTEL_EXPORTER_OTLP_ENDPOINT']
  const named = own || common
  if (isOff || !named) return undefined
  const name = own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  if (!URL.canParse(named) || !/^https?:$/.test(new URL(named).protocol))
    throw new MusterError(managerErrors.InvalidConfiguration, `${name}: it must be a URL with http or https.`)
  return {
    // The endpoint for all signals gets a path; that of traces is used as it is.
    url: own ? named : `${trimEnd(named, '/')}/v1/traces`,
    headers: readHeaders(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'] ?? ''),
    serviceName: env['OTEL_SERVICE_NAME'] || 'muster',
  }
}

/** `name=value,name=value`, values percent-encoded. Never repeated in messages: it may be a token. */
function readHeaders(text: string): Readonly<Record<string, string>> {
  const wrong = (): never => {
    throw new MusterError(
      managerErrors.InvalidConfiguration,
      'OTEL_EXPORTER_OTLP_HEADERS: it must be name=value, with commas between.',
    )
  }
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  const headers = pairs.map((pair): readonly [string, string] => {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at).trim()
    if (at < 1 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return wrong()
    try {
      const value = decodeURIComponent(pair.slice(at + 1).trim())
      return /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value) ? [name.toLowerCase(), value] : wrong()
    } catch {
      return wrong()
    }
  })
  return Object.fromEntries(headers)
}
