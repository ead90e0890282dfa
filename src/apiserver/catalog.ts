/**
 * What the server serves at this moment: the built-in resources, and those of the CRDs that are established. Routes,
 * discovery and every verb look here and nowhere else, so a CRD is served everywhere the moment it is added.
 */
import { builtinDefinitions, type BuiltinResource, builtinResources, type BuiltinSubresource } from '../kube/builtin.ts'
import type { Resource } from '../kube/kind.ts'
import type { SchemaOfKind } from './prune.ts'
import { qualifiedPlural } from './refusal.ts'
import { type ScalePaths, scalePathsOf } from './scale.ts'
import { selectableFieldsOf } from './selection.ts'

/** One version of a resource. */
export interface Served extends Resource, SchemaOfKind {
  readonly listKind: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly BuiltinSubresource[]
  /** Where its objects are stored, whatever the version: `deployments.apps`. */
  readonly table: string
  /** Whether status is written through its own endpoint alone. */
  readonly hasStatus: boolean
  readonly scale: ScalePaths | undefined
  /** Fields that selectors may name, beside name and namespace. */
  readonly selectable: readonly string[]
}

export interface Catalog {
  find(group: string, version: string, plural: string): Served | undefined
  /** The preferred version of what is stored in this table. */
  ofTable(table: string): Served | undefined
  /** Everything served: groups in the order of discovery, in each the preferred version first. */
  all(): readonly Served[]
  /** Puts the versions of a custom resource in place of those it had; none removes it. */
  replace(table: string, versions: readonly Served[]): void
}

// Shared by all servers of a process: the table is the same for each and takes a moment to build.
let builtins: readonly Served[] | undefined
let builtinTables: ReadonlyMap<string, Served> | undefined

export function createCatalog(): Catalog {
  builtins ??= builtinResources().map(serveBuiltin)
  builtinTables ??= new Map(
    builtins
      .toSorted(compareServed)
      .toReversed()
      .map((served) => [served.table, served]),
  )
  const custom = new Map<string, readonly Served[]>()
  let byPath = new Map<string, Served>()
  let sorted: readonly Served[] | undefined

  const rebuild = (): void => {
    const all = [...builtins!, ...[...custom.values()].flat()]
    byPath = new Map(all.map((served) => [pathKey(served.group, served.version, served.plural), served]))
    sorted = undefined
  }
  rebuild()

  return {
    find: (group, version, plural) => byPath.get(pathKey(group, version, plural)),
    ofTable: (table) => custom.get(table)?.[0] ?? builtinTables!.get(table),
    all: () => (sorted ??= [...byPath.values()].toSorted(compareServed)),
    replace(table, versions) {
      if (versions.length === 0) custom.delete(table)
      else custom.set(table, versions)
      rebuild()
    },
  }
}

function pathKey(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}

function serveBuiltin(resource: BuiltinResource): Served {
  return {
    ...resource,
    listKind: `${resource.kind}List`,
    singular: resource.singular ?? '',
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
    table: qualifiedPlural(resource),
    hasStatus: resource.subresources.some(({ name }) => name === 'status'),
    scale: resource.subresources.some(({ name }) => name === 'scale') ? scalePathsOf(resource) : undefined,
    selectable: selectableFieldsOf(resource),
    schema: builtinDefinitions()[resource.definition],
    definitions: builtinDefinitions(),
    custom: false,
  }
}

/** The core group first, then Kubernetes' own, then the rest; within a group the best version first. */
function compareServed(a: Served, b: Served): number {
  return (
    groupRank(a.group) - groupRank(b.group) ||
    compareText(a.group, b.group) ||
    compareVersions(a.version, b.version) ||
    compareText(a.plural, b.plural)
  )
}

function groupRank(group: string): number {
  if (group === '') return 0
  return !group.includes('.') || group.endsWith('.k8s.io') ? 1 : 2
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** v2 before v1 before v1beta1 before v1alpha1; what is no Kubernetes version comes last, by name. */
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
