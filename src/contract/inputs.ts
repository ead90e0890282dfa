/**
 * The inputs of an operator, cut out of something larger: of a must-gather directory, or of a cluster. What is declared is kept
 * and nothing else, so that a fixture is small and shows what matters; Namespaces and discovery are kept, for without them
 * nobody can read the rest.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type ImportOptions, readGather } from '../apiserver/gather.ts'
import type { Client } from '../client/client.ts'
import { readJson } from '../client/body.ts'
import { builtinResources } from '../kube/builtin.ts'
import { isJsonObject, type Json } from '../kube/json.ts'
import { parseApiVersion, type Resource } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import { readYaml } from '../kube/yaml.ts'
import { servedResource } from './external/served.ts'
import { discoveryFiles, type GatherContent } from './gather-folder.ts'
import type { ResourceType } from './mutation.ts'
import type { ResourceList } from './resource-list.ts'
import { keyOf, selectObjects, typesIn } from './selection.ts'

export interface PruneOptions extends ImportOptions {
  /** Kinds that are known, beside the built-in ones and those that the directory defines. */
  readonly resources?: readonly Resource[]
}

/** What a directory holds of these. It is read file by file; only what may be meant is kept. */
export async function inputsOfGather(
  folder: string,
  list: ResourceList,
  options: PruneOptions = {},
): Promise<GatherContent> {
  const wanted = new Map(typesIn(list).map((type) => [keyOf(type), type]))
  const plurals = await pluralsIn(folder, options)
  const pools = new Map<string, Map<string, UntypedObject>>()
  const namespaces = new Map<string, UntypedObject>()
  for await (const { object, file } of readGather(folder, options)) {
    const { group, version } = parseApiVersion(object.apiVersion)
    const { name = '', namespace = '' } = object.metadata
    if (group === '' && object.kind === 'Namespace') namespaces.set(name, object)
    const resource = plurals.get(`${object.kind}.${group}`) ?? pluralIn(file, group)
    const type = resource === undefined ? undefined : wanted.get(keyOf({ group, resource }))
    if (!type) continue
    if (type.version !== version) {
      options.warn?.(`${file}: ${object.kind} ${name} is at ${version}, and ${type.version} is declared`)
    }
    const key = keyOf(type)
    if (!pools.has(key)) pools.set(key, new Map())
    const pool = pools.get(key)!
    const place = `${namespace}/${name}`
    // Directories often hold an object twice: the newer one counts.
    if (versionOf(pool.get(place)) <= versionOf(object)) pool.set(place, object)
  }
  const pool = (type: Pick<ResourceType, 'group' | 'resource'>): readonly UntypedObject[] => [
    ...(pools.get(keyOf(type))?.values() ?? []),
  ]
  return contentOf(list, pool, [...namespaces.values()], discoveryIn(folder))
}

export async function inputsOfCluster(client: Client, list: ResourceList): Promise<GatherContent> {
  const pools = new Map<string, readonly UntypedObject[]>()
  for (const type of typesIn(list)) {
    const resource = await servedResource(client, type)
    // Lists leave out what their items are.
    const items = resource ? (await client.list(resource)).items : []
    const { group, version } = type
    const apiVersion = group === '' ? version : `${group}/${version}`
    pools.set(
      keyOf(type),
      items.map((item) => Object.assign({}, item, { apiVersion, kind: resource?.kind ?? item.kind })),
    )
  }
  const found = await client.list(namespaceResource)
  const namespaces = found.items.map((item) => Object.assign({}, item, { apiVersion: 'v1', kind: 'Namespace' }))
  return contentOf(list, (type) => pools.get(keyOf(type)) ?? [], namespaces, await discoveryOf(client))
}

const namespaceResource: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

function contentOf(
  list: ResourceList,
  pool: (type: Pick<ResourceType, 'group' | 'resource'>) => readonly UntypedObject[],
  namespaces: readonly UntypedObject[],
  extra: ReadonlyMap<string, Json>,
): GatherContent {
  const selected = selectObjects(list, pool)
  const used = new Set(
    [...selected.values()].flatMap(({ objects }) => objects.map(({ metadata }) => metadata.namespace)),
  )
  return { selected, namespaces: namespaces.filter(({ metadata }) => used.has(metadata.name)), extra }
}

function versionOf(object: UntypedObject | undefined): number {
  return Number(object?.metadata.resourceVersion ?? 0) || 0
}

/** By `Kind.group`. */
async function pluralsIn(folder: string, options: PruneOptions): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>()
  for (const { kind, group, plural } of [...builtinResources(), ...(options.resources ?? [])]) {
    known.set(`${kind}.${group}`, plural)
  }
  for await (const { object } of readGather(folder, { ...options, warn: undefined, strict: false }, [], true)) {
    const { spec } = object as {
      readonly spec?: { readonly group?: string; readonly names?: Readonly<Record<string, string>> }
    }
    if (object.kind !== 'CustomResourceDefinition' || !spec?.names) continue
    known.set(`${spec.names['kind']}.${spec.group}`, spec.names['plural'] ?? '')
  }
  return known
}

/** Of a kind that nothing describes: its directory is named after it. */
function pluralIn(file: string, group: string): string | undefined {
  const parts = file.replace(/\.\w+$/, '').split(path.sep)
  const at = parts.lastIndexOf(group || 'core')
  return at < 0 ? undefined : parts[at + 1]
}

function discoveryIn(folder: string): ReadonlyMap<string, Json> {
  return new Map(
    Object.values(discoveryFiles).flatMap((name) => {
      try {
        const value = readYaml(readFileSync(path.join(folder, name), 'utf8'))
        return isJsonObject(value) ? [[name, value] as const] : []
      } catch {
        return []
      }
    }),
  )
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** What is served, in the form that others read: without it they wait for ever for kinds that they do not know. */
export async function discoveryOf(client: Client): Promise<ReadonlyMap<string, Json>> {
  const files = { [discoveryFiles.core]: '/api', [discoveryFiles.groups]: '/apis' }
  const fetched = Object.entries(files).map(async ([name, from]) => {
    const { body } = await client.request({ method: 'GET', path: from, headers: { accept: aggregated } })
    return [name, await readJson(body)] as const
  })
  return new Map(await Promise.all(fetched))
}
