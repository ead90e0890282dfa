/**
 * The kinds that every cluster has, as data: their schemas and how they are served. Generated from the OpenAPI document
 * of one Kubernetes minor by `scripts/generate-kube.ts`; a running cluster's own document is the truth about that
 * cluster, this table is the truth where there is none (offline, embedded, simulated).
 *
 * Nothing is loaded until the first question, then once. The tables are JSON modules beside this file.
 */
import { createRequire } from 'node:module'
import type { GroupVersionKind, Resource } from './kind.ts'
import type { Definitions, Schema } from './schema.ts'

export interface BuiltinResource extends Resource {
  /** The name of its schema in {@link builtinDefinitions}. */
  readonly definition: string
  readonly singular?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly BuiltinSubresource[]
}

/** `pods/status`, `deployments/scale`: what it answers with may be another kind than its resource's. */
export interface BuiltinSubresource extends GroupVersionKind {
  readonly name: string
  readonly definition?: string
  readonly verbs: readonly string[]
}

interface KindIndex {
  readonly resources: ReadonlyMap<string, BuiltinResource>
  /** Kinds of subresources too (Scale, Eviction), which are no resources of their own. */
  readonly definitions: ReadonlyMap<string, string>
}

// Synchronous on purpose: merging and applying are pure functions, and a table must not make them wait.
const load = createRequire(import.meta.url)

let definitions: Definitions | undefined
let resources: readonly BuiltinResource[] | undefined
let index: KindIndex | undefined

/** Every built-in schema by its name; what `$ref`s in them point at. */
export function builtinDefinitions(): Definitions {
  return (definitions ??= load('./schema/definitions.json') as Definitions)
}

/** Every resource that an API server can serve by itself, alpha versions included; ordered by group, version and plural. */
export function builtinResources(): readonly BuiltinResource[] {
  return (resources ??= load('./schema/resources.json') as readonly BuiltinResource[])
}

/** How a kind is served; undefined for what is no built-in resource. */
export function builtinResource(kind: GroupVersionKind): BuiltinResource | undefined {
  return kindIndex().resources.get(key(kind))
}

/** The schema of a kind; undefined for what is not built in. */
export function builtinSchema(kind: GroupVersionKind): Schema | undefined {
  const name = kindIndex().definitions.get(key(kind))
  return name === undefined ? undefined : builtinDefinitions()[name]
}

function kindIndex(): KindIndex {
  if (index) return index
  const byKind = new Map<string, BuiltinResource>()
  const names = new Map<string, string>()
  for (const resource of builtinResources()) {
    byKind.set(key(resource), resource)
    for (const served of [resource, ...resource.subresources]) {
      if (served.definition !== undefined) names.set(key(served), served.definition)
    }
  }
  return (index = { resources: byKind, definitions: names })
}

function key({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`
}
