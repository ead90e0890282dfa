/**
 * How an answer is dressed: objects whole, their metadata alone, or rows of a table; as JSON or YAML. The `Accept`
 * header says which, in the order of the client's liking.
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

export interface Representation {
  readonly form: 'object' | 'metadata' | 'metadata list' | 'table'
  readonly syntax: 'json' | 'yaml'
  /** The version of tables and metadata. @default meta.k8s.io/v1 */
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

/** What a route can answer with. */
export interface Answerable {
  /** Whether it can be watched. */
  readonly isListed: boolean
  /** Reviews and actions have no table. */
  readonly hasTable: boolean
  readonly isCustom: boolean
}

/** Subresources that are kinds of their own, and no view of an object. */
const actions: ReadonlySet<string> = new Set(['token', 'eviction', 'binding'])

export function answerableOf({ served, subresource, name }: Route): Answerable {
  const isStored = served.verbs.includes('list')
  return {
    isListed: name === undefined && isStored,
    hasTable: isStored && !actions.has(subresource),
    isCustom: served.custom,
  }
}

/** The first wish that can be granted. */
export function representationOf(
  accept: string | readonly string[] | undefined,
  { isListed, hasTable, isCustom }: Answerable,
): Representation | StatusError {
  if (accept === 'application/json') return plain
  const ranges = mediaRanges(accept)
  if (ranges.length === 0) return plain
  const isKnown = ({ type }: MediaRange): boolean => accepted.includes(type) || isJsonType(type)
  // Of custom resources another handler takes care, which says it in other words, and says more.
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
  /** `None`, `Metadata` or `Object`: how much of each object comes with its row. */
  readonly includeObject: string
  readonly now: number
}

/**
 * One object as it stands alone: in the answer to a get or a write, or in an event (where only the first has headers). A
 * promise of it where a webhook must be asked, or a printer fetched.
 */
export function dressObject(object: UntypedObject, dressing: Dressing, hasHeaders = true): unknown {
  const { form, served } = dressing
  if (form === 'metadata list')
    throw wrongForm('PartialObjectMetadataList, but the requested object is not a list', served)
  if (form === 'metadata') return partial(object, dressing)
  const shown = oneAtVersion(object, served)
  return form === 'table' ? tableOfOne(object, shown, { ...dressing, hasHeaders }) : shown
}

/** What is no object of the resource: a review, the scale of an object. A Status stays as it is. */
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
    // Where nothing was put into, Go writes null.
    const shown = items.length > 0 ? items : null
    return { kind: 'PartialObjectMetadataList', apiVersion: metaVersionOf(dressing), metadata, items: shown }
  }
  const shown = await atVersion(objects, served)
  if (form === 'table') {
    const { printTable: tableOf } = await import('./table.ts')
    const rows = objects.map((stored, index) => ({ stored, shown: shown[index] ?? stored }))
    return tableOf(rows, metadata, dressing)
  }
  // The kind of a typed list's items is known, so real servers leave it out.
  const items = served.custom ? shown : shown.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item)
  // A list that is no struct has no way to leave out what it does not have.
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

/** At once, unless it is to be YAML. */
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
  const { writeYaml } = await import('../../kube/yaml.ts')
  return whole(status, { 'content-type': 'application/yaml', ...headers }, writeYaml(value as Json))
}

/** A refusal as an answer. How long to wait is said in a header, too. */
export function refuseRepresentation(
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
