/**
 * The operator's client of a sidecar: reads the state, starts actions, reads their progress.
 *
 * All requests are idempotent: reads change nothing, an action starts once per key, and cancelling twice has no further
 * effect. So transient failures are retried within the time-out, and the caller gets an error only when that is over.
 * `SidecarBusy` is not retried: the caller requeues instead of waiting.
 */
import type { Clock } from '../clock/clock.ts'
import { jitter, type Random } from '../clock/random.ts'
import { sidecarErrors } from './errors.ts'
import { type ErrorDefinition, isMusterError, MusterError } from '../kube/muster-error.ts'
import { isJsonArray, ownMember } from '../kube/json-member.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../kube/json.ts'
import { trimEnd } from '../kube/text/trim-end.ts'
import type { ActionRecord, ActionRequest } from './action.ts'
import type { SidecarState } from './state.ts'

export interface SidecarRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
}

export interface SidecarResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** Sends a request. Rejects without a complete answer. */
export type SidecarTransport = (request: SidecarRequest) => Promise<SidecarResponse>

export interface SidecarClientOptions {
  /** `http://10.0.0.7:8787` */
  readonly url: string
  /** A function is called for every request, so that a rotated token takes effect at once. */
  readonly token: string | (() => string | Promise<string>)
  readonly clock: Clock
  readonly random: Random
  /** For one call including retries; `waitMs` comes on top. @default 10_000 */
  readonly timeoutMs?: number | undefined
  /** @default node:http */
  readonly transport?: SidecarTransport | undefined
}

export interface ChangeOptions {
  /** The last known version: `since` of the state, `updatedAt` of the action. */
  readonly since?: string | undefined
  /** How long the sidecar may wait for a change before it answers; at most a minute. Needs `since`. */
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** Every method throws SidecarUnreachable, SidecarUnauthorized, SidecarFailed or SidecarRefused; `start` SidecarBusy and ActionConflict too. */
export interface SidecarClient {
  state(options?: ChangeOptions): Promise<SidecarState>
  /** Starts it, unless its key is known; returns its record. */
  start(action: ActionRequest, options?: CallOptions): Promise<ActionRecord>
  /** Undefined for an unknown key. */
  action(key: string, options?: ChangeOptions): Promise<ActionRecord | undefined>
  /** Oldest first. */
  actions(options?: CallOptions): Promise<readonly ActionRecord[]>
  /** Requests its end. Undefined for an unknown key. */
  cancel(key: string, options?: CallOptions): Promise<ActionRecord | undefined>
}

interface Call extends CallOptions {
  readonly method: SidecarRequest['method']
  readonly path: string
  readonly body?: string | undefined
  readonly waitMs?: number | undefined
}

const firstBackoffMs = 100
const longestBackoffMs = 2000

export function sidecarClient(options: SidecarClientOptions): SidecarClient {
  const { clock, random, timeoutMs = 10_000, token } = options
  const base = trimEnd(options.url, '/')

  const attempt = async ({ method, path, body }: Call, signal: AbortSignal): Promise<SidecarResponse> => {
    const transport = options.transport ?? (await import('./http-transport.ts')).sidecarHttpTransport
    const headers = {
      authorization: `Bearer ${typeof token === 'string' ? token : await token()}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    try {
      return await transport({ method, url: `${base}${path}`, headers, body, signal })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new MusterError(
        sidecarErrors.SidecarUnreachable,
        `${what({ method, path })}: ${code ?? 'no whole answer came'}.`,
      )
    }
  }

  /** The answer, after retries of transient failures. */
  const send = async (call: Call): Promise<Json | undefined> => {
    const stop = new AbortController()
    const deadline = clock.now() + timeoutMs + (call.waitMs ?? 0)
    const timer = clock.after(deadline - clock.now(), () =>
      stop.abort(new MusterError(sidecarErrors.SidecarUnreachable, `${what(call)}: not done within ${timeoutMs} ms.`)),
    )
    const signal = call.signal ? AbortSignal.any([stop.signal, call.signal]) : stop.signal
    try {
      for (let tries = 1; ; tries++) {
        try {
          return read(call, await attempt(call, signal))
        } catch (error) {
          signal.throwIfAborted()
          const wait = jitter(Math.min(firstBackoffMs * 2 ** (tries - 1), longestBackoffMs), random, 0.5)
          // A token that is not accepted yet will not be within seconds: left to the caller's back-off.
          const isFinal =
            !isMusterError(error) ||
            error.retry !== 'transient' ||
            isMusterError(error, sidecarErrors.SidecarUnauthorized)
          if (isFinal || clock.now() + wait >= deadline) throw error
          await clock.sleep(wait, signal)
        }
      }
    } finally {
      timer.cancel()
    }
  }

  const changes = ({ since, waitMs }: ChangeOptions): string =>
    since === undefined || waitMs === undefined
      ? ''
      : `?since=${encodeURIComponent(since)}&wait=${Math.min(waitMs / 1000, 60).toFixed(3)}`
  const at = (key: string): string => `/v1/actions/${encodeURIComponent(key)}`

  return {
    async state(change = {}) {
      return asState(await send({ method: 'GET', path: `/v1/state${changes(change)}`, ...change }))
    },
    async start({ key, name, input }, more = {}) {
      const body = stringifyJson({ key, name, input })
      return asRecord(await send({ method: 'POST', path: '/v1/actions', body, ...more }))
    },
    async action(key, change = {}) {
      const answer = await send({ method: 'GET', path: `${at(key)}${changes(change)}`, ...change })
      return answer === undefined ? undefined : asRecord(answer)
    },
    async actions(more = {}) {
      const answer = await send({ method: 'GET', path: '/v1/actions', ...more })
      const list = isJsonObject(answer) ? ownMember(answer, 'actions') : undefined
      return isJsonArray(list) ? list.map(asRecord) : unexpected()
    },
    async cancel(key, more = {}) {
      const answer = await send({ method: 'DELETE', path: at(key), ...more })
      return answer === undefined ? undefined : asRecord(answer)
    },
  }
}

function read(call: Call, { status, headers, body }: SidecarResponse): Json | undefined {
  const answer = parsed(body)
  if (status === 200 || status === 202) return answer ?? unexpected()
  const [error, message] = ['error', 'message'].map((name) => ownMember(answer, name))
  if (status === 404 && error === 'NotFound' && call.method !== 'POST') return undefined
  const seconds = Number(headers['retry-after'])
  throw new MusterError(
    errorFor(status),
    `${what(call)}: ${typeof message === 'string' ? message : `status ${status}.`}`,
    {
      retryAfterMs: seconds > 0 ? seconds * 1000 : undefined,
    },
  )
}

function errorFor(status: number): ErrorDefinition {
  if (status === 401) return sidecarErrors.SidecarUnauthorized
  if (status === 409) return sidecarErrors.ActionConflict
  if (status === 429) return sidecarErrors.SidecarBusy
  return status >= 500 ? sidecarErrors.SidecarFailed : sidecarErrors.SidecarRefused
}

/** Without the query. */
function what({ method, path }: Pick<Call, 'method' | 'path'>): string {
  return `sidecar, ${method} ${path.split('?')[0]}`
}

function parsed(body: string): JsonObject | undefined {
  try {
    const value = parseJson(body)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function asState(value: Json | undefined): SidecarState {
  const isState = isJsonObject(value) && typeof value['state'] === 'string' && typeof value['since'] === 'string'
  return isState ? (value as unknown as SidecarState) : unexpected()
}

function asRecord(value: Json | undefined): ActionRecord {
  const isRecord = isJsonObject(value) && typeof value['key'] === 'string' && typeof value['state'] === 'string'
  return isRecord ? (value as unknown as ActionRecord) : unexpected()
}

function unexpected(): never {
  throw new MusterError(sidecarErrors.SidecarFailed, 'the answer is not one of a sidecar.')
}
