/**
 * Fetches files from chart repositories and registries: over the transport of the client, so that private CAs, proxies and clear
 * errors about certificates come with it.
 *
 * Every fetch ends. An attempt has a deadline, a response a size limit, and attempts are bounded. A 429 waits as long as
 * `Retry-After` says; server errors and lost connections are retried with back-off. Credentials never follow a redirect to
 * another host.
 */
import type { Clock } from '../../clock/clock.ts'
import { jitter, type Random } from '../../clock/random.ts'
import { leave, readBytes } from '../../client/body.ts'
import type { Connection } from '../../client/connection.ts'
import { Deadline } from '../../client/deadline.ts'
import { httpTransport } from '../../client/http/http-transport.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Transport, TransportResponse } from '../../transport/transport.ts'
import { renderErrors } from '../errors.ts'

export interface FetcherOptions {
  readonly clock: Clock
  readonly random: Random
  /** PEM; the machine's trust store if it is not given. */
  readonly ca?: string | undefined
  /** Environment variables for proxies (HTTPS_PROXY and others). */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  readonly signal?: AbortSignal | undefined
  /** For one attempt, body included. @default 60_000 */
  readonly attemptMs?: number
  /** Attempts in total. @default 4 */
  readonly attempts?: number
  /** The longest wait that a `Retry-After` may ask for. @default 120_000 */
  readonly longestWaitMs?: number
}

export interface FetchRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** The `authorization` header; not sent to other hosts. */
  readonly authorization?: string | undefined
  /** Bytes of the body. */
  readonly limit: number
}

export interface FetchedFile {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Where it came from, after redirects. */
  readonly url: string
}

export interface Fetcher {
  /**
   * Resolves for 2xx, 401, 403 and 404.
   * @throws SourceUnavailable, SourceRefused, and errors of the transport
   */
  get(request: FetchRequest): Promise<FetchedFile>
  close(): Promise<void>
}

const mostRedirects = 5
const baseWaitMs = 500

export function createFetcher(options: FetcherOptions): Fetcher {
  const { clock, random, attempts = 4, attemptMs = 60_000, longestWaitMs = 120_000, signal } = options
  const transports = new Map<string, Transport>()

  const transportTo = (origin: string): Transport => {
    const known = transports.get(origin)
    if (known) return known
    const transport = httpTransport(anonymous(origin, options.ca), {
      clock,
      ...(options.env && { env: options.env }),
    })
    transports.set(origin, transport)
    return transport
  }

  const once = async (request: FetchRequest): Promise<FetchedFile> => {
    const what = shownUrl(request.url)
    const deadline = new Deadline({ clock, timeoutMs: attemptMs, signal, what: `GET ${what}` })
    try {
      return await deadline.race(follow(request, transportTo, deadline.signal))
    } finally {
      deadline.release()
    }
  }

  return {
    async get(request) {
      const what = shownUrl(request.url)
      for (let attempt = 1; ; attempt++) {
        const outcome = await once(request).catch((error: unknown) => retriable(error, what))
        const isOver = attempt >= attempts
        if ('error' in outcome) {
          if (isOver) throw outcome.error
        } else if (outcome.status < 300 || [401, 403, 404].includes(outcome.status)) return outcome
        else if (isOver || (outcome.status < 500 && outcome.status !== 429)) throw failure(outcome, what, clock.now())
        const asked = 'error' in outcome ? undefined : retryAfterMs(outcome.headers['retry-after'], clock.now())
        if (asked !== undefined && asked > longestWaitMs) {
          throw new MusterError(
            renderErrors.SourceUnavailable,
            `${what}: the server asks for a wait of ${Math.ceil(asked / 1000)} s.`,
            { retryAfterMs: asked },
          )
        }
        const backOff = jitter(baseWaitMs * 2 ** (attempt - 1), random, 0.5)
        await clock.sleep(Math.max(asked ?? 0, backOff), signal)
      }
    },
    async close() {
      await Promise.all([...transports.values()].map((each) => each.close()))
    },
  }
}

async function follow(
  request: FetchRequest,
  transportTo: (origin: string) => Transport,
  signal: AbortSignal,
): Promise<FetchedFile> {
  let url = parseUrl(request.url, request.url)
  const { host: firstHost, protocol: firstProtocol } = url
  for (let redirects = 0; ; redirects++) {
    const isSameHost = url.host === firstHost && url.protocol === firstProtocol
    const response = await transportTo(url.origin).send({
      method: 'GET',
      path: url.pathname + url.search,
      headers: {
        accept: '*/*',
        ...request.headers,
        ...(request.authorization !== undefined && isSameHost && { authorization: request.authorization }),
      },
      signal,
    })
    const target = redirectOf(response)
    if (target === undefined) {
      const body = await readBody(response, request, url)
      return { status: response.status, headers: response.headers, body, url: url.href }
    }
    leave(response.body)
    if (redirects >= mostRedirects)
      throw new MusterError(renderErrors.SourceRefused, `${shownUrl(request.url)}: there are too many redirects.`)
    const next = parseUrl(target, request.url, url)
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw new MusterError(
        renderErrors.SourceRefused,
        `${shownUrl(request.url)}: a redirect leads from https to ${next.protocol}`,
      )
    url = next
  }
}

function redirectOf({ status, headers }: TransportResponse): string | undefined {
  return [301, 302, 303, 307, 308].includes(status) ? headers['location'] : undefined
}

async function readBody(response: TransportResponse, { limit, url }: FetchRequest, at: URL): Promise<Uint8Array> {
  const declared = Number(response.headers['content-length'])
  if (declared > limit) {
    leave(response.body)
    const where = at.href === url ? '' : ` (${shownUrl(at.href)})`
    throw new MusterError(
      renderErrors.SourceRefused,
      `${shownUrl(url)}${where}: the answer is longer than ${limit} bytes.`,
    )
  }
  return await readBytes(response.body, limit)
}

/** An error of the transport that may go away; anything else is thrown on. */
function retriable(error: unknown, what: string): { readonly error: MusterError } {
  if (!isMusterError(error) || error.retry !== 'transient') throw error
  return { error: new MusterError(renderErrors.SourceUnavailable, `${what}: ${error.message}`, { cause: error }) }
}

function failure({ status, headers }: FetchedFile, what: string, now: number): MusterError {
  const definition = status >= 500 || status === 429 ? renderErrors.SourceUnavailable : renderErrors.SourceRefused
  return new MusterError(definition, `${what}: the server answers ${status}.`, {
    retryAfterMs: retryAfterMs(headers['retry-after'], now),
  })
}

/** Seconds, or a date. */
function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function anonymous(origin: string, ca: string | undefined): Connection {
  return {
    name: origin,
    server: origin,
    tls: ca === undefined ? {} : { ca },
    namespace: 'default',
    credentials: {
      headers: () => Promise.resolve({}),
      certificate: () => Promise.resolve(undefined),
      refused: () => false,
    },
  }
}

function parseUrl(text: string, first: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  throw new MusterError(renderErrors.SourceRefused, `${shownUrl(first)}: it leads to an address that is not http(s).`)
}

/** Without user, password and query: these may be secret. */
export function shownUrl(text: string): string {
  const url = URL.parse(text)
  return url ? `${url.protocol}//${url.host}${url.pathname}` : 'an invalid URL'
}
