/**
 * The source of OpenAPI documents, beyond the catalog: the schemas with their descriptions, and the descriptions of
 * parameters. Two megabytes that are only needed to build a document, so they are stored compressed beside this file
 * (by `scripts/generate-openapi.ts`) and referenced weakly.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import type { JsonObject } from '../../../kube/json.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly description?: string
  readonly required?: boolean
  readonly schema: JsonObject
}

export interface OpenApiOperation {
  readonly tags?: readonly string[]
  readonly description: string
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content; readonly required?: boolean }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
  readonly 'x-kubernetes-action'?: string
  readonly 'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }
}

/** The schema of a body by media type. */
export type Content = Readonly<Record<string, { readonly schema: JsonObject }>>

/** The operations of a path by lower-case method, and their common parameters. */
export type PathItem = { readonly parameters?: readonly Parameter[] } & {
  readonly [method in 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch']?: OpenApiOperation
}

export interface OpenApiSource {
  readonly version: string
  /** OpenAPI v3 schemas; references begin with `#/components/schemas/`. */
  readonly schemas: Readonly<Record<string, JsonObject>>
  /** By name, qualified where descriptions differ: `patch/fieldManager`, `pods/exec/container`. */
  readonly parameters: Readonly<Record<string, Parameter>>
  /** Documents that are not about resources: `version`, `apis/apps`. */
  readonly documents: Readonly<Record<string, JsonObject>>
  /** All groups and versions known to kube-apiserver: `DeleteOptions` and `WatchEvent` are kinds of each. */
  readonly versions: readonly { readonly group: string; readonly version: string }[]
}

let held: WeakRef<OpenApiSource> | undefined
let digest: string | undefined

export function openApiSource(): OpenApiSource {
  const known = held?.deref()
  if (known) return known
  const source = JSON.parse(brotliDecompressSync(packed()).toString()) as OpenApiSource
  held = new WeakRef(source)
  return source
}

/** The hash of the source, computed without decompressing it. */
export function sourceDigest(): string {
  return (digest ??= hash('sha512', packed()))
}

function packed(): Uint8Array {
  return readFileSync(new URL('source.json.br', import.meta.url))
}

/** The version is shortened: `1.37` for `1.37.1`. */
export function infoOf(version: string): JsonObject {
  return { title: 'Kubernetes', version: version.split('.').slice(0, 2).join('.') }
}
