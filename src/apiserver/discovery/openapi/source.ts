/**
 * What OpenAPI documents are made from, beyond what the server knows of its resources anyway: the schemas with their
 * prose, and the texts of parameters. Two megabytes that a server needs only when somebody asks for a document, so they
 * lie packed beside this file (`scripts/generate-openapi.ts`) and are let go when memory is short.
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

/** What a body may be, by media type. */
export type Content = Readonly<Record<string, { readonly schema: JsonObject }>>

/** The operations of a path by their lower-case method, and the parameters that all of them have. */
export type PathItem = { readonly parameters?: readonly Parameter[] } & {
  readonly [method in 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch']?: OpenApiOperation
}

export interface OpenApiSource {
  readonly version: string
  /** As OpenAPI v3 has them; references begin with `#/components/schemas/`. */
  readonly schemas: Readonly<Record<string, JsonObject>>
  /** By name, or by what sets them apart: `patch/fieldManager`, `pods/exec/container`. */
  readonly parameters: Readonly<Record<string, Parameter>>
  /** Documents that are about no resource: `version`, `apis/apps`. */
  readonly documents: Readonly<Record<string, JsonObject>>
  /** Groups and versions that a real server has ever heard of: `DeleteOptions` and `WatchEvent` are kinds of each. */
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

/** Changes whenever the source does; known without unpacking it. */
export function sourceDigest(): string {
  return (digest ??= hash('sha512', packed()))
}

function packed(): Uint8Array {
  return readFileSync(new URL('source.json.br', import.meta.url))
}

/** `1.37.1` is shown as `1.37`. */
export function infoOf(version: string): JsonObject {
  return { title: 'Kubernetes', version: version.split('.').slice(0, 2).join('.') }
}
