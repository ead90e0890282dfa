/** Requests to a sidecar over node:http, one connection each: they are rare. */
import { request } from 'node:http'
import type { SidecarRequest, SidecarResponse } from './client.ts'

/** A sidecar's answers are small. */
const mostBytes = 16 * 2 ** 20

export async function sidecarHttpTransport({
  method,
  url,
  headers,
  body,
  signal,
}: SidecarRequest): Promise<SidecarResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<SidecarResponse>()
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  const sent = request(url, { method, headers: { ...headers, ...length }, agent: false, signal }, (response) => {
    const chunks: Buffer[] = []
    let size = 0
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > mostBytes) response.destroy(new Error('too long'))
      else chunks.push(chunk)
    })
    response.once('error', reject)
    response.once('aborted', () => reject(new Error('cut off')))
    response.once('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers as SidecarResponse['headers'],
        body: Buffer.concat(chunks).toString(),
      }),
    )
  })
  sent.once('error', reject).end(body)
  return await promise
}
