/**
 * Content negotiation and the response body: whole objects, partial metadata or tables, as JSON or YAML, by the order
 * of preference in the `Accept` header.
 */
import type { Json } from '../../kube/json.ts'
import { formatApiVersion, parseApiVersion } from '../../kube/kind.ts'
import type { ListMeta, UntypedObject } from '../../kube/object.ts'
import type { TransportResponse } from '../../transport/transport.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { textOnce } from '../codec/object-text.ts'
import { noSuchMediaType, notAcceptable, StatusError } from '../errors/status-error.ts'
import type { Route } from '../catalog/route.ts'
import { shownMetadata } from '../catalog/partial-metadata.ts'
import { atVersion, oneAtVersion } from '../catalog/versions.ts'

interface Representation {
  readonly form: 'object' | 'metadata' | 'metadata list' | 'table'
  readonly syntax: 'json' | 'yaml'
  /** The apiVersion of tables and partial metadata. @default meta.k8s.io/v1 */
  readonly metaVersion?: string | undefined
}

export interface MediaRange {
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

const accepted = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']

const forms: Readonly<Record<string, Representation['form']>> = {
  PartialObjectMetadata: 'metadata',
  PartialObjectMetadataList: 'metadata list',
  Table: 'table',
}

export function mediaRanges(accept: string | readonly string[] | undefined): readonly MediaRange[] {
  const text = typeof accept === 'string' ? accept : (accept ?? []).join(',')
  return text
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([type]) => type !== '')
    .map(([type = '', ...parameters]) => ({
      type: type.toLowerCase(),
      parameters: Object.fromEntries(parameters.map((one) => one.split('=', 2) as [string, string])),
    }))
}

const plain: Representation = { form: 'object', syntax: 'json' }

/** The representations that a route offers. */
interface AvailableRepresentations {
  /** Whether it can be watched. */
  readonly isListed: boolean
  /** Reviews and action subresources have no table. */
  readonly hasTable: boolean
  readonly isCustom: boolean
}

/** Subresources that are actions, not views of an object. */
const actions: ReadonlySet<string> = new Set(['token', 'eviction', 'binding'])

export function availableRepresentations({ served, subresource, name }: Route): AvailableRepresentations {
  const isStored = served.verbs.includes('list')
  return {
    isListed: name === undefined && isStored,
    hasTable: isStored && !actions.has(subresource),
    isCustom: served.custom,
  }
}

/** The first acceptable representation in the order of the `Accept` header. */
export function representationOf(
  accept: string | readonly string[] | undefined,
  { isListed, hasTable, isCustom }: AvailableRepresentations,
): Representation | StatusError {
  if (accept === 'application/json') return plain
  const ranges = mediaRanges(accept)
  if (ranges.length === 0) return plain
  const isKnown = ({ type }: MediaRange): boolean => accepted.includes(type) || isJsonType(type)
  // In kube-apiserver, custom resources have another handler, with another message, and with warnings.
  if (!ranges.some(isKnown)) {
    if (isCustom) return notAcceptable(accepted)
    throw noSuchMediaType(isListed)
  }
  for (const { type, parameters } of ranges) {
    const syntax = type === 'application/yaml' ? 'yaml' : isJsonType(type) ? 'json' : undefined
    const { as, g, v } = parameters
    if (syntax && as === undefined) return { form: 'object', syntax }
    const form = as !== undefined && g === 'meta.k8s.io' && /^v1(?:beta1)?$/.test(v ?? '') ? forms[as] : undefined
    if (syntax && form && (form !== 'table' || hasTable)) return { form, syntax, metaVersion: `${g}/${v}` }
  }
  throw notAcceptable(accepted)
}

function isJsonType(type: string): boolean {
  return type === 'application/json' || type === 'application/*' || type === '*/*'
}

export interface Dressing extends Representation {
  readonly served: ServedResource
  /** `None`, `Metadata` or `Object`: how much of each object a table row includes. */
  readonly includeObject: string
  readonly now: number
}

/**
 * A single object: the response to a get or a write, or a watch event (where only the first table has column
 * definitions). A promise if a conversion webhook is called, or the printer has to be loaded.
 */
export function dressObject(object: UntypedObject, dressing: Dressing, hasHeaders = true): unknown {
  const { form, served } = dressing
  if (form === 'metadata list')
    throw wrongForm('PartialObjectMetadataList, but the requested object is not a list', served)
  if (form === 'metadata') return partial(object, dressing)
  const shown = oneAtVersion(object, served)
  return form === 'table' ? tableOfOne(object, shown, { ...dressing, hasHeaders }) : shown
}

/** A value of another kind than the resource's: a review, a Scale. A Status is returned unchanged. */
export function dressValue(value: unknown, dressing: Dressing): unknown {
  const { kind, apiVersion, metadata } = value as UntypedObject
  if (kind === 'Status') return value
  if (dressing.form === 'metadata')
    return { kind: 'PartialObjectMetadata', apiVersion: metaVersionOf(dressing), metadata }
  if (dressing.form !== 'metadata list') return value
  const { group } = parseApiVersion(apiVersion)
  throw wrongForm('PartialObjectMetadataList, but the requested object is not a list', { group, kind, custom: false })
}

async function tableOfOne(
  stored: UntypedObject,
  shown: UntypedObject | Promise<UntypedObject>,
  dressing: Dressing & { readonly hasHeaders: boolean },
): Promise<unknown> {
  const { printTable: tableOf } = await import('./table.ts')
  const { resourceVersion = '' } = stored.metadata
  return tableOf({ stored, shown: await shown }, { resourceVersion }, dressing)
}

export async function dressList(
  objects: readonly UntypedObject[],
  metadata: ListMeta,
  dressing: Dressing,
): Promise<unknown> {
  const { form, served } = dressing
  if (form === 'metadata') throw wrongForm('PartialObjectMetadata, but the requested object is a list', served, 'List')
  if (form === 'metadata list') {
    const items = objects.map((object) => partial(object, dressing))
    // Go encodes a nil slice as null.
    const shown = items.length > 0 ? items : null
    return { kind: 'PartialObjectMetadataList', apiVersion: metaVersionOf(dressing), metadata, items: shown }
  }
  const shown = await atVersion(objects, served)
  if (form === 'table') {
    const { printTable: tableOf } = await import('./table.ts')
    const rows = objects.map((stored, index) => ({ stored, shown: shown[index] ?? stored }))
    return tableOf(rows, metadata, dressing)
  }
  // In lists of built-in kinds, kube-apiserver omits kind and apiVersion of the items.
  const items = served.custom ? shown : shown.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item)
  // Lists of custom resources are not Go structs, so an empty continue is not omitted.
  const listed = served.custom ? { continue: '', ...metadata } : metadata
  return { kind: served.listKind, apiVersion: formatApiVersion(served), metadata: listed, items }
}

function metaVersionOf({ metaVersion = 'meta.k8s.io/v1' }: Representation): string {
  return metaVersion
}

function wrongForm(
  what: string,
  { group, kind, custom }: Pick<ServedResource, 'group' | 'kind' | 'custom'>,
  suffix = '',
): StatusError {
  const home = group === '' ? 'core' : group.split('.', 1)[0]!
  const type = custom ? `*unstructured.Unstructured${suffix}` : `*${home}.${kind}${suffix}`
  return new StatusError(406, 'NotAcceptable', `you requested ${what} (${type})`)
}

function partial(object: UntypedObject, dressing: Dressing): unknown {
  const metadata = shownMetadata(object, dressing.served)
  return { kind: 'PartialObjectMetadata', apiVersion: metaVersionOf(dressing), metadata }
}

/** A response; synchronous unless it is YAML. */
export function answer(
  status: number,
  value: unknown,
  syntax: Representation['syntax'] = 'json',
  headers: Readonly<Record<string, string>> = {},
): TransportResponse | Promise<TransportResponse> {
  if (syntax === 'yaml') return yamlAnswer(status, value, headers)
  return whole(status, { 'content-type': 'application/json', ...headers }, textOnce(value))
}

async function yamlAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<TransportResponse> {
  const { writeYaml } = await import('../../kube/yaml/yaml.ts')
  return whole(status, { 'content-type': 'application/yaml', ...headers }, writeYaml(value as Json))
}

/** The response to an error, with a `Retry-After` header if the error has one. */
export function errorResponse(
  { status }: StatusError,
  syntax: Representation['syntax'] = 'json',
): TransportResponse | Promise<TransportResponse> {
  const wait = status.details?.retryAfterSeconds
  return answer(status.code, status, syntax, wait ? { 'retry-after': String(wait) } : {})
}

export function answerText(status: number, text: string): TransportResponse {
  return whole(status, { 'content-type': 'text/plain; charset=utf-8' }, text)
}

function whole(status: number, headers: TransportResponse['headers'], text: string): TransportResponse {
  const bytes = Buffer.from(text)
  return { status, headers, body: bodyOf(bytes), whole: bytes }
}

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
