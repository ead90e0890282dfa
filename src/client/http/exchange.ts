/** One request on one connection, and its outcome: the part that both versions of HTTP share. */
import { errorCode } from '../../system/error-code.ts'
import { clientErrors } from '../errors.ts'
import { transportErrors } from '../../transport/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { whereabouts } from '../api-error.ts'
import type { Ending } from './ending.ts'
import type { Method, TransportResponse } from '../../transport/transport.ts'

/** A complete request: with credentials, path prefix and body bytes. */
export interface ClientExchange {
  readonly method: Method
  readonly path: string
  readonly headers: Record<string, string | string[]>
  readonly body: Uint8Array | undefined
  readonly ending: Ending
}

/**
 * No response head arrived. `refused`: the server certainly did not process it, so any request may be sent again.
 * `lost`: it is unknown.
 */
export interface Unanswered {
  readonly unanswered: 'refused' | 'lost'
  readonly error: MusterError
}

export type ExchangeOutcome = TransportResponse | Unanswered

/**
 * How often one request is sent before it fails: a server that refuses everything must not cause a loop. Refusals come in
 * bursts: a GOAWAY may hit a hundred requests, and the next one the connection that they move to.
 */
const attempts = { refused: 20, lost: 5 } as const

/** Sends until there is a response, as long as that is safe. */
export async function sendSafely(
  exchange: ClientExchange,
  send: (exchange: ClientExchange, again: boolean) => Promise<ExchangeOutcome>,
): Promise<TransportResponse> {
  const left: Record<Unanswered['unanswered'], number> = { ...attempts }
  for (let again = false; ; again = true) {
    const outcome = await send(exchange, again)
    if (!('unanswered' in outcome)) return outcome
    const { unanswered, error } = outcome
    const harmless =
      unanswered === 'refused' || (exchange.method === 'GET' && error.code === transportErrors.ConnectionLost.code)
    if (!harmless || --left[unanswered] === 0) throw error
    exchange.ending.throwIfEnded()
  }
}

/** Response headers with lower-case names, multiple values joined, without HTTP/2's pseudo-headers. */
export function plainHeaders(
  headers: Readonly<Record<string, string | readonly string[] | number | undefined>>,
): Record<string, string> {
  const plain: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && !name.startsWith(':')) {
      plain[name] = typeof value === 'object' ? value.join(', ') : String(value)
    }
  }
  return plain
}

const plainValue = /^[\t -~]*$/
const control = /[^\P{Cc}\t]/u
const encodedPath = /^\/[!-~]*$/

type Headers = Readonly<Record<string, string | readonly string[]>>

/**
 * Headers as they are sent, later sets overriding earlier ones: one byte per character, UTF-8 where they are not ASCII. Node
 * would truncate other characters, and for HTTP/2 it does not even reject a line break (a token read from a file may end in
 * one).
 */
export function wireHeaders(...sets: readonly Headers[]): Record<string, string | string[]> {
  const wire: Record<string, string | string[]> = {}
  for (const headers of sets) {
    for (const name in headers) {
      const value = headers[name] ?? ''
      wire[name] = typeof value === 'string' ? wireValue(name, value) : value.map((one) => wireValue(name, one))
    }
  }
  return wire
}

function wireValue(name: string, value: string): string {
  if (plainValue.test(value)) return value
  if (!control.test(value)) return Buffer.from(value).toString('latin1')
  throw new MusterError(
    clientErrors.BadRequest,
    `the header ${name} holds control characters, which HTTP cannot carry.`,
  )
}

export function wirePath(path: string): string {
  if (encodedPath.test(path)) return path
  throw new MusterError(clientErrors.BadRequest, `the path ${JSON.stringify(path)} is not encoded as HTTP wants it.`)
}

/** Node's error for an invalid header name, before anything is sent. */
export function unsendable(exchange: ClientExchange, error: unknown): MusterError {
  const why = `HTTP cannot carry this request (${errorCode(error) ?? 'unknown reason'})`
  return new MusterError(clientErrors.BadRequest, `${whereabouts(exchange)}: ${why}.`)
}
