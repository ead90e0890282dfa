/**
 * How an answer is dressed: objects whole, their metadata alone, or rows of a table; as JSON or YAML. The `Accept`
 * header says which, in the order of the client's liking.
 */
import { type Json, stringifyJson } from '../kube/json.ts'
import { formatApiVersion } from '../kube/kind.ts'
import type { ListMeta, UntypedObject } from '../kube/object.ts'
import type { TransportResponse } from '../client/transport.ts'
import type { Served } from './catalog.ts'
import { notAcceptable } from './refusal.ts'
import { tableOf } from './table.ts'

export interface Representation {
  readonly form: 'object' | 'metadata' | 'table'
  readonly syntax: 'json' | 'yaml'
}

export interface MediaRange {
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

const accepted = ['application/json', 'application/yaml']

const forms: Readonly<Record<string, Representation['form']>> = {
  PartialObjectMetadata: 'metadata',
  PartialObjectMetadataList: 'metadata',
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

/** The first wish that can be granted. */
export function representationOf(accept: string | readonly string[] | undefined): Representation {
  const ranges = mediaRanges(accept)
  if (ranges.length === 0) return { form: 'object', syntax: 'json' }
  for (const { type, parameters } of ranges) {
    const syntax = type === 'application/yaml' ? 'yaml' : isJsonType(type) ? 'json' : undefined
    const form = parameters['as'] === undefined ? 'object' : forms[parameters['as']]
    if (syntax && form) return { form, syntax }
  }
  throw notAcceptable(accepted)
}

function isJsonType(type: string): boolean {
  return type === 'application/json' || type === 'application/*' || type === '*/*'
}

export interface Dressing extends Representation {
  readonly served: Served
  /** `None`, `Metadata` or `Object`: how much of each object comes with its row. */
  readonly includeObject: string
  readonly now: number
}

/** One object as it stands alone: in the answer to a get or a write, or in an event. */
export function dressObject(object: UntypedObject, dressing: Dressing): unknown {
  const { form, served } = dressing
  if (form === 'metadata') return { kind: 'PartialObjectMetadata', apiVersion: metaVersion, metadata: object.metadata }
  if (form === 'table') return tableOf([object], { resourceVersion: object.metadata.resourceVersion ?? '' }, dressing)
  return atVersion(object, served)
}

export function dressList(objects: readonly UntypedObject[], metadata: ListMeta, dressing: Dressing): unknown {
  const { form, served } = dressing
  if (form === 'table') return tableOf(objects, metadata, dressing)
  if (form === 'metadata') {
    const items = objects.map((object) => ({
      kind: 'PartialObjectMetadata',
      apiVersion: metaVersion,
      metadata: object.metadata,
    }))
    return { kind: 'PartialObjectMetadataList', apiVersion: metaVersion, metadata, items }
  }
  const items = objects.map((object) => {
    if (served.custom) return atVersion(object, served)
    // The kind of a typed list's items is known, so real servers leave it out.
    const { kind: _kind, apiVersion: _apiVersion, ...item } = object
    return item
  })
  return { kind: served.listKind, apiVersion: formatApiVersion(served), metadata, items }
}

const metaVersion = 'meta.k8s.io/v1'

/** A stored object as this version of its resource shows it. Versions differ in their name alone, so far. */
export function atVersion(object: UntypedObject, served: Served): UntypedObject {
  const apiVersion = formatApiVersion(served)
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion }
}

const encoder = new TextEncoder()

export async function answer(
  status: number,
  value: unknown,
  syntax: Representation['syntax'] = 'json',
  headers: Readonly<Record<string, string>> = {},
): Promise<TransportResponse> {
  const isYaml = syntax === 'yaml'
  const text = isYaml ? (await import('../kube/yaml.ts')).writeYaml(value as Json) : stringifyJson(value)
  return {
    status,
    headers: { 'content-type': isYaml ? 'application/yaml' : 'application/json', ...headers },
    body: bodyOf(encoder.encode(text)),
  }
}

export function answerText(status: number, text: string): TransportResponse {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: bodyOf(encoder.encode(text)) }
}

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

export function encodeLine(value: unknown): Uint8Array {
  return encoder.encode(`${stringifyJson(value)}\n`)
}
