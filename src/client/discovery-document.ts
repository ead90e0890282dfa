/**
 * Discovery documents as data. There are two forms: one document with everything (aggregated discovery), or a list of
 * groups and one document for each group version.
 *
 * Documents are read leniently: an invalid entry is skipped and does not hide others.
 */
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { formatApiVersion, type GroupVersion, parseApiVersion } from '../kube/kind.ts'
import type { DiscoveredResource } from './client.ts'

export type RootDocument =
  | {
      readonly form: 'aggregated'
      readonly resources: readonly DiscoveredResource[]
      /** The `group/version`s whose aggregated server was down. */
      readonly down: ReadonlySet<string>
    }
  /** Each group's preferred version comes first. */
  | { readonly form: 'grouped'; readonly versions: readonly GroupVersion[] }

/** The response of `/api` or `/apis`; `undefined` if it has neither form. */
export function readRoot(document: Json): RootDocument | undefined {
  if (!isJsonObject(document)) return undefined
  switch (document['kind']) {
    case 'APIGroupDiscoveryList':
      return readAggregated(document)
    case 'APIVersions':
      return { form: 'grouped', versions: texts(document['versions']).map((version) => ({ group: '', version })) }
    case 'APIGroupList':
      return { form: 'grouped', versions: objects(document['groups']).flatMap(readGroup) }
    default:
      return undefined
  }
}

/** The response of `/api/v1` or `/apis/apps/v1`: an APIResourceList. */
export function readResourceList(at: GroupVersion, document: Json): readonly DiscoveredResource[] {
  const entries = isJsonObject(document) ? objects(document['resources']) : []
  const subresources = new Map<string, string[]>()
  for (const entry of entries) {
    const [plural = '', ...rest] = text(entry['name']).split('/')
    if (rest.length > 0) subresources.set(plural, [...(subresources.get(plural) ?? []), rest.join('/')])
  }
  return entries
    .filter((entry) => !text(entry['name']).includes('/'))
    .map((entry) => readListedResource(at, entry, subresources.get(text(entry['name'])) ?? []))
    .filter(isUsable)
}

function readListedResource(at: GroupVersion, entry: JsonObject, subresources: readonly string[]): DiscoveredResource {
  return {
    group: at.group,
    version: at.version,
    kind: text(entry['kind']),
    plural: text(entry['name']),
    namespaced: entry['namespaced'] === true,
    singular: text(entry['singularName']),
    shortNames: texts(entry['shortNames']),
    categories: texts(entry['categories']),
    verbs: texts(entry['verbs']),
    subresources,
  }
}

function readAggregated(document: JsonObject): RootDocument {
  const resources: DiscoveredResource[] = []
  const down = new Set<string>()
  for (const group of objects(document['items'])) {
    const name = isJsonObject(group['metadata']) ? text(group['metadata']['name']) : ''
    for (const version of objects(group['versions'])) {
      const at = { group: name, version: text(version['version']) }
      if (version['freshness'] === 'Stale') down.add(formatApiVersion(at))
      for (const entry of objects(version['resources'])) {
        const resource = readAggregatedResource(at, entry)
        if (isUsable(resource)) resources.push(resource)
      }
    }
  }
  return { form: 'aggregated', resources, down }
}

function readAggregatedResource(at: GroupVersion, entry: JsonObject): DiscoveredResource {
  return {
    ...at,
    kind: isJsonObject(entry['responseKind']) ? text(entry['responseKind']['kind']) : '',
    plural: text(entry['resource']),
    namespaced: entry['scope'] === 'Namespaced',
    singular: text(entry['singularResource']),
    shortNames: texts(entry['shortNames']),
    categories: texts(entry['categories']),
    verbs: texts(entry['verbs']),
    subresources: objects(entry['subresources'])
      .map((subresource) => text(subresource['subresource']))
      .filter((name) => name !== ''),
  }
}

function readGroup(group: JsonObject): readonly GroupVersion[] {
  const preferred = isJsonObject(group['preferredVersion']) ? text(group['preferredVersion']['groupVersion']) : ''
  const served = objects(group['versions']).map((version) => text(version['groupVersion']))
  const ordered = served.includes(preferred) ? [preferred, ...served.filter((one) => one !== preferred)] : served
  return ordered.filter((one) => one !== '').map(parseApiVersion)
}

function isUsable(resource: DiscoveredResource): boolean {
  return resource.kind !== '' && resource.plural !== '' && resource.version !== ''
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function texts(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
