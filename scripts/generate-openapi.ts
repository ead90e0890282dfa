/**
 * Generates `src/apiserver/discovery/openapi/source.json.br`, from which the embedded server builds its OpenAPI
 * documents:
 *
 *     kubectl proxy & node scripts/generate-openapi.ts --server http://127.0.0.1:8001
 *
 * The source is a running kube-apiserver, because only it lists enumerations. Versions that it does not serve (alpha
 * and beta) come from the Go module, as for `generate-kube.ts`. The output is deterministic.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { brotliCompressSync, constants } from 'node:zlib'
import { infoOf, type OpenApiSource, type Parameter, type PathItem } from '../src/apiserver/discovery/openapi/source.ts'
import type { JsonObject } from '../src/kube/json.ts'
import { downloadOpenApi, fetchSources, type OpenApiV3, readSources, type Sources } from './kube/sources.ts'

interface Document {
  readonly info: JsonObject
  readonly paths: Readonly<Record<string, PathItem>>
}

/** Everything that cannot be derived from a resource's name and verbs. */
export function openApiSource(served: Sources, others: Sources): OpenApiSource {
  const documents = new Map<string, JsonObject>()
  const parameters: Record<string, Parameter> = {}
  for (const { v3 } of [served, others]) {
    for (const document of v3.filter(isBuiltIn) as unknown as readonly Document[]) {
      const [first = ''] = Object.keys(document.paths)
      const where = first.replace(/^\/|\/$/g, '')
      if (/^(?:api|apis\/[^/]+)\/[^/]+$/.test(where)) collectParameters(document, parameters)
      else if (!documents.has(where) && !where.startsWith('logs')) {
        documents.set(where, { ...document, info: infoOf(served.version) } as unknown as JsonObject)
      }
    }
  }
  const { DeleteOptions } = Object.fromEntries(
    Object.entries(served.v2.definitions).map(([name, schema]) => [name.slice(name.lastIndexOf('.') + 1), schema]),
  )
  return {
    version: served.version,
    schemas: sorted({ ...schemasOf(others), ...schemasOf(served) }),
    parameters: sorted(parameters),
    documents: sorted(Object.fromEntries(documents)),
    versions: (DeleteOptions?.['x-kubernetes-group-version-kind'] ?? []).map(({ group, version }) => ({
      group,
      version,
    })),
  }
}

function schemasOf({ v3 }: Sources): Record<string, JsonObject> {
  const all = v3.filter(isBuiltIn).map(({ components }) => components?.schemas ?? {})
  return Object.assign({}, ...all) as Record<string, JsonObject>
}

/** The server may have CRDs, whose documents have another title. */
function isBuiltIn(document: OpenApiV3): boolean {
  return (document as unknown as Document).info['title'] === 'Kubernetes'
}

/** Most parameters are the same everywhere; the others have an entry for each place. */
function collectParameters({ paths }: Document, found: Record<string, Parameter>): void {
  for (const [path, item] of Object.entries(paths)) {
    const { parameters = [], ...operations } = item
    const special = /\/([a-z]+)\/\{name\}\/(attach|exec|log|portforward|proxy)(\/\{path\})?$/.exec(path)
    for (const operation of Object.values(operations)) {
      const isPatch = operation['x-kubernetes-action'] === 'patch'
      for (const parameter of [...parameters, ...(operation.parameters ?? [])]) {
        const { name } = parameter
        if (name === 'name') continue
        const isCommon = ['namespace', 'pretty'].includes(name) || parameter.in === 'path'
        const key = special && !isCommon ? `${special[1]}/${special[2]}/${name}` : isPatch ? `patch/${name}` : name
        if (key !== name && JSON.stringify(found[name]) === JSON.stringify(parameter)) continue
        found[key] ??= parameter
      }
    }
  }
}

function sorted<T>(members: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { server: { type: 'string' } } })
  if (values.server === undefined) throw new Error('--server is missing: the address of a `kubectl proxy`')
  const source = openApiSource(await fetchSources(values.server), readSources(downloadOpenApi()))
  const text = Buffer.from(JSON.stringify(source))
  const params = { [constants.BROTLI_PARAM_LGWIN]: 22, [constants.BROTLI_PARAM_SIZE_HINT]: text.length }
  const packed = brotliCompressSync(text, { params })
  const target = new URL('../src/apiserver/discovery/openapi/source.json.br', import.meta.url)
  writeFileSync(fileURLToPath(target), packed)
  console.log(`Kubernetes ${source.version}: ${text.length} bytes of OpenAPI in ${packed.length}`)
}

if (import.meta.main) await main()
