/** From the source of an Installation to objects: a task, since fetching waits and rendering takes processor time. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { hidingValues } from '../../kube/text/hidden-text.ts'
import { blackedOut, isSecret, secretValues } from '../../operator/view/secret-redaction.ts'
import { fail } from '../../operator/failure.ts'
import type { ChartFiles } from '../../render/archive/archive.ts'
import type { ClusterCapabilities } from '../../render/chart/capabilities.ts'
import { loadChart } from '../../render/chart/load-chart.ts'
import type { Release } from '../../render/chart/template-data.ts'
import { chartValueOf, isTable } from '../../render/chart/values.ts'
import type { GeneratedValues } from '../../render/generated/generated-values.ts'
import type { LookupAnswer, LookupQuestion } from '../../render/generated/lookups.ts'
import { objectsOf } from '../../render/manifests/plain-manifests.ts'
import { filesBelow } from '../../render/source/artifact-folder.ts'
import { type ChartSourceOptions, fetchChart } from '../../render/source/chart-source.ts'
import { type FixedVersion, resolveVersion } from '../../render/source/moving-version.ts'
import { fetchArtifact } from '../../render/source/oci-artifact.ts'
import { type ChartRequest, type ChartResult, renderRequest } from '../../render/worker/chart-request.ts'
import { type FolderRequest, renderFolderRequest } from '../../render/worker/folder-request.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { type ImageRule, withImages } from '../image/image-rules.ts'
import type { InstallationSource } from './installation.ts'
import type { RevisionItem } from './revision.ts'

export interface SourceRequest {
  readonly source: InstallationSource
  /** What the version of the source was resolved to; without it the version is resolved by the render. */
  readonly fixed?: FixedVersion
  /** The content of the ConfigMap that the source refers to. */
  readonly files?: Readonly<Record<string, string>>
  readonly releaseName: string
  readonly namespace: string
  readonly values: Json
  readonly generated: GeneratedValues
  /** Live objects that a chart looks up. @default they are not found */
  readonly lookups?: readonly LookupAnswer[]
  /** Of a chart. @default false */
  readonly skipSchemaValidation?: boolean
  /** Of a chart: which revision it becomes. @default the first one, an installation */
  readonly release?: Pick<Release, 'revision' | 'isUpgrade'>
  /** Of a chart: what the cluster answered to the questions of earlier renders. @default no particular cluster */
  readonly cluster?: ClusterCapabilities
  /** Applied to the rendered objects. */
  readonly images?: readonly ImageRule[]
  /** The Secret with the credentials, by uid and version: part of the key, and nothing else. */
  readonly credentials?: string
  /** Fetches again what has no fixed version: part of the key, and nothing else. */
  readonly requestedAt?: string
}

export interface RenderedSource {
  /** The name of the chart. */
  readonly name?: string
  readonly version?: string
  readonly items: readonly RevisionItem[]
  readonly notes: string
  readonly warnings: readonly string[]
  /** To be stored, and given to the next render. */
  readonly generated: GeneratedValues
  /** Live objects that a chart looked up and that were not given: with them it has to be rendered again. */
  readonly asked: readonly LookupQuestion[]
  /** The API versions that a chart asked about; those that have no answer likewise. */
  readonly askedApis: readonly string[]
}

export interface SourceServices {
  readonly clock: Clock
  readonly random: Random
  /** Renders a chart. @default in this thread */
  readonly render?: (request: ChartRequest) => Promise<ChartResult>
  /** Renders manifests and kustomizations. @default in this thread */
  readonly renderFolder?: (request: FolderRequest) => Promise<readonly JsonObject[]>
  /** Folder of fetched archives; without it nothing is kept. */
  readonly cache?: string | undefined
  readonly ca?: string | undefined
  /** Environment variables for proxies (HTTPS_PROXY and others). @default none */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

interface InstallationCredentials {
  readonly username?: string
  readonly password?: string
  /** The CA of the server, in PEM, instead of the manager's. */
  readonly ca?: string
}

interface RenderOptions {
  readonly credentials?: InstallationCredentials
  readonly signal?: AbortSignal
}

export async function renderSource(
  request: SourceRequest,
  services: SourceServices,
  options: RenderOptions = {},
): Promise<RenderedSource> {
  const rendered = await renderObjects(request, services, options).catch((error: unknown) => {
    throw withoutSecrets(error, request.lookups ?? [])
  })
  const { images = [] } = request
  if (images.length === 0) return rendered
  const items = rendered.items.map((item) => ({ ...item, object: asObject(withImages(asJson(item.object), images)) }))
  return { ...rendered, items }
}

async function renderObjects(
  request: SourceRequest,
  services: SourceServices,
  options: RenderOptions,
): Promise<RenderedSource> {
  const { source } = request
  const renderFolder = async (content: FolderRequest['content']): Promise<readonly JsonObject[]> => {
    const folder = { name: request.releaseName, content }
    return services.renderFolder ? await services.renderFolder(folder) : renderFolderRequest(folder)
  }
  const files = new Map(Object.entries(request.files ?? {}))
  if (source.manifests) {
    const { text } = source.manifests
    const all = [...(text === undefined ? [] : [{ name: 'manifests', text }]), ...named(files)]
    return plain(await renderFolder({ manifests: all }))
  }
  if (source.kustomize) {
    const { files: own, path = '.' } = source.kustomize
    const all = new Map([...files, ...Object.entries(own)])
    const kustomization = new Map([...all].map(([name, text]) => [name, Buffer.from(text)]))
    return plain(await renderFolder({ kustomization, folder: path }))
  }
  const warnings: string[] = []
  const fetching = fetchOptions(source, services, options, (message) => void warnings.push(message))
  const { oci } = source
  // A chart in a folder of an artifact is unpacked as any other artifact.
  if (!oci || (isChartSource(source) && oci.path === undefined && oci.layer === undefined)) {
    const chart = await chartFiles(request, fetching)
    return await renderChartFiles(chart, request, services, warnings)
  }
  const { kind = 'Chart', path, layer, version } = oci
  const { files: fetched, tag } = await fetchArtifact({ ...ociSource(request), layer }, fetching)
  if (kind === 'Chart') return await renderChartFiles(filesBelow(fetched, path), request, services, warnings)
  const known = tag ?? request.fixed?.version ?? version
  const objects = await renderFolder({ artifact: fetched, folder: path, kind })
  return { ...plain(objects, warnings), ...(known !== undefined && { version: known }) }
}

/** A chart may fail with a value of a Secret that it looked up: errors are read by more users than Secrets are. */
function withoutSecrets(error: unknown, lookups: readonly LookupAnswer[]): unknown {
  const objects = lookups.flatMap(({ found }) => [found, ...(isJsonArray(found?.['items']) ? found['items'] : [])])
  const values = objects.flatMap((one) => {
    const object = isJsonObject(one) ? asObject(one) : undefined
    return object && isSecret(object) ? secretValues(object) : []
  })
  if (!(error instanceof Error) || values.length === 0) return error
  const hide = hidingValues(values, blackedOut)
  error.message = hide(error.message)
  if (error.stack !== undefined) error.stack = hide(error.stack)
  return error
}

/** What a version that may move means now. */
export async function resolveSource(
  { source }: Pick<SourceRequest, 'source'>,
  services: SourceServices,
  options: RenderOptions = {},
): Promise<FixedVersion> {
  const { warn: _, cache: __, ...fetching } = fetchOptions(source, services, options, () => undefined)
  const { oci, helm } = source
  if (oci) return await resolveVersion({ source: oci.url, version: oci.version }, fetching)
  return await resolveVersion({ source: helm!.chart, repository: helm!.url, version: helm!.version }, fetching)
}

/** Whether a template is rendered, which may ask about the cluster. */
export function isChartSource({ chart, helm, oci }: InstallationSource): boolean {
  return chart !== undefined || helm !== undefined || (oci !== undefined && (oci.kind ?? 'Chart') === 'Chart')
}

/** A digest wins over the version. */
function ociSource({ source, fixed }: SourceRequest): {
  readonly source: string
  readonly version?: string | undefined
} {
  const { url, digest = fixed?.digest, version } = source.oci!
  return { source: digest === undefined ? url : `${url}@${digest}`, version }
}

function named(files: ReadonlyMap<string, string>): readonly { readonly name: string; readonly text: string }[] {
  return [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, text]) => ({ name, text }))
}

function plain(objects: readonly JsonObject[], warnings: readonly string[] = []): RenderedSource {
  return {
    items: objects.map((object) => ({ object: asObject(object) })),
    notes: '',
    warnings,
    generated: {},
    asked: [],
    askedApis: [],
  }
}

async function renderChartFiles(
  files: ChartFiles,
  { releaseName, namespace, values, generated, lookups, release, cluster, skipSchemaValidation }: SourceRequest,
  services: SourceServices,
  warnings: readonly string[],
): Promise<RenderedSource> {
  const { clock } = services
  const table = chartValueOf(values)
  if (!isTable(table)) return fail('InvalidValues', 'The values of a chart are an object.')
  const request: ChartRequest = {
    files,
    values: table,
    release: { name: releaseName, namespace, ...release },
    generated,
    lookups,
    cluster,
    skipSchema: skipSchemaValidation,
  }
  const render =
    services.render ??
    ((asked: ChartRequest) => Promise.resolve(renderRequest(asked, { randomBytes, clock: { now: () => clock.now() } })))
  const rendered = await render(request)
  const { metadata } = loadChart(files, () => undefined)
  const crds = rendered.crds.flatMap(({ text, path }) =>
    readYamlDocuments(text, { source: path })
      .filter((document) => document !== null)
      .flatMap((document) => objectsOf(document, path))
      .map((object): RevisionItem => ({ object: asObject(object), isCrdFile: true })),
  )
  // A hook is known by its annotation.
  const manifests = [...rendered.manifests, ...rendered.hooks].flatMap(({ object }): readonly RevisionItem[] =>
    isJsonObject(object) ? [{ object: asObject(object) }] : [],
  )
  return {
    name: metadata.name,
    version: metadata.version,
    items: [...crds, ...manifests],
    notes: rendered.notes,
    warnings: [...warnings, ...rendered.warnings],
    generated: rendered.generated,
    asked: rendered.asked,
    askedApis: rendered.askedApis,
  }
}

type FetchOptions = Omit<ChartSourceOptions, 'fetcher'>

function fetchOptions(
  { oci }: InstallationSource,
  { clock, random, cache, ca, env = {} }: SourceServices,
  { credentials: { username, password, ca: ownCa = ca } = {}, signal }: RenderOptions,
  warn: (message: string) => void,
): FetchOptions {
  const credentials = username !== undefined && password !== undefined ? { username, password } : undefined
  return { clock, random, warn, credentials, cache, ca: ownCa, env, signal, plainHttp: oci?.plainHttp }
}

async function chartFiles(request: SourceRequest, options: FetchOptions): Promise<ChartFiles> {
  const { source, fixed } = request
  const { chart, oci, helm } = source
  if (chart) return new Map(Object.entries(chart.files).map(([name, text]) => [name, Buffer.from(text)]))
  if (oci) return await fetchChart(ociSource(request), options)
  const { url, version } = helm!
  return await fetchChart({ source: helm!.chart, repository: url, version: fixed?.version ?? version }, options)
}
