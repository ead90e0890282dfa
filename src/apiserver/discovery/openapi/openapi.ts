/**
 * `/openapi/v3` and `/openapi/v2`: what the server serves, described for programs. kubectl explains kinds from it and
 * learns from it whether the server validates fields.
 *
 * The index of v3 names each document with the hash of what it is made from, so that clients keep documents for as long
 * as that hash stands: nothing is built until a document is asked for. What was built is kept only while nobody needs
 * the memory, once for all servers of the process.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { TransportRequest, TransportResponse } from '../../../transport/transport.ts'
import { answerText, mediaRanges } from '../../representation/representation.ts'
import type { RequestTarget } from '../../access/request-target.ts'
import type { ClusterState } from '../../cluster/state.ts'
import { type Described, describedV2, documentsV3 } from './documents.ts'

const yearMs = 31_536_000_000

/** The answer to a path below `/openapi`. */
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
    return reply(200, { 'content-type': type, 'last-modified': modified, ...unkept }, JSON.stringify({ paths }))
  }
  if (!path.startsWith('/openapi/v3/')) return answerText(404, '404 page not found\n')
  const key = path.slice('/openapi/v3/'.length)
  const source = documentsV3(served).get(key)
  if (!source) return reply(404, unkept)
  const known = query.get('hash')
  const url = urlOf(key, source.hash)
  return await answerDocument(source, { state, headers, vary: 'Accept', ...(known && { known, url }) })
}

interface Asking {
  readonly state: Pick<ClusterState, 'clock'>
  readonly headers: TransportRequest['headers']
  readonly vary: string
  /** The hash in the question, and where the document of now is. */
  readonly known?: string
  readonly url?: string
}

const unkept = { 'cache-control': 'no-cache, private' }

async function answerDocument(
  source: Described,
  { state, headers, vary, known, url }: Asking,
): Promise<TransportResponse> {
  const form = formOf(source, headers['accept'])
  if (!form) return reply(406, { ...unkept, vary })
  const type = form === 'json' ? 'application/json' : protobufType
  const now = state.clock.now()
  const tag = { etag: `"${source.hash}"`, vary }
  if (known !== undefined && url !== undefined && known !== source.hash) {
    return reply(301, { ...unkept, 'content-type': type, location: url, ...tag })
  }
  const keeping: Readonly<Record<string, string>> =
    known === undefined
      ? unkept
      : { 'cache-control': 'public, immutable', expires: httpTime(now + yearMs).replace('GMT', 'UTC') }
  const tags = headers['if-none-match']
  if (typeof tags === 'string' && tags.split(',').some((one) => one.trim() === '*' || one.trim() === tag.etag)) {
    return reply(304, { ...keeping, ...tag })
  }
  const { bytes, built } = rendered(source, form, now)
  const isZipped =
    url === undefined && vary.includes('Encoding') && /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
  return reply(
    200,
    {
      ...keeping,
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

const keptDocuments = new Map<string, WeakRef<Rendered>>()

function rendered(source: Described, form: Form, now: number): Rendered {
  const key = `${form} ${source.hash}`
  const kept = keptDocuments.get(key)?.deref()
  if (kept) return kept
  for (const [other, reference] of keptDocuments) if (!reference.deref()) keptDocuments.delete(other)
  const made = { bytes: (form === 'protobuf' && source.protobuf ? source.protobuf : source.json)(), built: now }
  keptDocuments.set(key, new WeakRef(made))
  return made
}

function urlOf(key: string, its: string): string {
  return `/openapi/v3/${key}?hash=${its}`
}

type Form = 'json' | 'protobuf'

const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

/** The first form on the client's list that there is. The type of protobuf was once written with an `@`, which is no type. */
function formOf({ protobuf }: Described, accept: string | readonly string[] | undefined): Form | undefined {
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
