/**
 * The built-in kinds, as data: their schemas and resources. Generated from the OpenAPI document of one Kubernetes minor by
 * `scripts/generate-kube.ts`; a running cluster's own document takes precedence, this table is used where there is none
 * (offline, embedded, simulated).
 *
 * Loaded on first use, once. The tables are JSON modules beside this file.
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

/** `pods/status`, `deployments/scale`: its kind may differ from that of the resource. */
export interface BuiltinSubresource extends GroupVersionKind {
  readonly name: string
  readonly definition?: string
  readonly verbs: readonly string[]
}

interface KindIndex {
  readonly resources: ReadonlyMap<string, BuiltinResource>
  /** Including kinds of subresources (Scale, Eviction), which are not resources themselves. */
  readonly definitions: ReadonlyMap<string, string>
}

// Synchronous on purpose: merging and applying are pure functions and must not become async for a table.
const load = createRequire(import.meta.url)

let definitions: Definitions | undefined
let resources: readonly BuiltinResource[] | undefined
let index: KindIndex | undefined

/** Every built-in schema by name; the targets of `$ref`s. */
export function builtinDefinitions(): Definitions {
  return (definitions ??= load('./schema/definitions.json') as Definitions)
}

/** Every resource that an API server itself can serve, alpha versions included; ordered by group, version and plural. */
export function builtinResources(): readonly BuiltinResource[] {
  return (resources ??= load('./schema/resources.json') as readonly BuiltinResource[])
}

/** The resource of a kind; undefined if it is not built in. */
export function builtinResource(kind: GroupVersionKind): BuiltinResource | undefined {
  return kindIndex().resources.get(key(kind))
}

/** The schema of a kind; undefined if it is not built in. */
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
