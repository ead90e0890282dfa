/**
 * Discovery: groups, versions and resources, in one document (aggregated discovery) or, for older clients, in one per
 * group and version.
 */
import { createHash } from 'node:crypto'
import { formatApiVersion } from '../../kube/kind.ts'
import type { Catalog, ServedResource } from '../catalog/catalog.ts'
import { type MediaRange, mediaRanges } from '../representation/representation.ts'

/** The Kubernetes version of the built-in kinds. */
const gitVersion = 'v1.37.1+muster'

export const versionDocument: Readonly<Record<string, string>> = {
  major: '1',
  minor: '37',
  gitVersion,
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: 'any/any',
}

interface DiscoveryAnswer {
  readonly document: unknown
  readonly contentType: string
}

/** The document at `/api`, `/apis` or a group below; undefined if nothing is served there. */
export function discover(
  catalog: Catalog,
  segments: readonly string[],
  accept: string | readonly string[] | undefined,
): DiscoveryAnswer | undefined {
  const [root, ...rest] = segments
  const isCore = root === 'api'
  const [group, version] = isCore ? ['', rest[0]] : [rest[0], rest[1]]
  if (rest.length > (isCore ? 1 : 2)) return undefined
  const served = catalog.all()
  if (version !== undefined) return plain(resourceList(served, group ?? '', version))
  if (group !== undefined && !isCore) return plain(groupDocument(served, group))
  const aggregated = mediaRanges(accept).find(isAggregated)
  const own = served.filter((one) => (one.group === '') === isCore)
  if (!aggregated) return plain(isCore ? coreVersions : groupList(own))
  const { v } = aggregated.parameters
  const document = { ...aggregate(own), apiVersion: `apidiscovery.k8s.io/${v}` }
  return { document, contentType: `application/json;g=apidiscovery.k8s.io;v=${v};as=APIGroupDiscoveryList` }
}

function plain(document: unknown): DiscoveryAnswer | undefined {
  return document === undefined ? undefined : { document, contentType: 'application/json' }
}

function isAggregated({ type, parameters }: MediaRange): boolean {
  const { as, g, v } = parameters
  return (
    type === 'application/json' &&
    as === 'APIGroupDiscoveryList' &&
    g === 'apidiscovery.k8s.io' &&
    (v === 'v2' || v === 'v2beta1')
  )
}

const coreVersions = {
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1' }],
}

function groupList(served: readonly ServedResource[]): unknown {
  const groups = [...new Set(served.map(({ group }) => group))].map((group) => groupEntry(served, group))
  return { kind: 'APIGroupList', apiVersion: 'v1', groups }
}

function groupDocument(served: readonly ServedResource[], group: string): unknown {
  if (!served.some((one) => one.group === group)) return undefined
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(served, group) }
}

function groupEntry(served: readonly ServedResource[], group: string): object {
  const versions = versionsOf(served, group).map((version) => ({ groupVersion: `${group}/${version}`, version }))
  return { name: group, versions, preferredVersion: versions[0] }
}

/** The preferred version first, as the catalog is sorted. */
function versionsOf(served: readonly ServedResource[], group: string): readonly string[] {
  return [...new Set(served.filter((one) => one.group === group).map(({ version }) => version))]
}

function resourceList(served: readonly ServedResource[], group: string, version: string): unknown {
  const own = served.filter((one) => one.group === group && one.version === version)
  if (own.length === 0) return undefined
  const resources = own.flatMap((one) => [listedResource(one), listedSubresources(one)].flat())
  // The list of the core group has no apiVersion.
  const list = { kind: 'APIResourceList', ...(group !== '' && { apiVersion: 'v1' }) }
  return { ...list, groupVersion: formatApiVersion({ group, version }), resources }
}

function listedResource(one: ServedResource): object {
  return {
    name: one.plural,
    singularName: one.singular,
    namespaced: one.namespaced,
    kind: one.kind,
    verbs: one.verbs,
    ...(one.shortNames.length > 0 && { shortNames: one.shortNames }),
    ...(one.categories.length > 0 && { categories: one.categories }),
    ...(one.verbs.includes('watch') && { storageVersionHash: storageVersionHash(one) }),
  }
}

/** Changes with the storage version, for storage version migration. */
function storageVersionHash({ group, storedAs, kind }: ServedResource): string {
  // kube-apiserver still reports the old storage version of CRDs.
  const version = group === 'apiextensions.k8s.io' ? `${group}/v1beta1` : storedAs
  const name = `${version.includes('/') ? version : `/${version}`}/${kind}`
  return createHash('sha256').update(name).digest().subarray(0, 8).toString('base64')
}

function listedSubresources(one: ServedResource): readonly object[] {
  return one.subresources.map((sub) => ({
    name: `${one.plural}/${sub.name}`,
    singularName: '',
    namespaced: one.namespaced,
    ...(formatApiVersion(sub) !== formatApiVersion(one) && { group: sub.group, version: sub.version }),
    kind: sub.kind,
    verbs: sub.verbs,
  }))
}

function aggregate(served: readonly ServedResource[]): object {
  const items = [...new Set(served.map(({ group }) => group))].map((group) => ({
    metadata: { name: group },
    versions: versionsOf(served, group).map((version) => ({
      version,
      resources: served.filter((one) => one.group === group && one.version === version).map(aggregateResource),
      freshness: 'Current',
    })),
  }))
  return { kind: 'APIGroupDiscoveryList', metadata: {}, items }
}

function aggregateResource(one: ServedResource): object {
  return {
    resource: one.plural,
    responseKind: { group: one.group, version: one.version, kind: one.kind },
    scope: one.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: one.singular,
    verbs: one.verbs,
    ...(one.shortNames.length > 0 && { shortNames: one.shortNames }),
    ...(one.categories.length > 0 && { categories: one.categories }),
    ...(one.subresources.length > 0 && {
      subresources: one.subresources.map(({ name, group, version, kind, verbs }) => ({
        subresource: name,
        responseKind: { group, version, kind },
        verbs,
      })),
    }),
  }
}
