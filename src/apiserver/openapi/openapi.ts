/**
 * `/openapi/v3` and `/openapi/v2`: what the server serves, described for programs. kubectl explains kinds from it and
 * learns from it whether the server validates fields.
 *
 * The index of v3 names each document with the hash of what it is made from, so that clients keep documents for as long
 * as that hash stands: nothing is built until a document is asked for. What was built is kept only while nobody needs
 * the memory, once for all servers of the process.
 */
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { TransportRequest, TransportResponse } from '../../client/transport.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { Served } from '../catalog.ts'
import { answerText, mediaRanges } from '../representation.ts'
import type { ClusterState } from '../state.ts'
import { documentOf } from './document.ts'
import { openApiSource, sourceDigest } from './source.ts'
import { documentV2 } from './v2.ts'

/** Documents that a server has whatever it serves. */
const always = ['.well-known/openid-configuration', 'api', 'apis', 'openid/v1/jwks', 'version']

const yearMs = 31_536_000_000

interface Source {
  readonly hash: string
  readonly build: () => unknown
}

/** The answer to a path below `/openapi`. */
export async function openApi(
  state: Pick<ClusterState, 'catalog' | 'clock'>,
  { path: asked, headers }: Pick<TransportRequest, 'path' | 'headers'>,
): Promise<TransportResponse> {
  const { pathname: path, searchParams: query } = new URL(asked, 'http://localhost')
  const served = state.catalog.all()
  if (path === '/openapi/v2')
    return await answerDocument(sourceV2(served), { state, headers, vary: 'Accept-Encoding, Accept' })
  if (path === '/openapi/v3') {
    const paths = Object.fromEntries(
      [...sourcesV3(served)].map(([key, { hash: its }]) => [key, { serverRelativeURL: urlOf(key, its) }]),
    )
    const modified = httpTime(state.clock.now())
    const type = 'text/plain; charset=utf-8'
    return reply(200, { 'content-type': type, 'last-modified': modified, ...unkept }, JSON.stringify({ paths }))
  }
  if (!path.startsWith('/openapi/v3/')) return answerText(404, '404 page not found\n')
  const key = path.slice('/openapi/v3/'.length)
  const source = sourcesV3(served).get(key)
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
  source: Source,
  { state, headers, vary, known, url }: Asking,
): Promise<TransportResponse> {
  if (!acceptsJson(headers['accept'])) return reply(406, { ...unkept, vary })
  const now = state.clock.now()
  const tag = { etag: `"${source.hash}"`, vary }
  if (known !== undefined && url !== undefined && known !== source.hash) {
    return reply(301, { ...unkept, 'content-type': 'application/json', location: url, ...tag })
  }
  const keeping: Readonly<Record<string, string>> =
    known === undefined
      ? unkept
      : { 'cache-control': 'public, immutable', expires: httpTime(now + yearMs).replace('GMT', 'UTC') }
  const tags = headers['if-none-match']
  if (typeof tags === 'string' && tags.split(/\s*,\s*/).some((one) => one === '*' || one === tag.etag)) {
    return reply(304, { ...keeping, ...tag })
  }
  const { bytes, built } = rendered(source, now)
  const isZipped =
    url === undefined && vary.includes('Encoding') && /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
  return reply(
    200,
    {
      ...keeping,
      'content-type': 'application/json',
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

function rendered(source: Source, now: number): Rendered {
  const kept = keptDocuments.get(source.hash)?.deref()
  if (kept) return kept
  for (const [key, reference] of keptDocuments) if (!reference.deref()) keptDocuments.delete(key)
  const made = { bytes: Buffer.from(JSON.stringify(source.build())), built: now }
  keptDocuments.set(source.hash, new WeakRef(made))
  return made
}

function sourcesV3(served: readonly Served[]): ReadonlyMap<string, Source> {
  const sources = new Map<string, Source>()
  for (const key of generalKeys(served)) {
    sources.set(key, { hash: hashOf(key), build: () => openApiSource().documents[key] })
  }
  for (const [key, resources] of byVersion(served)) {
    const its = hashOf(key, ...resources.map(identityOf))
    sources.set(key, { hash: its, build: () => documentOf(resources, openApiSource()) })
  }
  return new Map([...sources].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function sourceV2(served: readonly Served[]): Source {
  const versions = [...byVersion(served).values()]
  return {
    hash: hashOf('v2', ...served.map(identityOf)),
    build: () => documentV2(generalKeys(served), versions, openApiSource()),
  }
}

/** The documents about no resource. */
function generalKeys(served: readonly Served[]): readonly string[] {
  const groups = served.filter(({ group, custom }) => !custom && group !== '').map(({ group }) => `apis/${group}`)
  return [...always, ...new Set(groups)]
}

function byVersion(served: readonly Served[]): ReadonlyMap<string, readonly Served[]> {
  return Map.groupBy(served, ({ group, version }) => (group === '' ? `api/${version}` : `apis/${group}/${version}`))
}

function hashOf(...parts: readonly string[]): string {
  return hash('sha512', [sourceDigest(), ...parts].join('\n')).toUpperCase()
}

/** A resource is what it is until it is replaced, so what it adds to a document is read once. */
const identities = new WeakMap<Served, string>()

function identityOf(served: Served): string {
  const known = identities.get(served)
  if (known !== undefined) return known
  const { plural, kind, listKind, namespaced, verbs, subresources, selectable, custom, schema } = served
  const subs = subresources.map(({ name, verbs: own }) => [name, own])
  const own = custom ? (schema ?? null) : null
  const all = [formatApiVersion(served), plural, kind, listKind, namespaced, verbs, subs, selectable, own]
  const identity = hash('sha512', JSON.stringify(all))
  identities.set(served, identity)
  return identity
}

function urlOf(key: string, its: string): string {
  return `/openapi/v3/${key}?hash=${its}`
}

/** Real servers have a protobuf form too, which no client needs that also asks for JSON. */
function acceptsJson(accept: string | readonly string[] | undefined): boolean {
  const ranges = mediaRanges(accept)
  return ranges.length === 0 || ranges.some(({ type }) => /^(?:application\/json|application\/\*|\*\/\*)$/.test(type))
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
