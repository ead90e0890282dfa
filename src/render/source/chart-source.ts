/**
 * Fetches a chart from wherever it is: a folder, an archive, a URL, a chart repository or an OCI registry. Archives from the
 * network are kept by digest. If a server cannot be reached, the archive that the same source had last is used, with a warning.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { type ChartFiles, unpackChart } from '../archive/archive.ts'
import type { Warn } from '../chart/values.ts'
import { renderErrors } from '../errors.ts'
import { fetchArchive, locateInRepository } from './chart-repository.ts'
import { createFetcher, type Fetcher, type FetcherOptions, shownUrl } from './http-fetch.ts'
import { isLocalSource, readLocalChart } from './local-chart.ts'
import { chartLayer, layersOf } from './oci-layers.ts'
import { isOciReference, parseOciReference } from './oci-reference.ts'
import { createRegistry, readManifest, type SourceCredentials } from './oci-registry.ts'
import { archiveDigest, openSourceCache, type SourceCache } from './source-cache.ts'

export interface ChartSource {
  /** A path, `https://…/web-1.2.3.tgz`, `oci://…`, or a name in `repository`. */
  readonly source: string
  /** The URL of a chart repository. */
  readonly repository?: string | undefined
  /** A version or a range, for repositories and registries. */
  readonly version?: string | undefined
}

export interface ChartSourceOptions {
  readonly clock: Clock
  readonly random: Random
  readonly warn: Warn
  readonly credentials?: SourceCredentials | undefined
  readonly ca?: string | undefined
  readonly plainHttp?: boolean | undefined
  readonly env?: FetcherOptions['env']
  readonly signal?: AbortSignal | undefined
  /** Folder of fetched archives; without it nothing is kept. */
  readonly cache?: string | undefined
  /** @default one that is closed afterwards */
  readonly fetcher?: Fetcher
}

/** @throws SourceNotFound, SourceUnavailable, SourceRefused, DigestMismatch, InvalidArchive, InvalidChart */
export async function fetchChart(source: ChartSource, options: ChartSourceOptions): Promise<ChartFiles> {
  if (isLocalSource(source)) return await readLocalChart(source.source)
  const fetcher = options.fetcher ?? createFetcher(options)
  try {
    const archive = await fetchRemote(source, fetcher, openSourceCache(options.cache), options)
    return unpackChart(archive, isOciReference(source.source) ? source.source : shownSource(source))
  } finally {
    if (!options.fetcher) await fetcher.close()
  }
}

async function fetchRemote(
  source: ChartSource,
  fetcher: Fetcher,
  cache: SourceCache,
  options: ChartSourceOptions,
): Promise<Uint8Array> {
  // A chart that one account may fetch is not given to others while the server cannot be reached.
  const account = options.credentials ? [options.credentials.username] : []
  const key = JSON.stringify([source.source, source.repository ?? '', source.version ?? '', ...account])
  try {
    const archive = await fromServer(source, fetcher, cache, options)
    const digest = archiveDigest(archive)
    await cache.write(digest, archive)
    await cache.remember(key, digest)
    return archive
  } catch (error) {
    if (!isMusterError(error) || (error.retry !== 'transient' && error.retry !== 'throttled')) throw error
    const last = await cache.lastDigest(key)
    const archive = last === undefined ? undefined : await cache.read(last)
    if (!archive) throw error
    options.warn(`${shownSource(source)} cannot be reached: the chart fetched last is used (${last})`)
    return archive
  }
}

async function fromServer(
  { source, repository, version }: ChartSource,
  fetcher: Fetcher,
  cache: SourceCache,
  { credentials, plainHttp }: ChartSourceOptions,
): Promise<Uint8Array> {
  if (isOciReference(source)) {
    const reference = parseOciReference(source)
    const registry = createRegistry({ fetcher, credentials, plainHttp })
    const { manifest, tag } = await registry.resolve(reference, version)
    const layer = chartLayer(layersOf(readManifest(manifest, source.slice('oci://'.length))))
    if (!layer) {
      const name = tag === undefined ? `@${reference.digest}` : `:${tag}`
      const place = `${reference.registry}/${reference.repository}${name}`
      throw new MusterError(renderErrors.SourceNotFound, `${place} is no Helm chart.`)
    }
    return (await cache.read(layer.digest)) ?? (await registry.fetch(reference, layer))
  }
  const access = { fetcher, credentials }
  if (repository === undefined) return await fetchArchive({ url: source, digest: undefined }, source, access)
  const chart = await locateInRepository(repository, source, version, access)
  const kept = chart.digest === undefined ? undefined : await cache.read(chart.digest)
  return kept ?? (await fetchArchive(chart, repository, access))
}

function shownSource({ source, repository }: ChartSource): string {
  if (repository !== undefined) return `${source} of ${shownUrl(repository)}`
  return isOciReference(source) ? source : shownUrl(source)
}
