/**
 * `resources.json`: every resource that an API server of this minor can serve (including alpha), read from the paths of
 * the document: kind, scope, verbs and subresources. One resource a line.
 */
import type { BuiltinResource, BuiltinSubresource } from '../../src/kube/builtin.ts'
import type { GroupVersionKind } from '../../src/kube/kind.ts'
import type { DiscoveryDocument, OpenApiOperation, Sources } from './sources.ts'

const resourcePattern =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>v[^/]+)(?<watch>\/watch)?(?<namespaced>\/namespaces\/\{namespace\})?\/(?<plural>[^/{]+)(?:\/\{name\}(?:\/(?<sub>[^{]+))?)?$/

const verbOfAction: Readonly<Record<string, string>> = {
  get: 'get',
  list: 'list',
  post: 'create',
  put: 'update',
  patch: 'patch',
  delete: 'delete',
  deletecollection: 'deletecollection',
  watch: 'watch',
  watchlist: 'watch',
}

/** A connection (exec, proxy) is named by its verb. */
const verbOfMethod: Readonly<Record<string, string>> = {
  get: 'get',
  post: 'create',
  put: 'update',
  patch: 'patch',
  delete: 'delete',
}

interface Found {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: GroupVersionKind
  readonly verbs: Set<string>
  readonly subresources: Map<string, FoundSubresource>
  namespaced: boolean
}

interface FoundSubresource {
  readonly name: string
  readonly kind: GroupVersionKind
  readonly verbs: Set<string>
}

export function resourcesOf({ v2, discovery }: Sources): readonly BuiltinResource[] {
  const found = new Map<string, Found>()
  // Sorted, so that a resource comes before its subresources.
  for (const path of Object.keys(v2.paths).toSorted()) {
    const match = resourcePattern.exec(path)?.groups
    if (match?.['plural'] === undefined || match['version'] === undefined) continue
    const { group = '', version, plural, sub } = match
    for (const [method, operation] of Object.entries(v2.paths[path]!)) {
      const { 'x-kubernetes-action': action, 'x-kubernetes-group-version-kind': kind } = operation as OpenApiOperation
      const verb = action === 'connect' ? verbOfMethod[method] : verbOfAction[action ?? '']
      if (verb === undefined || kind === undefined) continue
      const key = `${group}/${version}/${plural}`
      const resource =
        found.get(key) ??
        ({ group, version, plural, kind, namespaced: false, verbs: new Set(), subresources: new Map() } satisfies Found)
      found.set(key, resource)
      if (match['namespaced'] !== undefined) resource.namespaced = true
      if (sub === undefined) resource.verbs.add(verb)
      else {
        const subresource = resource.subresources.get(sub) ?? { name: sub, kind, verbs: new Set<string>() }
        resource.subresources.set(sub, subresource)
        subresource.verbs.add(verb)
      }
    }
  }

  const definitions = definitionNames(v2)
  return [...found.values()]
    .toSorted((a, b) => compare(a.group, b.group) || compare(a.version, b.version) || compare(a.plural, b.plural))
    .map((resource) => describeResource(resource, definitions, discovery))
}

export function printResources(resources: readonly BuiltinResource[]): string {
  return `[\n${resources.map((resource) => JSON.stringify(resource)).join(',\n')}\n]\n`
}

function describeResource(
  { group, version, plural, kind, namespaced, verbs, subresources }: Found,
  definitions: ReadonlyMap<string, string>,
  discovery: readonly DiscoveryDocument[],
): BuiltinResource {
  const definition = definitions.get(kindKey(kind))
  if (definition === undefined) throw new Error(`the document serves ${kindKey(kind)} but does not define it`)
  return {
    group,
    version,
    kind: kind.kind,
    plural,
    namespaced,
    definition,
    ...namesOf(discovery, group === '' ? version : `${group}/${version}`, plural),
    verbs: [...verbs].toSorted(),
    subresources: [...subresources.values()]
      .toSorted((a, b) => compare(a.name, b.name))
      .map((subresource) => describeSubresource(subresource, definitions)),
  }
}

function describeSubresource(
  { name, kind: { group, version, kind }, verbs }: FoundSubresource,
  definitions: ReadonlyMap<string, string>,
): BuiltinSubresource {
  // The options of a connection (PodExecOptions) are query parameters and have no schema.
  const definition = definitions.get(kindKey({ group, version, kind }))
  return {
    name,
    group,
    version,
    kind,
    ...(definition === undefined ? {} : { definition }),
    verbs: [...verbs].toSorted(),
  }
}

function namesOf(
  documents: readonly DiscoveryDocument[],
  groupVersion: string,
  plural: string,
): Pick<BuiltinResource, 'singular' | 'shortNames' | 'categories'> {
  const resource = documents
    .find((document) => document.groupVersion === groupVersion)
    ?.resources.find(({ name }) => name === plural)
  return {
    ...(resource?.singularName ? { singular: resource.singularName } : {}),
    ...(resource?.shortNames ? { shortNames: resource.shortNames } : {}),
    ...(resource?.categories ? { categories: resource.categories } : {}),
  }
}

/** The definition of each kind. A definition shared by many kinds (DeleteOptions) belongs to none. */
function definitionNames(v2: Sources['v2']): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const [name, { 'x-kubernetes-group-version-kind': kinds }] of Object.entries(v2.definitions)) {
    if (kinds?.length === 1) names.set(kindKey(kinds[0]!), name)
  }
  return names
}

function kindKey({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
