/**
 * Extracts the inputs of an operator from a must-gather directory or a cluster. Only declared objects are kept, so that
 * a fixture is small; Namespaces and discovery are kept, since readers need them.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type ImportOptions, readGather } from '../../apiserver/must-gather/must-gather.ts'
import type { Client } from '../../client/client.ts'
import { readJson } from '../../client/body.ts'
import { builtinResources } from '../../kube/builtin.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import { formatApiVersion, parseApiVersion, type Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { servedResource } from './served.ts'
import { discoveryFiles, type GatherContent } from './gather-folder.ts'
import type { ResourceType } from '../declaration/mutation.ts'
import type { ResourceList } from '../declaration/resource-list.ts'
import {
  type Clues,
  cluesOf,
  mayBeSelected,
  selectionKey,
  type Pool,
  referredTo,
  selectObjects,
  typesIn,
} from '../declaration/selection.ts'

interface PruneOptions extends ImportOptions {
  /** Known kinds beside the built-in ones and those that the directory defines. */
  readonly resources?: readonly Resource[]
  /** Returns all Secrets, declared or not: redaction needs their values. @default false */
  readonly secrets?: boolean | undefined
}

const secretsType: ResourceType = { group: '', version: 'v1', resource: 'secrets' }

/** Extracts the inputs from a directory. */
export async function inputsOfGather(
  folder: string,
  list: ResourceList,
  options: PruneOptions = {},
): Promise<GatherContent> {
  const withSecrets = { ...list, kindResources: [...(list.kindResources ?? []), secretsType] }
  const { pool, namespaces } = await poolOfGather(folder, options.secrets ? withSecrets : list, options)
  const content = contentOf(list, pool, namespaces, discoveryIn(folder))
  return options.secrets ? { ...content, secrets: pool(secretsType) } : content
}

interface GatherPool {
  readonly pool: Pool
  readonly namespaces: readonly UntypedObject[]
}

/**
 * The objects of a directory that may be selected, and no others: it may be far larger than memory. The directory is
 * read again when the found objects refer to further ones.
 */
export async function poolOfGather(folder: string, list: ResourceList, options: PruneOptions): Promise<GatherPool> {
  const wanted = new Map(typesIn(list).map((type) => [selectionKey(type), type]))
  const kinds = await namesOfKinds(folder, options, [...wanted.keys()])
  const pools = new Map<string, Map<string, UntypedObject>>([...wanted.keys()].map((key) => [key, new Map()]))
  const pool: Pool = (type) => [...(pools.get(selectionKey(type))?.values() ?? [])]
  const namespaces = new Map<string, UntypedObject>()

  /** Without a definition, the kind of a resource and the plural of a kind can only be guessed. */
  const mayBe = (kind: string, key: string): boolean =>
    !kinds.describes(key) && (kinds.resourcesOf(kind).length === 0 || key.startsWith(kind.toLowerCase().slice(0, -1)))

  const read = async (clues: Clues, isWanted: Wanted, warn: ImportOptions['warn']): Promise<void> => {
    const wants = (kind: string, text: string): boolean => {
      if (kind === 'Namespace') return true
      const keys = [...kinds.resourcesOf(kind), ...[...clues.keys()].filter((key) => mayBe(kind, key))]
      return keys.some((key) => clues.get(key)?.some((words) => words.every((word) => text.includes(word))))
    }
    for await (const { object, file } of readGather(folder, { ...options, warn, wants })) {
      const { group, version } = parseApiVersion(object.apiVersion)
      const { name = '', namespace = '' } = object.metadata
      if (group === '' && object.kind === 'Namespace') namespaces.set(name, object)
      const resource = kinds.pluralOf(object.kind, group) ?? pluralIn(file, group)
      const type = resource === undefined ? undefined : wanted.get(selectionKey({ group, resource }))
      if (!type || !isWanted(type, object)) continue
      if (type.version !== version) {
        warn?.(`${file}: ${object.kind} ${name} is at ${version}, and ${type.version} is declared`)
      }
      const held = pools.get(selectionKey(type))!
      const place = `${namespace}/${name}`
      // Directories often contain an object twice: the newer one counts.
      if (versionOf(held.get(place)) <= versionOf(object)) held.set(place, alone(object))
    }
  }

  await read(cluesOf(list), (type, object) => mayBeSelected(list, type, object), options.warn)
  const asked = new Set<string>()
  for (;;) {
    const fresh = new Map<string, ReadonlySet<string>>()
    for (const [key, names] of referredTo(list, pool)) {
      const missing = [...names].filter((name) => !pools.get(key)!.has(name) && !asked.has(`${key} ${name}`))
      if (missing.length > 0) fresh.set(key, new Set(missing))
      for (const name of missing) asked.add(`${key} ${name}`)
    }
    if (fresh.size === 0) return { pool, namespaces: [...namespaces.values()] }
    const isNamed: Wanted = (type, { metadata }) =>
      fresh.get(selectionKey(type))?.has(`${metadata.namespace ?? ''}/${metadata.name}`) ?? false
    // Broken files were reported in the first pass.
    const clues = [...fresh].map(([key, names]) => [key, [...names].map((name) => [nameIn(name)])] as const)
    await read(new Map(clues), isNamed, undefined)
  }
}

type Wanted = (type: ResourceType, object: UntypedObject) => boolean

function nameIn(place: string): string {
  return place.slice(place.indexOf('/') + 1)
}

/** A substring keeps its whole source text in memory: copy what is kept for long. */
function alone(object: UntypedObject): UntypedObject {
  return parseJson(stringifyJson(object)) as unknown as UntypedObject
}

/** @param options `warn` is called when not all Secrets may be read */
export async function inputsOfCluster(
  client: Client,
  list: ResourceList,
  options: Pick<PruneOptions, 'secrets' | 'warn'> = {},
): Promise<GatherContent> {
  const pools = new Map<string, readonly UntypedObject[]>()
  for (const type of typesIn(list)) pools.set(selectionKey(type), await allOf(client, type))
  const found = await client.list(namespaceResource)
  const namespaces = found.items.map((item) => Object.assign({}, item, { apiVersion: 'v1', kind: 'Namespace' }))
  const content = contentOf(list, (type) => pools.get(selectionKey(type)) ?? [], namespaces, await discoveryOf(client))
  return options.secrets ? { ...content, secrets: await secretsOf(client, options.warn) } : content
}

async function allOf(client: Client, type: ResourceType): Promise<readonly UntypedObject[]> {
  const resource = await servedResource(client, type)
  // List items have no apiVersion and kind.
  const items = resource ? (await client.list(resource)).items : []
  const apiVersion = formatApiVersion(type)
  return items.map((item) => Object.assign({}, item, { apiVersion, kind: resource?.kind ?? item.kind }))
}

/** The caller may not be allowed to list all Secrets. */
async function secretsOf(client: Client, warn: PruneOptions['warn']): Promise<readonly UntypedObject[]> {
  try {
    return await allOf(client, secretsType)
  } catch (error) {
    if (!isMusterError(error, clientErrors.Forbidden)) throw error
    warn?.('not all Secrets may be read: values of those that are not declared may stand elsewhere')
    return []
  }
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
  pool: Pool,
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

/** Maps kinds to resources. */
interface KindNames {
  pluralOf(kind: string, group: string): string | undefined
  /** The possible resources of a kind, in any group. */
  resourcesOf(kind: string): readonly string[]
  describes(resource: string): boolean
}

type NamedKind = Pick<Resource, 'kind' | 'group' | 'plural'>

/** The directory is read only for kinds without another definition. */
async function namesOfKinds(folder: string, options: PruneOptions, wanted: readonly string[]): Promise<KindNames> {
  const known = namesAmong(options.resources ?? [], builtinNames())
  if (wanted.every((key) => known.describes(key))) return known
  const defined: NamedKind[] = []
  for await (const { object } of readGather(folder, { ...options, warn: undefined, strict: false }, [], true)) {
    const { spec } = object as {
      readonly spec?: { readonly group?: string; readonly names?: Readonly<Record<string, string>> }
    }
    if (object.kind !== 'CustomResourceDefinition' || !spec?.names) continue
    const { kind = '', plural = '' } = spec.names
    defined.push({ kind, plural, group: spec.group ?? '' })
  }
  return namesAmong(defined, known)
}

let builtin: KindNames | undefined

function builtinNames(): KindNames {
  return (builtin ??= namesAmong(builtinResources()))
}

/** `others` is consulted, too. */
function namesAmong(resources: readonly NamedKind[], others?: KindNames): KindNames {
  const plurals = new Map(resources.map(({ kind, group, plural }) => [`${kind}.${group}`, plural]))
  const byKind = Map.groupBy(resources, ({ kind }) => kind)
  const keys = new Set(resources.map(({ group, plural }) => selectionKey({ group, resource: plural })))
  const own = (kind: string): readonly string[] =>
    (byKind.get(kind) ?? []).map(({ group, plural }) => selectionKey({ group, resource: plural }))
  return {
    pluralOf: (kind, group) => plurals.get(`${kind}.${group}`) ?? others?.pluralOf(kind, group),
    resourcesOf: (kind) => [...(others?.resourcesOf(kind) ?? []), ...own(kind)],
    describes: (resource) => keys.has(resource) || (others?.describes(resource) ?? false),
  }
}

/** For a kind without definition: its directory is named after the plural. */
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

/** The discovery files that upstream tools read: without them they wait for ever for unknown kinds. */
export async function discoveryOf(client: Client): Promise<ReadonlyMap<string, Json>> {
  const files = { [discoveryFiles.core]: '/api', [discoveryFiles.groups]: '/apis' }
  const fetched = Object.entries(files).map(async ([name, from]) => {
    const { body } = await client.request({ method: 'GET', path: from, headers: { accept: aggregated } })
    return [name, await readJson(body)] as const
  })
  return new Map(await Promise.all(fetched))
}
