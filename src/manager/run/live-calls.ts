/** The live side effects of steps: commands in containers and HTTP calls. */
import type { Clock } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { type HttpAnswer, type HttpCall, type Live, originOf } from '../../operator/live.ts'

interface LiveOptions {
  readonly client: Client
  readonly clock: Clock
  /** @default the platform's */
  readonly fetch?: typeof fetch
}

const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])
const redirecting: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const mostRedirects = 5
const firstWaitMs = 200
/** Limit of a response body. */
const mostBytes = 8 * 1024 * 1024

export function createLive({ client, clock, fetch: send = fetch }: LiveOptions): Live {
  return {
    available: true,
    async exec(pod, command, { container, stdin, timeoutMs = 30_000 } = {}) {
      const out: Uint8Array[] = []
      const problems: Uint8Array[] = []
      const deadline = new AbortController()
      let size = 0
      const keep = (chunks: Uint8Array[], chunk: Uint8Array): void => {
        size += chunk.byteLength
        if (size <= mostBytes) chunks.push(chunk)
        else
          deadline.abort(
            new MusterError(
              clientErrors.ExecFailed,
              `Pod ${pod.name}: ${command[0]} prints more than ${mostBytes} bytes.`,
            ),
          )
      }
      const timer = clock.after(timeoutMs, () => {
        deadline.abort(
          new MusterError(
            clientErrors.ExecFailed,
            `Pod ${pod.name}: ${command[0]} did not end within ${timeoutMs} ms.`,
          ),
        )
      })
      try {
        const { exitCode } = await client.exec(pod, command, {
          container,
          stdin: stdin === undefined ? undefined : once(stdin),
          signal: deadline.signal,
          onStdout: (chunk) => keep(out, chunk),
          onStderr: (chunk) => keep(problems, chunk),
        })
        return { exitCode, stdout: text(out), stderr: text(problems) }
      } finally {
        timer.cancel()
      }
    },
    async http(call) {
      const { method = 'GET', retries = method === 'POST' || method === 'PATCH' ? 0 : 2 } = call
      for (let attempt = 0; ; attempt++) {
        const isLast = attempt >= retries
        try {
          const answer = await attemptCall(call, method, send, clock)
          if (isLast || !passing.has(answer.status)) return answer
        } catch (error) {
          if (isLast || isMusterError(error, managerErrors.OutsideRefused)) throw error
        }
        await clock.sleep(firstWaitMs * 2 ** attempt)
      }
    },
  }
}

async function attemptCall(call: HttpCall, method: string, send: typeof fetch, clock: Clock): Promise<HttpAnswer> {
  const { url, timeoutMs = 10_000 } = call
  const deadline = new AbortController()
  const timer = clock.after(timeoutMs, () => deadline.abort())
  try {
    const response = await followed(call, method, send, deadline.signal)
    const content = await readBounded(response)
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: content,
      json: () => JSON.parse(content) as unknown,
    }
  } catch (error) {
    if (isMusterError(error, managerErrors.OutsideRefused)) throw error
    const why = deadline.signal.aborted ? `no answer within ${timeoutMs} ms` : causeOf(error)
    throw new MusterError(clientErrors.Unreachable, `${method} ${originOf(url)}: ${why}.`, { cause: error })
  } finally {
    timer.cancel()
  }
}

/** One request of a call: the arguments of `fetch`. */
interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Sends a call and follows redirects one by one. `fetch` would follow them to any origin, with every header except
 * `authorization`.
 */
async function followed(call: HttpCall, method: string, send: typeof fetch, signal: AbortSignal): Promise<Response> {
  let sent = firstOf(call, method)
  for (let redirects = 0; ; redirects++) {
    const { url, ...rest } = sent
    const response = await send(url, { ...rest, signal, redirect: 'manual' })
    const location = redirecting.has(response.status) ? response.headers.get('location') : null
    if (location === null) return response
    await response.body?.cancel()
    if (redirects === mostRedirects) throw new Error(`more than ${mostRedirects} redirects`)
    sent = redirected(call, sent, response.status, location)
  }
}

function firstOf({ url, headers, body }: HttpCall, method: string): Sent {
  const isText = typeof body === 'string'
  return {
    url,
    method,
    headers: { ...(body !== undefined && !isText && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
  }
}

/** The request that a redirect leads to. @throws OutsideRefused when its origin is not allowed */
function redirected({ url: first, redirectTo }: HttpCall, sent: Sent, status: number, location: string): Sent {
  const to = URL.parse(location, sent.url)
  const [from, origin] = [originOf(sent.url), to ? originOf(to.href) : 'an address that cannot be read']
  const refuse = (why: string): never => {
    throw new MusterError(managerErrors.OutsideRefused, `${from} redirects (${status}) to ${origin}: ${why}.`)
  }
  if (!to || !/^https?:$/.test(to.protocol) || to.username !== '' || to.password !== '') {
    return refuse('this is not an address that a call can follow')
  }
  if (from.startsWith('https:') && to.protocol === 'http:')
    return refuse('a call over HTTPS does not go on in the clear')
  if (redirectTo && ![originOf(first), ...redirectTo].includes(origin)) {
    return refuse('this origin is not allowed for the operator')
  }
  const keepsMethod = status > 303 || (status === 303 ? sent.method === 'GET' : sent.method !== 'POST')
  const next: Sent = keepsMethod ? sent : { url: '', method: 'GET', headers: withoutContent(sent.headers) }
  if (origin === from) return { ...next, url: to.href }
  if (next.body !== undefined) return refuse('the body of a call does not go to another origin')
  return { ...next, url: to.href, headers: {} }
}

function withoutContent(headers: Sent['headers']): Sent['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-/i.test(name)))
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > mostBytes) throw new Error(`the answer is larger than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return text(chunks)
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Error ? cause.message || cause.name : String(cause)
}

function text(chunks: readonly Uint8Array[]): string {
  return Buffer.concat(chunks).toString('utf8')
}

async function* once(value: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(value)
}
