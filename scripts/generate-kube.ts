/**
 * Generates the data of `src/kube` about the built-in kinds, from the OpenAPI documents of one Kubernetes minor:
 *
 *     node scripts/generate-kube.ts                  from the Go module k8s.io/kubernetes (needs the Go toolchain)
 *     node scripts/generate-kube.ts --openapi FILE   from api/openapi-spec/swagger.json of a Kubernetes source tree
 *     node scripts/generate-kube.ts --server URL     from a running API server (through `kubectl proxy`)
 *
 * The table of protobuf messages comes from the Go packages beside the first two; a server does not serve it. The
 * output is deterministic. Descriptions are left out.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { BuiltinResource } from '../src/kube/builtin.ts'
import { definitionsOf, printDefinitions } from './kube/definitions.ts'
import { protobufOf } from './kube/protobuf.ts'
import { printResources, resourcesOf } from './kube/resources.ts'
import { type Sources, downloadOpenApi, fetchSources, readSources } from './kube/sources.ts'
import { typesOf } from './kube/types.ts'

/** Every generated file, by its path below `src/kube`. */
export function generate(sources: Sources): ReadonlyMap<string, string> {
  const resources = resourcesOf(sources)
  return new Map([
    ['schema/definitions.json', printDefinitions(definitionsOf(sources))],
    ['schema/resources.json', printResources(resources)],
    ...protobufFiles(sources, resources),
    ...[...typesOf(sources)].map(([file, text]): [string, string] => [`types/${file}`, text]),
  ])
}

/** Without sources the current table is kept. */
function protobufFiles({ packages }: Sources, resources: readonly BuiltinResource[]): [string, string][] {
  return packages.length === 0 ? [] : [['schema/protobuf.json', protobufOf(packages, resources)]]
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { openapi: { type: 'string' }, server: { type: 'string' } } })
  const sources =
    values.server === undefined ? readSources(values.openapi ?? downloadOpenApi()) : await fetchSources(values.server)
  const files = generate(sources)
  const target = fileURLToPath(new URL('../src/kube/', import.meta.url))
  // A group that is no longer served must be removed.
  rmSync(path.join(target, 'types'), { recursive: true, force: true })
  for (const [file, text] of files) {
    mkdirSync(path.dirname(path.join(target, file)), { recursive: true })
    writeFileSync(path.join(target, file), text)
  }
  console.log(`Kubernetes ${sources.version}: ${files.size} files in src/kube`)
}

if (import.meta.main) await main()
