/**
 * `/openapi/v3` and `/openapi/v2`. kubectl uses them for `explain`, and to detect server-side field validation.
 *
 * The v3 index lists each document with the hash of what it is made from, so that clients can cache it: a document is
 * built only on request. Built documents are cached weakly, shared by all servers of the process.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { TransportRequest, TransportResponse } from '../../../transport/transport.ts'
import { answerText, mediaRanges } from '../../representation/representation.ts'
import type { RequestTarget } from '../../access/request-target.ts'
import type { ClusterState } from '../../cluster/state.ts'
import { type LazyDocument, describedV2, documentsV3 } from './documents.ts'

const yearMs = 31_536_000_000

/** The response to a path below `/openapi`. */
export async function openApi(
  state: Pick<ClusterState, 'catalog' | 'clock'>,
  { path, query, headers }: Pick<RequestTarget, 'path' | 'query'> & Pick<TransportRequest, 'headers'>,
): Promise<TransportResponse> {
  const served = state.catalog.all()
  if (path === '/openapi/v2')
    return await answerDocument(describedV2(served), { state, headers, vary: 'Accept-Encoding, Accept' })
  if (path === '/openapi/v3') {
    const paths = Object.fromEntries(
      [...documentsV3(served)].map(([key, { hash: its }]) => [key, { serverRelativeURL: urlOf(key, its) }]),
    )
    const modified = httpTime(state.clock.now())
    const type = 'text/plain; charset=utf-8'
    return reply(200, { 'content-type': type, 'last-modified': modified, ...uncached }, JSON.stringify({ paths }))
  }
  if (!path.startsWith('/openapi/v3/')) return answerText(404, '404 page not found\n')
  const key = path.slice('/openapi/v3/'.length)
  const source = documentsV3(served).get(key)
  if (!source) return reply(404, uncached)
  const known = query.get('hash')
  const url = urlOf(key, source.hash)
  return await answerDocument(source, { state, headers, vary: 'Accept', ...(known && { known, url }) })
}

interface DocumentRequest {
  readonly state: Pick<ClusterState, 'clock'>
  readonly headers: TransportRequest['headers']
  readonly vary: string
  /** The hash in the query, and the URL of the current document. */
  readonly known?: string
  readonly url?: string
}

const uncached = { 'cache-control': 'no-cache, private' }

async function answerDocument(
  source: LazyDocument,
  { state, headers, vary, known, url }: DocumentRequest,
): Promise<TransportResponse> {
  const form = formOf(source, headers['accept'])
  if (!form) return reply(406, { ...uncached, vary })
  const type = form === 'json' ? 'application/json' : protobufType
  const now = state.clock.now()
  const tag = { etag: `"${source.hash}"`, vary }
  if (known !== undefined && url !== undefined && known !== source.hash) {
    return reply(301, { ...uncached, 'content-type': type, location: url, ...tag })
  }
  const caching: Readonly<Record<string, string>> =
    known === undefined
      ? uncached
      : { 'cache-control': 'public, immutable', expires: httpTime(now + yearMs).replace('GMT', 'UTC') }
  const tags = headers['if-none-match']
  if (typeof tags === 'string' && tags.split(',').some((one) => one.trim() === '*' || one.trim() === tag.etag)) {
    return reply(304, { ...caching, ...tag })
  }
  const { bytes, built } = rendered(source, form, now)
  const isZipped =
    url === undefined && vary.includes('Encoding') && /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
  return reply(
    200,
    {
      ...caching,
      'content-type': type,
      'last-modified': httpTime(built),
      ...tag,
      ...(isZipped && { 'content-encoding': 'gzip' }),
    },
    isZipped ? await promisify(gzip)(bytes) : bytes,
  )
}

interface Rendered {
  readonly bytes: Uint8Array
  readonly built: number
}

const cachedDocuments = new Map<string, WeakRef<Rendered>>()

function rendered(source: LazyDocument, form: Form, now: number): Rendered {
  const key = `${form} ${source.hash}`
  const cached = cachedDocuments.get(key)?.deref()
  if (cached) return cached
  for (const [other, reference] of cachedDocuments) if (!reference.deref()) cachedDocuments.delete(other)
  const made = { bytes: (form === 'protobuf' && source.protobuf ? source.protobuf : source.json)(), built: now }
  cachedDocuments.set(key, new WeakRef(made))
  return made
}

function urlOf(key: string, its: string): string {
  return `/openapi/v3/${key}?hash=${its}`
}

type Form = 'json' | 'protobuf'

const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

/** The first available form that the client accepts. An old spelling of the protobuf type has an `@`. */
function formOf({ protobuf }: LazyDocument, accept: string | readonly string[] | undefined): Form | undefined {
  const ranges = mediaRanges(accept)
  if (ranges.length === 0) return 'json'
  for (const { type } of ranges) {
    if (/^(?:application\/json|application\/\*|\*\/\*)$/.test(type)) return 'json'
    if (protobuf && type.replace('@', '.') === protobufType) return 'protobuf'
  }
  return undefined
}

function httpTime(ms: number): string {
  return new Date(ms).toUTCString()
}

function reply(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = '',
): TransportResponse {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return { status, headers, body: once(bytes) }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}
