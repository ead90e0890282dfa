/** The outside of an operator that runs live: commands in containers, calls over HTTP. */
import type { Clock } from '../clock/clock.ts'
import type { Client } from '../client/client.ts'
import { MusterError } from '../kube/errors.ts'
import { type HttpAnswer, type HttpCall, type Live, originOf } from '../operator/live.ts'

export interface LiveOptions {
  readonly client: Client
  readonly clock: Clock
  /** @default the platform's */
  readonly fetch?: typeof fetch
}

const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])
const firstWaitMs = 200
/** What an answer may weigh: more is a mistake or an attack. */
const mostBytes = 8 * 1024 * 1024

export function createLive({ client, clock, fetch: send = fetch }: LiveOptions): Live {
  return {
    available: true,
    async exec(pod, command, { container, stdin, timeoutMs = 30_000 } = {}) {
      const out: Uint8Array[] = []
      const problems: Uint8Array[] = []
      const deadline = new AbortController()
      const timer = clock.after(timeoutMs, () => {
        deadline.abort(
          new MusterError('ExecFailed', `Pod ${pod.name}: ${command[0]} did not end within ${timeoutMs} ms.`),
        )
      })
      try {
        const { exitCode } = await client.exec(pod, command, {
          container,
          stdin: stdin === undefined ? undefined : once(stdin),
          signal: deadline.signal,
          onStdout: (chunk) => void out.push(chunk),
          onStderr: (chunk) => void problems.push(chunk),
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
          if (isLast) throw error
        }
        await clock.sleep(firstWaitMs * 2 ** attempt)
      }
    },
  }
}

async function attemptCall(
  { url, headers, body, timeoutMs = 10_000 }: HttpCall,
  method: string,
  send: typeof fetch,
  clock: Clock,
): Promise<HttpAnswer> {
  const deadline = new AbortController()
  const timer = clock.after(timeoutMs, () => deadline.abort())
  const isText = typeof body === 'string'
  try {
    const response = await send(url, {
      method,
      signal: deadline.signal,
      headers: { ...(body !== undefined && !isText && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    })
    const content = await readBounded(response)
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: content,
      json: () => JSON.parse(content) as unknown,
    }
  } catch (error) {
    const why = deadline.signal.aborted ? `no answer within ${timeoutMs} ms` : causeOf(error)
    throw new MusterError('Unreachable', `${method} ${originOf(url)}: ${why}.`, { cause: error })
  } finally {
    timer.cancel()
  }
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
