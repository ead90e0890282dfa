/**
 * One OpenAPI v3 document: the paths of a group and version, and all schemas that they reference.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import { isJsonArray } from '../../../kube/json-member.ts'
import type { ServedResource } from '../../catalog/catalog.ts'
import { customListSchema, customSchema } from './custom-schema.ts'
import { listSchemaName, metaSchemas, schemaName } from './names.ts'
import { indexPath, resourcePaths } from './paths.ts'
import { infoOf, type OpenApiSource, type PathItem } from './source.ts'

export type Schemas = Readonly<Record<string, JsonObject>>

export interface Document {
  readonly openapi: '3.0.0'
  readonly info: JsonObject
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: { readonly schemas: Schemas; readonly securitySchemes?: JsonObject }
}

export const bearerToken: JsonObject = {
  type: 'apiKey',
  description: 'Bearer Token authentication',
  name: 'authorization',
  in: 'header',
}

/** The document for these resources, all of one group and version, either built-in or custom. */
export function documentOf(resources: readonly ServedResource[], source: OpenApiSource): Document {
  const [{ group, version, custom } = { group: '', version: '', custom: true }] = resources
  const paths = sorted({
    ...(!custom && indexPath(group, version, source)),
    ...Object.assign({}, ...resources.map((served) => resourcePaths(served, source))),
  }) as Document['paths']
  const own = new Map<string, JsonObject>()
  for (const served of resources.filter((one) => one.custom)) {
    own.set(schemaName(served), customSchema(served, source))
    own.set(listSchemaName(served), customListSchema(served, source))
  }
  const versions = custom
    ? source.versions.filter((one) => !isForeign(one.group))
    : [{ group: '', version: 'v1' }, ...(group === '' ? [] : [{ group, version }])]
  const find = (name: string): JsonObject | undefined => own.get(name) ?? source.schemas[name]
  const schemas = reachable({ paths: paths as unknown as Json }, find)
  return {
    openapi: '3.0.0',
    info: custom ? { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' } : infoOf(source.version),
    paths,
    components: {
      schemas: sorted(withVersions(Object.fromEntries(schemas), versions)),
      ...(!custom && { securitySchemes: { BearerToken: bearerToken } }),
    },
  }
}

/** Groups unknown to the part of kube-apiserver that serves custom resources. */
function isForeign(group: string): boolean {
  return /^(?:admission|apiextensions|apiregistration|imagepolicy)\.k8s\.io$/.test(group)
}

/** DeleteOptions and WatchEvent are kinds of every group and version. */
export function withVersions(schemas: Schemas, versions: OpenApiSource['versions']): Schemas {
  const changed = ['DeleteOptions', 'WatchEvent'].flatMap((kind) => {
    const name = `${metaSchemas}.${kind}`
    const schema = schemas[name]
    const kinds = versions.map(({ group, version }) => ({ group, kind, version }))
    return schema ? [[name, { ...schema, 'x-kubernetes-group-version-kind': kinds }] as const] : []
  })
  return { ...schemas, ...Object.fromEntries(changed) }
}

function reachable(from: Json, find: (name: string) => JsonObject | undefined): ReadonlyMap<string, JsonObject> {
  const found = new Map<string, JsonObject>()
  const visit = (value: Json): void => {
    if (isJsonArray(value)) value.forEach(visit)
    else if (isJsonObject(value)) {
      for (const [key, member] of Object.entries(value)) {
        if (key === '$ref' && typeof member === 'string') follow(member.slice(member.lastIndexOf('/') + 1))
        else visit(member!)
      }
    }
  }
  const follow = (name: string): void => {
    const schema = found.has(name) ? undefined : find(name)
    if (!schema) return
    found.set(name, schema)
    visit(schema)
  }
  visit(from)
  return found
}

export function sorted<T>(members: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
