/**
 * The sources of the generator: the OpenAPI v2 document (schemas, list and merge keys, paths), the v3 documents
 * (defaults, which v2 lacks) and the discovery documents (short names, singulars, categories, which OpenAPI lacks). The
 * Kubernetes source tree contains all three; a running API server serves all three. The protobuf encoding is in the Go
 * sources only.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { GroupVersionKind } from '../../src/kube/kind.ts'
import type { Schema } from '../../src/kube/schema.ts'
import { type ProtoPackage, protoModules, readProtoPackages } from './protobuf.ts'

/** The newest stable minor; the only place that names it. */
export const kubernetesVersion = '1.37.1'

export interface OpenApiSchema extends Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[]
}

export interface OpenApiOperation {
  readonly 'x-kubernetes-action'?: string
  readonly 'x-kubernetes-group-version-kind'?: GroupVersionKind
}

export interface OpenApiV2 {
  readonly definitions: Readonly<Record<string, OpenApiSchema>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface OpenApiV3 {
  readonly components?: { readonly schemas?: Readonly<Record<string, OpenApiSchema>> }
}

/** `APIResourceList`: the response of `/api/v1` and `/apis/GROUP/VERSION`. */
export interface DiscoveryDocument {
  readonly groupVersion: string
  readonly resources: readonly {
    readonly name: string
    readonly singularName?: string
    readonly shortNames?: readonly string[]
    readonly categories?: readonly string[]
  }[]
}

export interface Sources {
  readonly version: string
  readonly v2: OpenApiV2
  readonly v3: readonly OpenApiV3[]
  readonly discovery: readonly DiscoveryDocument[]
  /** Undefined without the Go sources. */
  readonly packages: readonly ProtoPackage[]
}

/** The document inside the Go module cache, downloaded by the Go toolchain if necessary. */
export function downloadOpenApi(): string {
  const module = `k8s.io/kubernetes@v${kubernetesVersion}`
  const answer = execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' })
  execFileSync('go', ['mod', 'download', ...protoModules(kubernetesVersion)])
  return openApiIn((JSON.parse(answer) as { Dir: string }).Dir)
}

export function openApiIn(sourceTree: string): string {
  return path.join(sourceTree, 'api', 'openapi-spec', 'swagger.json')
}

/** Reads `swagger.json` and its neighbours in the source tree: `v3/` and `../discovery/`. */
export function readSources(swagger: string, version: string = kubernetesVersion): Sources {
  const folder = path.dirname(swagger)
  return {
    version,
    v2: readJson(swagger) as OpenApiV2,
    v3: readFolder(path.join(folder, 'v3'), '*_openapi.json') as readonly OpenApiV3[],
    discovery: readFolder(
      path.join(folder, '..', 'discovery'),
      '{api,apis__*}__v*.json',
    ) as readonly DiscoveryDocument[],
    packages: readProtoPackages(path.join(folder, '..', '..'), version),
  }
}

function readFolder(folder: string, pattern: string): readonly unknown[] {
  if (!existsSync(folder)) return []
  const names = globSync(pattern, { cwd: folder }).toSorted()
  return names.map((name) => readJson(path.join(folder, name)))
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Reads from a running API server, at an address without authentication (`kubectl proxy`). */
export async function fetchSources(server: string): Promise<Sources> {
  const get = async <T>(where: string): Promise<T> => {
    const answer = await fetch(new URL(where, server), { headers: { accept: 'application/json' } })
    if (!answer.ok) throw new Error(`${server}${where} answered ${answer.status}`)
    return (await answer.json()) as T
  }
  const { gitVersion } = await get<{ gitVersion: string }>('/version')
  const { paths } = await get<{ paths: Record<string, { serverRelativeURL: string }> }>('/openapi/v3')
  const groupVersions = Object.keys(paths).filter((name) => /^apis?\/.*v\d/.test(name))
  return {
    version: gitVersion.replace(/^v/, ''),
    v2: await get('/openapi/v2'),
    v3: await Promise.all(Object.values(paths).map((document) => get<OpenApiV3>(document.serverRelativeURL))),
    discovery: await Promise.all(groupVersions.map((name) => get<DiscoveryDocument>(`/${name}`))),
    packages: [],
  }
}
