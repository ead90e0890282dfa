/**
 * The served resources: the built-in ones, and those of established CRDs. Routing, discovery and all verbs use the
 * catalog alone, so a CRD takes effect everywhere as soon as it is added.
 */
import {
  builtinDefinitions,
  type BuiltinResource,
  builtinResources,
  type BuiltinSubresource,
} from '../../kube/builtin.ts'
import { formatApiVersion, type Resource } from '../../kube/kind.ts'
import type { PrinterColumn } from '../printer/custom.ts'
import type { SchemaOfKind } from '../codec/prune.ts'
import { kindConversion } from './conversions.ts'
import { qualifiedPlural } from '../errors/status-error.ts'
import { type ScalePaths, scalePathsOf } from './scale-paths.ts'
import { selectableFieldsOf } from './selection.ts'
import type { ConvertStored } from './versions.ts'

/** One version of a resource. */
export interface ServedResource extends Resource, SchemaOfKind {
  readonly listKind: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly BuiltinSubresource[]
  /** The storage table, the same for all versions: `deployments.apps`. */
  readonly table: string
  /** Whether status is a subresource: writes to the object ignore it. */
  readonly hasStatus: boolean
  readonly scale: ScalePaths | undefined
  /** The name of its schema among the definitions, for a built-in kind. */
  readonly definition?: string | undefined
  /** The storage version, as apiVersion. */
  readonly storedAs: string
  /** Present if versions differ in more than their name. */
  readonly convert?: ConvertStored | undefined
  /** The warning for users of a deprecated version. */
  readonly deprecation?: string | undefined
  /** The uid of the CRD: a recreated CRD of the same name serves another resource. */
  readonly definedBy?: string | undefined
  /** The CRD is being deleted: its objects are being deleted, and no new ones can be created. */
  readonly isTerminating?: boolean | undefined
  /** Fields of field selectors, beside name and namespace. */
  readonly selectable: readonly string[]
  /** The printer columns of a custom resource. */
  readonly columns?: readonly PrinterColumn[] | undefined
}

export interface Catalog {
  find(group: string, version: string, plural: string): ServedResource | undefined
  /** The preferred version of the resource of a storage table. */
  ofTable(table: string): ServedResource | undefined
  /** The resource of a kind at exactly this version, as in an owner reference. */
  ofKind(apiVersion: string, kind: string): ServedResource | undefined
  /** All served resources: groups in the order of discovery, in each the preferred version first. */
  all(): readonly ServedResource[]
  /** Replaces the versions of a custom resource; an empty list removes it. */
  replace(table: string, versions: readonly ServedResource[]): void
}

interface Builtins {
  readonly byPath: ReadonlyMap<string, ServedResource>
  /** The preferred version of each table. */
  readonly byTable: ReadonlyMap<string, ServedResource>
  readonly byKind: ReadonlyMap<string, ServedResource>
  readonly sorted: readonly ServedResource[]
}

// Shared by all clusters of a process, to save the time and memory of building it.
let shared: Builtins | undefined

function builtins(): Builtins {
  if (shared) return shared
  const sorted = serveBuiltins().toSorted(compareServed)
  return (shared = {
    byPath: new Map(sorted.map((served) => [pathKey(served.group, served.version, served.plural), served])),
    byTable: new Map(sorted.toReversed().map((served) => [served.table, served])),
    byKind: new Map(sorted.map((served) => [kindKey(formatApiVersion(served), served.kind), served])),
    sorted,
  })
}

/** Whether the CRD is still the one that was served when the request began: it may have been deleted and recreated. */
export function isDefinedAsBefore(catalog: Catalog, { table, definedBy }: ServedResource): boolean {
  return definedBy === undefined || catalog.ofTable(table)?.definedBy === definedBy
}

export function createCatalog(): Catalog {
  const custom = new Map<string, readonly ServedResource[]>()
  const byPath = new Map<string, ServedResource>()
  const byKind = new Map<string, ServedResource>()
  let sorted: readonly ServedResource[] | undefined

  return {
    find(group, version, plural) {
      const key = pathKey(group, version, plural)
      return byPath.get(key) ?? builtins().byPath.get(key)
    },
    ofTable: (table) => custom.get(table)?.[0] ?? builtins().byTable.get(table),
    ofKind(apiVersion, kind) {
      const key = kindKey(apiVersion, kind)
      return byKind.get(key) ?? builtins().byKind.get(key)
    },
    all() {
      if (custom.size === 0) return builtins().sorted
      return (sorted ??= [...builtins().sorted, ...byPath.values()].toSorted(compareServed))
    },
    replace(table, versions) {
      for (const served of custom.get(table) ?? []) {
        byPath.delete(pathKey(served.group, served.version, served.plural))
        byKind.delete(kindKey(formatApiVersion(served), served.kind))
      }
      if (versions.length === 0) custom.delete(table)
      else custom.set(table, versions)
      for (const served of versions) {
        byPath.set(pathKey(served.group, served.version, served.plural), served)
        byKind.set(kindKey(formatApiVersion(served), served.kind), served)
      }
      sorted = undefined
    },
  }
}

function pathKey(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}

function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`
}

function serveBuiltins(): readonly ServedResource[] {
  // Alpha and beta versions are disabled by default in kube-apiserver.
  const resources = builtinResources().filter(({ version }) => /^v\d+$/.test(version))
  const best = new Map<string, BuiltinResource>()
  for (const resource of resources) {
    const table = tableOf(resource)
    const known = best.get(table)
    if (!known || known.group.length > resource.group.length || compareVersions(resource.version, known.version) < 0) {
      best.set(table, resource)
    }
  }
  return resources.map((resource) => serveBuiltin(resource, best.get(tableOf(resource))!))
}

/** Events of the core group and of events.k8s.io are the same objects. */
function tableOf(resource: BuiltinResource): string {
  return resource.group === 'events.k8s.io' ? resource.plural : qualifiedPlural(resource)
}

/** Deprecation warnings by kind. */
const deprecations: Readonly<Record<string, string>> = {
  Endpoints: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  ComponentStatus: 'v1 ComponentStatus is deprecated in v1.19+',
}

function serveBuiltin(resource: BuiltinResource, stored: BuiltinResource): ServedResource {
  const table = tableOf(resource)
  const convert = kindConversion(table)
  return Object.assign(new BuiltinSchema(resource.definition), {
    ...resource,
    listKind: `${resource.kind}List`,
    singular: resource.singular ?? '',
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
    table,
    storedAs: formatApiVersion(stored),
    convert:
      convert &&
      ((...[objects, apiVersion]: Parameters<ConvertStored>) => objects.map((object) => convert(object, apiVersion))),
    deprecation: deprecations[resource.kind],
    hasStatus: resource.subresources.some(({ name }) => name === 'status'),
    scale: resource.subresources.some(({ name }) => name === 'scale') ? scalePathsOf(resource) : undefined,
    selectable: selectableFieldsOf(resource),
    custom: false as const,
  })
}

/**
 * The schema of a built-in kind, loaded lazily: it is large, and only writes need it. The accessors are on a prototype:
 * V8 keeps objects with own accessors in slow dictionary mode, and every request reads these.
 */
class BuiltinSchema {
  readonly #definition: string

  constructor(definition: string) {
    this.#definition = definition
  }

  get schema(): ServedResource['schema'] {
    return builtinDefinitions()[this.#definition]
  }

  get definitions(): ServedResource['definitions'] {
    return builtinDefinitions()
  }
}

/**
 * The core group first, then the other built-in groups, then custom ones; within a group the preferred version first.
 */
function compareServed(a: ServedResource, b: ServedResource): number {
  return (
    groupRank(a.group) - groupRank(b.group) ||
    compareText(a.group, b.group) ||
    compareVersions(a.version, b.version) ||
    compareText(a.plural, b.plural)
  )
}

/** By priority, as in kube-apiserver: if two groups have a resource of the same name, clients use the first. */
const groupOrder: ReadonlyMap<string, number> = new Map(
  [
    '',
    'apiregistration.k8s.io',
    'apps',
    'events.k8s.io',
    'authentication.k8s.io',
    'authorization.k8s.io',
    'autoscaling',
    'batch',
    'certificates.k8s.io',
    'networking.k8s.io',
    'policy',
    'rbac.authorization.k8s.io',
    'storage.k8s.io',
    'admissionregistration.k8s.io',
    'apiextensions.k8s.io',
    'scheduling.k8s.io',
    'coordination.k8s.io',
    'node.k8s.io',
    'discovery.k8s.io',
    'resource.k8s.io',
    'flowcontrol.apiserver.k8s.io',
    'storagemigration.k8s.io',
  ].map((group, index) => [group, index]),
)

function groupRank(group: string): number {
  return groupOrder.get(group) ?? groupOrder.size
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** v2 before v1 before v1beta1 before v1alpha1; other strings come last, by name. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [rankOf(a), rankOf(b)]
  if (!left || !right) return left ? -1 : right ? 1 : compareText(a, b)
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor
}

function rankOf(
  version: string,
): { readonly stability: number; readonly major: number; readonly minor: number } | undefined {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  if (!match) return undefined
  const stability = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0
  return { stability, major: Number(match[1]), minor: Number(match[3] ?? 0) }
}
