/**
 * Charts and other artifacts from OCI registries. The registry is asked without credentials first; what it then asks for (`WWW-Authenticate`) is
 * given: a bearer token, or user and password. Everything that has a digest is checked against it.
 */
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { bestVersion } from '../version/best-version.ts'
import { parseConstraint } from '../version/version-constraint.ts'
import { parseChallenge } from './challenge.ts'
import { type FetchedFile, type Fetcher, type FetchRequest, shownUrl } from './http-fetch.ts'
import { objectItems, type OciLayer, textValue } from './oci-layers.ts'
import { isTag, type OciReference } from './oci-reference.ts'
import { archiveDigest, isDigest } from './source-cache.ts'

export interface SourceCredentials {
  readonly username: string
  readonly password: string
}

interface RegistryOptions {
  readonly fetcher: Fetcher
  readonly credentials?: SourceCredentials | undefined
  /** http instead of https. @default false */
  readonly plainHttp?: boolean | undefined
}

interface Registry {
  /** The manifest that a reference means; `version` is a version, a range or a tag if the reference has no tag. */
  resolve(reference: OciReference, version: string | undefined): Promise<ResolvedArtifact>
  fetch(reference: OciReference, layer: Pick<OciLayer, 'digest' | 'size'>): Promise<Uint8Array>
}

/** What a reference means now. */
interface ResolvedArtifact {
  /** Undefined if the reference names a digest. */
  readonly tag: string | undefined
  /** Of the manifest, or of the index that leads to it: what the reference can be pinned to. */
  readonly digest: string
  /** The manifest as the registry sent it. */
  readonly manifest: Uint8Array
}

const manifestTypes = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]
const mostManifest = 4 * 2 ** 20
/** The longest layer, in bytes. */
export const mostLayer: number = 20 * 2 ** 20
const mostPages = 100

export function createRegistry({ fetcher, credentials, plainHttp }: RegistryOptions): Registry {
  /** The authorization that each repository accepted. */
  const accepted = new Map<string, string>()

  const get = async (
    { registry, repository }: OciReference,
    path: string,
    request: Omit<FetchRequest, 'url'>,
  ): Promise<FetchedFile> => {
    const origin = `${plainHttp ? 'http' : 'https'}://${registry}`
    const url = path.startsWith('/v2/') ? `${origin}${path}` : `${origin}/v2/${repository}/${path}`
    const key = `${registry}/${repository}`
    const first = await fetcher.get({ ...request, url, authorization: accepted.get(key) })
    if (first.status !== 401) return checked(first, url)
    const authorization = await authorize(first, url, repository)
    const second = await fetcher.get({ ...request, url, authorization })
    if (second.status < 300) accepted.set(key, authorization)
    return checked(second, url)
  }

  const authorize = async (refusal: FetchedFile, url: string, repository: string): Promise<string> => {
    const challenges = parseChallenge(refusal.headers['www-authenticate'] ?? '')
    const basic =
      credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
    const realm = bearer?.parameters['realm']
    if (realm === undefined) {
      if (basic !== undefined && challenges.some(({ scheme }) => scheme === 'basic')) return basic
      throw refusedBy(url, 'it asks for a user and password')
    }
    const token = URL.parse(realm)
    // A password must not go to a plain address that a registry with TLS names.
    if (!token || (token.protocol !== 'https:' && !plainHttp)) throw refusedBy(url, 'its token server is not on https')
    if (bearer?.parameters['service'] !== undefined) token.searchParams.set('service', bearer.parameters['service'])
    token.searchParams.set('scope', bearer?.parameters['scope'] ?? `repository:${repository}:pull`)
    const answer = await fetcher.get({ url: token.href, authorization: basic, limit: mostManifest })
    const body = answer.status < 300 ? readObject(answer.body, token.href) : {}
    const given = body['token'] ?? body['access_token']
    if (typeof given !== 'string' || given === '') throw refusedBy(url, `its token server answers ${answer.status}`)
    return `Bearer ${given}`
  }

  const manifest = async (reference: OciReference, name: string): Promise<Uint8Array> => {
    const answer = await get(reference, `manifests/${name}`, {
      headers: { accept: manifestTypes.join(', ') },
      limit: mostManifest,
    })
    const digest = isDigest(name) ? name : answer.headers['docker-content-digest']
    if (digest !== undefined && isDigest(digest)) checkDigest(answer.body, digest, answer.url)
    return answer.body
  }

  return {
    async resolve(reference, version) {
      const tag = reference.digest === undefined ? (reference.tag ?? (await tagOf(reference, version, get))) : undefined
      const body = await manifest(reference, reference.digest ?? tag!)
      const [inner] = objectItems(readManifest(body, placeOf(reference))['manifests'])
      if (inner === undefined) return { tag, digest: archiveDigest(body), manifest: body }
      const digest = textValue(inner['digest'])
      if (!isDigest(digest)) throw refusedBy(placeOf(reference), 'its index has an entry without a digest')
      return { tag, digest: archiveDigest(body), manifest: await manifest(reference, digest) }
    },
    async fetch(reference, { digest, size }) {
      const { body, url } = await get(reference, `blobs/${digest}`, { limit: Math.min(size, mostLayer) })
      checkDigest(body, digest, url)
      return body
    },
  }
}

type Get = (reference: OciReference, path: string, request: Omit<FetchRequest, 'url'>) => Promise<FetchedFile>

/** What is no version and no range is the name of a tag, such as `latest`. */
async function tagOf(reference: OciReference, version: string | undefined, get: Get): Promise<string> {
  if (version === undefined || parseConstraint(version) || !isTag(version))
    return await chosenTag(reference, version, get)
  return version
}

/** The newest version in the range. `+` is not allowed in tags: Helm writes `_`. */
async function chosenTag(reference: OciReference, version: string | undefined, get: Get): Promise<string> {
  const tags: string[] = []
  let path: string | undefined = 'tags/list?n=1000'
  for (let page = 0; path !== undefined && page < mostPages; page++) {
    const answer: FetchedFile = await get(reference, path, { limit: mostManifest })
    const listed = readObject(answer.body, answer.url)['tags']
    for (const tag of Array.isArray(listed) ? (listed as readonly Json[]) : []) tags.push(textValue(tag))
    const next: string | undefined = /^<([^>]+)>;\s*rel="?next"?/.exec(answer.headers['link'] ?? '')?.[1]
    const url: URL | null = next === undefined ? null : URL.parse(next, answer.url)
    path = url?.pathname.startsWith('/v2/') ? url.pathname + url.search : undefined
  }
  const best = bestVersion(
    tags.map((tag) => tag.replaceAll('_', '+')),
    version,
  )
  if (best !== undefined) return best.replaceAll('+', '_')
  throw new MusterError(
    renderErrors.SourceNotFound,
    `${reference.registry}/${reference.repository} has no version ${version ?? ''}`.trimEnd() + '.',
  )
}

function checked(answer: FetchedFile, url: string): FetchedFile {
  if (answer.status < 300) return answer
  if (answer.status === 404) throw new MusterError(renderErrors.SourceNotFound, `${shownUrl(url)}: there is none.`)
  throw refusedBy(url, `it answers ${answer.status}`)
}

function checkDigest(body: Uint8Array, digest: string, url: string): void {
  const actual = archiveDigest(body)
  if (actual === digest) return
  throw new MusterError(renderErrors.DigestMismatch, `${shownUrl(url)}: it should be ${digest} and is ${actual}.`)
}

/** @throws SourceUnavailable */
export function readManifest(body: Uint8Array, place: string): JsonObject {
  return readObject(body, `https://${place}`)
}

function placeOf({ registry, repository }: OciReference): string {
  return `${registry}/${repository}`
}

function readObject(body: Uint8Array, url: string): JsonObject {
  try {
    const json = parseJson(new TextDecoder().decode(body))
    if (isJsonObject(json)) return json
  } catch {
    // Reported below.
  }
  throw new MusterError(renderErrors.SourceUnavailable, `${shownUrl(url)}: the answer is no JSON object.`)
}

function refusedBy(url: string, why: string): MusterError {
  return new MusterError(renderErrors.SourceRefused, `${shownUrl(url)}: the registry refuses: ${why}.`)
}
