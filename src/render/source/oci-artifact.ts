/**
 * Fetches the files of an OCI artifact: manifests or kustomizations, as `flux push artifact`, `oras push` and the tools of Kyma
 * publish them. Layers are kept by digest, and which layers a reference means is kept for each account: an artifact that was
 * fetched once can be rendered without a network. One that is named by a digest is not asked for again.
 */
import { isJsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { type ChartFiles, unpackLayer } from '../archive/archive.ts'
import { refused } from '../archive/tar.ts'
import { renderErrors } from '../errors.ts'
import type { ChartSourceOptions } from './chart-source.ts'
import { createFetcher, type Fetcher } from './http-fetch.ts'
import { contentLayers, fileNameOf, layersOf, objectItems, type OciLayer, textValue } from './oci-layers.ts'
import { parseOciReference } from './oci-reference.ts'
import { createRegistry, mostLayer, readManifest } from './oci-registry.ts'
import { archiveDigest, openSourceCache, type SourceCache } from './source-cache.ts'

interface ArtifactSource {
  /** `oci://…`. */
  readonly source: string
  /** A version, a range or a tag, if the reference has no tag. */
  readonly version?: string | undefined
  /** The digest of the only layer that is used; no manifest is read then. */
  readonly layer?: string | undefined
}

interface FetchedArtifact {
  /** By path. */
  readonly files: ChartFiles
  /** The tag that was found; undefined if the source names a digest. */
  readonly tag: string | undefined
}

/** Which layers a source means. */
interface ArtifactRecord {
  readonly tag: string | undefined
  readonly layers: readonly OciLayer[]
}

const mostLayers = 50
const mostBytes = 100 * 2 ** 20
const mostFiles = 10_000

/** @throws SourceNotFound, SourceUnavailable, SourceRefused, DigestMismatch, InvalidArchive */
export async function fetchArtifact(
  artifact: ArtifactSource,
  options: Omit<ChartSourceOptions, 'fetcher'>,
): Promise<FetchedArtifact> {
  const { source, version = '', layer = '' } = artifact
  const cache = openSourceCache(options.cache)
  // What one account may fetch is not given to others.
  const account = options.credentials ? [options.credentials.username] : []
  const key = JSON.stringify(['artifact', source, version, layer, ...account])
  const kept = await readKept(key, cache)
  const isFixed = layer !== '' || parseOciReference(source).digest !== undefined
  if (kept && isFixed) return unpacked(kept, source)
  const fetcher = createFetcher(options)
  try {
    return unpacked(await fromRegistry(artifact, key, fetcher, cache, options), source)
  } catch (error) {
    const mayPass = isMusterError(error) && (error.retry === 'transient' || error.retry === 'throttled')
    if (!mayPass || !kept) throw error
    options.warn(`${source} cannot be reached: the artifact fetched last is used`)
    return unpacked(kept, source)
  } finally {
    await fetcher.close()
  }
}

interface FetchedLayers extends ArtifactRecord {
  /** In the order of the layers. */
  readonly data: readonly Uint8Array[]
}

async function fromRegistry(
  { source, version, layer }: ArtifactSource,
  key: string,
  fetcher: Fetcher,
  cache: SourceCache,
  { credentials, plainHttp }: Pick<ChartSourceOptions, 'credentials' | 'plainHttp'>,
): Promise<FetchedLayers> {
  const reference = parseOciReference(source)
  const registry = createRegistry({ fetcher, credentials, plainHttp })
  let record: ArtifactRecord
  if (layer === undefined) {
    const { tag, manifest } = await registry.resolve(reference, version)
    const layers = contentLayers(layersOf(readManifest(manifest, source.slice('oci://'.length))))
    if (layers.length === 0)
      throw new MusterError(renderErrors.SourceNotFound, `${source} holds no archives and no manifests.`)
    if (layers.length > mostLayers) throw refused(source, `it has more than ${mostLayers} layers`)
    record = { tag, layers }
  } else {
    const title = `${layer.slice(-12)}.yaml`
    record = { tag: undefined, layers: [{ mediaType: '', digest: layer, size: mostLayer, title }] }
  }
  const data: Uint8Array[] = []
  for (const one of record.layers) {
    // The registry has let this account read the manifest, not a layer that is named by digest.
    const known = layer === undefined ? await cache.read(one.digest) : undefined
    const bytes = known ?? (await registry.fetch(reference, one))
    if (!known) await cache.write(one.digest, bytes)
    data.push(bytes)
  }
  const text = Buffer.from(stringifyJson({ tag: record.tag ?? null, layers: record.layers.map(plainLayer) }))
  await cache.write(archiveDigest(text), text)
  await cache.remember(key, archiveDigest(text))
  return { ...record, data }
}

function plainLayer({ mediaType, digest, size, title }: OciLayer): Readonly<Record<string, string | number>> {
  return { mediaType, digest, size, title: title ?? '' }
}

/** What the cache has of the source; undefined unless it is complete. */
async function readKept(key: string, cache: SourceCache): Promise<FetchedLayers | undefined> {
  const digest = await cache.lastDigest(key)
  const text = digest === undefined ? undefined : await cache.read(digest)
  const json = text && parseJson(new TextDecoder().decode(text))
  if (!isJsonObject(json)) return undefined
  const layers = objectItems(json['layers']).map((one) => ({
    mediaType: textValue(one['mediaType']),
    digest: textValue(one['digest']),
    size: Number(one['size']),
    title: textValue(one['title']) || undefined,
  }))
  const data: Uint8Array[] = []
  for (const one of layers) {
    const bytes = await cache.read(one.digest)
    if (!bytes) return undefined
    data.push(bytes)
  }
  return { tag: textValue(json['tag']) || undefined, layers, data }
}

/** @throws InvalidArchive: what one layer has, another must not replace */
function unpacked({ tag, layers, data }: FetchedLayers, place: string): FetchedArtifact {
  const files = new Map<string, Uint8Array>()
  let bytes = 0
  for (const [index, layer] of layers.entries()) {
    const limits = { unpacked: mostBytes - bytes, files: mostFiles - files.size }
    for (const [path, content] of unpackLayer(data[index]!, place, fileNameOf(layer), limits)) {
      if (files.has(path)) throw refused(place, `two of its layers have the file ${path.slice(0, 100)}`)
      bytes += content.length
      files.set(path, content)
    }
    if (bytes > mostBytes || files.size > mostFiles)
      throw refused(place, `it has more than ${mostFiles} files or ${mostBytes} bytes`)
  }
  if (files.size === 0) throw refused(place, 'it has no files')
  return { files, tag }
}
