/**
 * The least that talks to an API server: one function over node:https. It stands beside Muster's own client on
 * purpose: what is recorded as the truth must not pass through what is to be tested with it.
 */
import { Agent, request } from 'node:https'
import { type Json, type JsonObject, isJsonObject, parseJson, stringifyJson } from '../../src/kube/json.ts'
import type { Access } from './cluster.ts'

export interface Call {
  readonly body?: unknown
  /** Content type. @default application/json */
  readonly type?: string
  /** @default application/json */
  readonly accept?: string
  readonly query?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  /** Parsed when it is JSON, else the text. */
  readonly body: Json
  /** What a refusal says; empty otherwise. */
  readonly message: string
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Api {
  /** Any answer of the server, whatever its status. */
  call(method: Method, path: string, call?: Call): Promise<Answer>
  /** The object in a 2xx answer; everything else throws. */
  must(method: Method, path: string, call?: Call): Promise<JsonObject>
  close(): void
}

/** A connection of the administrator, by client certificate, or of the user of the token. */
export function apiOf(access: Access & { readonly token?: string }): Api {
  const { token } = access
  const agent = new Agent({ keepAlive: true, maxSockets: 8, ca: access.ca, ...(token ? {} : access.admin) })
  const call: Api['call'] = (
    method,
    path,
    { body, type = 'application/json', accept = 'application/json', query } = {},
  ) => {
    const url = new URL(path, access.server)
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
    const payload = body === undefined || typeof body === 'string' ? body : stringifyJson(body)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const headers = {
      accept,
      ...(payload === undefined ? {} : { 'content-type': type }),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    }
    const outgoing = request(url, { method, agent, headers }, (response) => {
      let text = ''
      // Bytes that are no text come as one character each.
      response.setEncoding(response.headers['content-type']?.includes('protobuf') ? 'latin1' : 'utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json') ?? false
        const answer = isJson ? parseJson(text) : text
        resolve({ status: response.statusCode ?? 0, body: answer, message: messageOf(answer) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(payload)
    return promise
  }
  return {
    call,
    async must(method, path, options) {
      const { status, body } = await call(method, path, options)
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${stringifyJson(body)}`)
      return body as JsonObject
    },
    close: () => agent.destroy(),
  }
}

function messageOf(body: Json): string {
  if (typeof body === 'string') return body.trim()
  return isJsonObject(body) && typeof body['message'] === 'string' ? body['message'] : ''
}
