/** One request on one connection, and what became of it: the ground that both versions of HTTP share. */
import { errorCode } from '../../system/error-code.ts'
import { MusterError } from '../../kube/errors.ts'
import { whereabouts } from '../api-error.ts'
import type { Ending } from './ending.ts'
import type { Method, TransportResponse } from '../../transport/transport.ts'

/** A request with everything in it: credentials, prefix of the path, bytes of the body. */
export interface ClientExchange {
  readonly method: Method
  readonly path: string
  readonly headers: Record<string, string | string[]>
  readonly body: Uint8Array | undefined
  readonly ending: Ending
}

/**
 * No head came. `refused`: the server certainly did not act on it, so that it may be sent again whatever it is.
 * `lost`: nobody knows.
 */
export interface Unanswered {
  readonly unanswered: 'refused' | 'lost'
  readonly error: MusterError
}

export type ExchangeOutcome = TransportResponse | Unanswered

/**
 * How often one request is sent before its failure is told: a server that refuses everything must not keep us busy.
 * Refusals come in crowds: a GOAWAY may hit a hundred requests, and the connection that all of them move to the next.
 */
const attempts = { refused: 20, lost: 5 } as const

/** Sends until there is an answer, as long as sending again does no harm. */
export async function sendSafely(
  exchange: ClientExchange,
  send: (exchange: ClientExchange, again: boolean) => Promise<ExchangeOutcome>,
): Promise<TransportResponse> {
  const left: Record<Unanswered['unanswered'], number> = { ...attempts }
  for (let again = false; ; again = true) {
    const outcome = await send(exchange, again)
    if (!('unanswered' in outcome)) return outcome
    const { unanswered, error } = outcome
    const harmless = unanswered === 'refused' || (exchange.method === 'GET' && error.name === 'ConnectionLost')
    if (!harmless || --left[unanswered] === 0) throw error
    exchange.ending.throwIfEnded()
  }
}

/** Headers of an answer under lower-case names, several values joined, without HTTP/2's pseudo-headers. */
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
 * Headers as they go over the wire, a later set overruling an earlier one: bytes, one a character, UTF-8 where they
 * are not ASCII. Node would cut off what it cannot carry, and for HTTP/2 it does not even mind a line break (a token
 * read from a file ends in one).
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
  throw new MusterError('BadRequest', `the header ${name} holds control characters, which HTTP cannot carry.`)
}

export function wirePath(path: string): string {
  if (encodedPath.test(path)) return path
  throw new MusterError('BadRequest', `the path ${JSON.stringify(path)} is not encoded as HTTP wants it.`)
}

/** Node's complaint about the name of a header, before anything is sent. */
export function unsendable(exchange: ClientExchange, error: unknown): MusterError {
  const why = `HTTP cannot carry this request (${errorCode(error) ?? 'unknown reason'})`
  return new MusterError('BadRequest', `${whereabouts(exchange)}: ${why}.`)
}
