/** Injected error answers. */
import type { TransportResponse } from '../../transport/transport.ts'

export const jsonHeaders: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

const reasons: Readonly<Record<number, string>> = {
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
}

export function refusal(status: number): TransportResponse {
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    reason: reasons[status] ?? 'Unknown',
    message: 'error injected by the simulation',
    code: status,
  })
  const headers = status === 429 ? { ...jsonHeaders, 'retry-after': '1' } : jsonHeaders
  return { status, headers, body: once(text) }
}

/** The end of a watch whose resourceVersion is expired. */
export const expiredLine: string = JSON.stringify({
  type: 'ERROR',
  object: {
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    reason: 'Expired',
    message: 'too old resource version: the simulation has forgotten it',
    code: 410,
  },
})

export async function* once(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield typeof content === 'string' ? Buffer.from(content) : content
}
