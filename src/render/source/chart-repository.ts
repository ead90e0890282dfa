/** HTTP chart repositories: `index.yaml`, and the archives that it lists. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { renderErrors } from '../errors.ts'
import { bestVersion } from '../version/best-version.ts'
import { type FetchedFile, type Fetcher, shownUrl } from './http-fetch.ts'
import type { SourceCredentials } from './oci-registry.ts'
import { archiveDigest } from './source-cache.ts'

interface RepositoryOptions {
  readonly fetcher: Fetcher
  readonly credentials?: SourceCredentials | undefined
}

/** Where the archive of a chart is. */
interface RepositoryChart {
  readonly url: string
  /** `sha256:…`; undefined if the index does not say. */
  readonly digest: string | undefined
}

interface ListedChart extends RepositoryChart {
  readonly version: string
}

const mostIndex = 100 * 2 ** 20
const mostArchive = 20 * 2 ** 20

/** @throws SourceNotFound, SourceUnavailable, SourceRefused, InvalidYaml */
export async function locateInRepository(
  repository: string,
  name: string,
  version: string | undefined,
  { fetcher, credentials }: RepositoryOptions,
): Promise<ListedChart> {
  const base = baseOf(repository)
  const index = new URL('index.yaml', base)
  index.search = base.search
  const answer = await fetcher.get({ url: index.href, authorization: basicOf(credentials), limit: mostIndex })
  const document = readYaml(new TextDecoder().decode(found(answer).body), { source: shownUrl(index.href) })
  const entries = isJsonObject(document) && isJsonObject(document['entries']) ? document['entries'] : {}
  const listed = Object.hasOwn(entries, name) ? entries[name] : undefined
  const charts = (Array.isArray(listed) ? (listed as readonly Json[]) : []).filter(isJsonObject)
  const best = bestVersion(charts.map(versionOf), version)
  const chart = charts.find((each) => versionOf(each) === best)
  const [url] = Array.isArray(chart?.['urls']) ? (chart['urls'] as readonly Json[]) : []
  if (best === undefined || typeof url !== 'string') {
    const what = version === undefined ? name : `${name} ${version}`
    throw new MusterError(renderErrors.SourceNotFound, `${shownUrl(base.href)} has no chart ${what}.`)
  }
  const absolute = new URL(url, base)
  if (absolute.host === base.host && absolute.search === '') absolute.search = base.search
  const digest = chart?.['digest']
  const isKnown = typeof digest === 'string' && /^(?:sha256:)?[0-9a-f]{64}$/.test(digest)
  return {
    url: absolute.href,
    digest: isKnown ? `sha256:${digest.replace(/^sha256:/, '')}` : undefined,
    version: best,
  }
}

/**
 * Credentials go to the repository's own host only.
 * @param repository whose credentials these are
 */
export async function fetchArchive(
  { url, digest }: RepositoryChart,
  repository: string,
  { fetcher, credentials }: RepositoryOptions,
): Promise<Uint8Array> {
  const isOwn = URL.parse(url)?.origin === URL.parse(repository)?.origin
  const answer = await fetcher.get({ url, authorization: isOwn ? basicOf(credentials) : undefined, limit: mostArchive })
  const { body } = found(answer)
  if (digest !== undefined && archiveDigest(body) !== digest) {
    throw new MusterError(
      renderErrors.DigestMismatch,
      `${shownUrl(url)}: it should be ${digest} and is ${archiveDigest(body)}.`,
    )
  }
  return body
}

function versionOf(chart: JsonObject): string {
  const { version } = chart
  return typeof version === 'string' || typeof version === 'number' ? String(version) : ''
}

function baseOf(repository: string): URL {
  const url = URL.parse(repository)
  if (!url) throw new MusterError(renderErrors.SourceNotFound, 'the address of the repository is no URL.')
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

function found(answer: FetchedFile): FetchedFile {
  if (answer.status < 300) return answer
  const definition = answer.status === 404 ? renderErrors.SourceNotFound : renderErrors.SourceRefused
  throw new MusterError(definition, `${shownUrl(answer.url)}: the server answers ${answer.status}.`)
}

function basicOf(credentials: SourceCredentials | undefined): string | undefined {
  return credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`
}
