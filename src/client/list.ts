/**
 * Lists as the API server sends them, and complete lists read page by page.
 *
 * Servers omit apiVersion and kind of items in most lists; here every item has them.
 */
import { clientErrors } from './errors.ts'
import { isMusterError, MusterError } from '../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { asObject } from '../kube/json-object.ts'
import { formatApiVersion, formatResource, type Resource } from '../kube/kind.ts'
import type { KubeList, KubeObject } from '../kube/object.ts'
import type { ListOptions, MetadataObject, Table, WholeListOptions } from './client.ts'

/** The response to a list of `resource`. */
export function readList<T extends KubeObject>(resource: Resource, answer: Json): KubeList<T> {
  const list = listOf(resource, answer)
  const identity = { apiVersion: formatApiVersion(resource), kind: resource.kind }
  const identified = (item: JsonObject): T => {
    const object: KubeObject = asObject(isIdentified(item) ? item : { ...identity, ...item })
    return object as T
  }
  return { ...identityOf(resource), ...list, metadata: metadataOf(list), items: itemsOf(list).map(identified) }
}

/** The response to a metadata-only list, or to a full one where the server does not support that. */
export function readMetadataList(resource: Resource, answer: Json): KubeList<MetadataObject> {
  const list = listOf(resource, answer)
  const items = itemsOf(list).map((item) => readMetadata(resource, item))
  return { ...identityOf(resource), metadata: metadataOf(list), items }
}

/** Metadata with the object's own kind, whatever the representation. */
export function readMetadata(resource: Resource, answer: Json): MetadataObject {
  if (!isJsonObject(answer))
    throw new MusterError(clientErrors.UnexpectedAnswer, `${formatResource(resource)}: no object came.`)
  const identity = { apiVersion: formatApiVersion(resource), kind: resource.kind }
  return asObject({ ...identity, metadata: metadataOf(answer) }) as MetadataObject
}

export function readTable(resource: Resource, answer: Json): Table {
  if (!isJsonObject(answer) || answer['kind'] !== 'Table') {
    throw new MusterError(clientErrors.NotAcceptable, `${formatResource(resource)}: the server sent no table.`)
  }
  const rows = objects(answer['rows']).map((row) => {
    const cells = Array.isArray(row['cells']) ? (row['cells'] as readonly Json[]) : []
    return isJsonObject(row['object']) ? { cells, object: readMetadata(resource, row['object']) } : { cells }
  })
  return {
    columnDefinitions: objects(answer['columnDefinitions']).map(readColumn),
    rows,
    metadata: metadataOf(answer),
  }
}

function readColumn({ name, type, format, description, priority }: JsonObject): Table['columnDefinitions'][number] {
  return {
    name: typeof name === 'string' ? name : '',
    type: typeof type === 'string' ? type : 'string',
    ...(typeof format === 'string' && { format }),
    ...(typeof description === 'string' && { description }),
    ...(typeof priority === 'number' && { priority }),
  }
}

/**
 * All pages as one list, at the version of the first page. If a continue token expires, the list is requested once more
 * without pages: paging that took too long once would do so again.
 */
export async function readPages<T extends KubeObject>(
  resource: Resource,
  options: WholeListOptions,
  readPage: (options: ListOptions) => Promise<KubeList<T>>,
): Promise<KubeList<T>> {
  const first = await readPage(options)
  const items = [...first.items]
  let next = first.metadata.continue
  while (next) {
    let page: KubeList<T>
    try {
      page = await readPage({ ...options, continue: next })
    } catch (error) {
      if (!isMusterError(error, clientErrors.Gone)) throw error
      return wholeList(await readPage({ ...options, limit: 0 }))
    }
    for (const item of page.items) items.push(item)
    if (page.metadata.continue === next) {
      throw new MusterError(
        clientErrors.ProtocolError,
        `${formatResource(resource)}: the server sends the same page for ever.`,
      )
    }
    next = page.metadata.continue
  }
  return wholeList({ ...first, items })
}

function wholeList<T extends KubeObject>(list: KubeList<T>): KubeList<T> {
  const { continue: _token, remainingItemCount: _count, ...metadata } = list.metadata
  return { ...list, metadata }
}

function listOf(resource: Resource, answer: Json): JsonObject {
  // Go writes a nil slice as null.
  if (isJsonObject(answer) && (answer['items'] === null || Array.isArray(answer['items']))) return answer
  throw new MusterError(clientErrors.UnexpectedAnswer, `${formatResource(resource)}: the response is not a list.`)
}

function identityOf(resource: Resource): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: formatApiVersion(resource), kind: `${resource.kind}List` }
}

function isIdentified(item: JsonObject): boolean {
  return item['kind'] !== undefined && item['apiVersion'] !== undefined
}

function itemsOf(list: JsonObject): readonly JsonObject[] {
  return objects(list['items'])
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

function metadataOf(holder: JsonObject): JsonObject {
  return isJsonObject(holder['metadata']) ? holder['metadata'] : {}
}
