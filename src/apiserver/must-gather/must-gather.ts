/**
 * Import and export of must-gather directories: the objects of a cluster in files, one object or one list in each. Any
 * layout is accepted (`oc adm inspect`, `kubectl cluster-info dump`, handwritten): only the content of the files
 * counts. An embedded cluster can then be queried like the real one.
 *
 * Objects keep all fields, including uid, status and owner references; only resourceVersions are new.
 */
import { type Dirent, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { errorCode } from '../../system/error-code.ts'
import { makeFolder } from '../../system/folder.ts'
import { apiserverErrors } from '../errors.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import { parseApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { pluralOf } from '../../kube/plural.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import type { Catalog, ServedResource } from '../catalog/catalog.ts'
import { crdTable } from '../crd/definition-rules.ts'
import { objectsInFile, type Wants } from './gather-file.ts'
import type { ClusterState } from '../cluster/state.ts'

export interface ImportOptions {
  /** Fail on files that cannot be read. @default false: they are reported and skipped */
  readonly strict?: boolean | undefined
  /** Called for each skipped file. @default not reported */
  readonly warn?: ((message: string) => void) | undefined
  /** Filters objects, to save parsing; others may still be returned. @default all */
  readonly wants?: Wants | undefined
}

export interface Imported {
  readonly objects: number
  /** Files that could not be read. */
  readonly skipped: readonly string[]
  /** Resources without a CRD in the directory: served without a schema. */
  readonly undescribed: readonly string[]
}

/** An object of a directory, with its file. */
interface Gathered {
  readonly object: UntypedObject
  readonly file: string
}

export async function importGather(
  state: ClusterState,
  folder: string,
  options: ImportOptions = {},
): Promise<Imported> {
  const skipped: string[] = []
  const { add, imported } = openImport(state)
  // CRDs first, so that their objects are served with their schema.
  for (const isDefinition of [true, false]) {
    for await (const { object, file } of readGather(folder, options, skipped, isDefinition)) {
      if (isDefinitionOf(object) === isDefinition) add(object, file)
    }
  }
  return { ...imported(), skipped }
}

/** The same for objects in memory. */
export function importObjects(state: ClusterState, objects: readonly UntypedObject[]): Omit<Imported, 'skipped'> {
  const { add, imported } = openImport(state)
  for (const object of objects) if (isDefinitionOf(object)) add(object, '')
  for (const object of objects) if (!isDefinitionOf(object)) add(object, '')
  return imported()
}

interface Import {
  add(this: void, object: UntypedObject, file: string): void
  imported(this: void): Omit<Imported, 'skipped'>
}

function openImport(state: ClusterState): Import {
  const undescribed = new Set<string>()
  const versions = new Map<string, number>()
  let objects = 0
  return {
    add(object, file) {
      const isCrd = isDefinitionOf(object)
      const served = isCrd ? state.catalog.ofTable(crdTable) : servedAs(state.catalog, object)
      const known = served ?? describe(state, object, file, undescribed)
      if (load(state, known, isCrd ? established(object) : object, versions)) objects++
    },
    imported: () => ({ objects, undescribed: [...undescribed].toSorted() }),
  }
}

function isDefinitionOf({ kind }: UntypedObject): boolean {
  return kind === 'CustomResourceDefinition'
}

/**
 * The objects of a directory, file by file. Files that cannot be read are added to `skipped`; `definitions` restricts
 * the files to those whose names are about definitions.
 */
export async function* readGather(
  folder: string,
  options: ImportOptions = {},
  skipped: string[] = [],
  definitions = false,
): AsyncGenerator<Gathered> {
  const skip = (place: string, error: MusterError, found = 0): void => {
    if (skipped.includes(place)) return
    skipped.push(place)
    options.warn?.(`${place} is left out${found > 0 ? ` from its object ${found + 1} on` : ''}: ${error.message}`)
  }
  let read = 0
  let bytes = 0
  for (const file of filesIn(folder, options.strict ? undefined : skip)) {
    // Avoids parsing every file twice.
    if (definitions && !/definition/i.test(file)) continue
    bytes += statSync(path.join(folder, file), { throwIfNoEntry: false })?.size ?? 0
    // To report every broken file, all must be parsed; for a small directory that is cheap.
    const isThorough = options.strict || (options.warn && bytes <= thoroughBytes)
    const wants = isThorough ? undefined : options.wants
    yield* readObjects(folder, file, { ...options, wants }, skip)
    if (++read % filesInARow === 0) await setImmediate()
  }
}

/**
 * The number of files read synchronously before yielding to the event loop. There are many small files, and a
 * synchronous read takes a fraction of the time of an asynchronous one.
 */
const filesInARow = 32

/** Up to this size, a directory is parsed without the filter, so that broken files are reported. */
const thoroughBytes = 16 * 1024 * 1024

/** Called for a file or folder that cannot be read, with the number of objects read before the error. */
type Skip = (place: string, error: MusterError, found?: number) => void

/** Files sorted by name, so that imports are deterministic. */
function* filesIn(folder: string, skip: Skip | undefined, below = ''): Generator<string> {
  let entries: readonly Dirent[]
  try {
    entries = readdirSync(path.join(folder, below), { withFileTypes: true })
  } catch (error) {
    if (below === '' || !skip) {
      const why = errorCode(error) ?? 'for an unknown reason'
      throw new MusterError(apiserverErrors.GatherUnreadable, `${path.join(folder, below)} cannot be read (${why}).`, {
        cause: error,
      })
    }
    // A folder that cannot be opened is treated like a broken file.
    skip(below, unreadable(error))
    return
  }
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = path.join(below, entry.name)
    if (entry.isDirectory()) yield* filesIn(folder, skip, name)
    else if (/\.(?:ya?ml|json)$/.test(entry.name)) yield name
  }
}

async function* readObjects(
  folder: string,
  file: string,
  { strict = false, wants }: ImportOptions,
  skip: Skip,
): AsyncGenerator<Gathered> {
  let found = 0
  try {
    for await (const object of objectsInFile(path.join(folder, file), wants)) {
      found++
      yield { object, file }
    }
  } catch (cause) {
    // A dangling link or a file without read permission is treated like a broken file.
    const error = isMusterError(cause, kubeErrors.InvalidYaml, apiserverErrors.GatherUnreadable)
      ? cause
      : unreadable(cause)
    if (strict) throw new MusterError(apiserverErrors.GatherUnreadable, `${file}: ${error.message}`, { cause: error })
    skip(file, error, found)
  }
}

function unreadable(cause: unknown): MusterError {
  return new MusterError(
    apiserverErrors.GatherUnreadable,
    `it cannot be read (${errorCode(cause) ?? 'for an unknown reason'}).`,
    {
      cause,
    },
  )
}

function servedAs(catalog: Catalog, { apiVersion, kind }: UntypedObject): ServedResource | undefined {
  const { group, version } = parseApiVersion(apiVersion)
  const ofKind = catalog.all().filter((served) => served.group === group && served.kind === kind)
  return ofKind.find((served) => served.version === version) ?? ofKind[0]
}

/**
 * Stores the object unchanged, unless a newer version has been stored: directories often contain an object twice.
 * Returns true if it is new.
 */
function load(
  { storage, ids }: ClusterState,
  served: ServedResource,
  object: UntypedObject,
  versions: Map<string, number>,
): boolean {
  const { uid = ids(), resourceVersion } = object.metadata
  const version = Number(resourceVersion ?? 0)
  const known = versions.get(uid)
  if (known !== undefined && known >= version) return false
  versions.set(uid, version)
  const isRenamed = !served.convert && object.apiVersion !== served.storedAs
  const metadata = { ...object.metadata, uid }
  storage.put(served.table, { ...object, ...(isRenamed && { apiVersion: served.storedAs }), metadata })
  return known === undefined
}

/** Marks a CRD without status, which was never on a cluster, as established. */
function established(object: UntypedObject): UntypedObject {
  const { spec, status } = object as UntypedObject & {
    readonly spec?: { readonly names?: Json; readonly versions?: readonly { name: string; storage?: boolean }[] }
    readonly status?: { readonly conditions?: readonly Json[] | null }
  }
  if (status?.conditions && status.conditions.length > 0) return object
  const storedVersions = (spec?.versions ?? []).filter(({ storage }) => storage).map(({ name }) => name)
  return Object.assign({}, object, { status: { ...accepted(spec?.names ?? {}), storedVersions } })
}

function accepted(names: Json): { readonly acceptedNames: Json; readonly conditions: Json } {
  const condition = (type: string, reason: string, message: string): Json => ({ type, status: 'True', reason, message })
  return {
    acceptedNames: names,
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
  }
}

/** Creates a CRD without a schema for a kind that has none. */
function describe(state: ClusterState, object: UntypedObject, file: string, undescribed: Set<string>): ServedResource {
  const { group, version } = parseApiVersion(object.apiVersion)
  const { kind } = object
  const plural = pluralIn(file, kind)
  const name = `${plural}.${group}`
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` }
  state.storage.put(crdTable, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, uid: state.ids(), generation: 1, annotations: { 'muster.dev/undescribed': 'true' } },
    spec: {
      group,
      names,
      scope: object.metadata.namespace === undefined ? 'Cluster' : 'Namespaced',
      conversion: { strategy: 'None' },
      versions: [
        { name: version, served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: open } },
      ],
    },
    status: { ...accepted(names), storedVersions: [version] },
  })
  undescribed.add(name)
  return state.catalog.find(group, version, plural)!
}

/** The plural from the file name: `routes.yaml` is a list of routes, `routes/web.yaml` is one. */
function pluralIn(file: string, kind: string): string {
  const parts = file.split(path.sep)
  const lower = kind.toLowerCase()
  const isOfKind = (word: string): boolean => word.startsWith(lower.slice(0, -1))
  const base = path.basename(file).replace(/\.\w+$/, '')
  return [base, parts.at(-2) ?? ''].find(isOfKind) ?? pluralOf(kind)
}

export interface ExportOptions {
  /** Include the data of Secrets. @default false: only the keys, without values */
  readonly secrets?: boolean | undefined
}

/** Writes all objects in the layout of `oc adm inspect`; returns their number. */
export async function exportGather(state: ClusterState, folder: string, options: ExportOptions = {}): Promise<number> {
  const { writeFile } = await import('node:fs/promises')
  let objects = 0
  for (const table of state.storage.tables()) {
    const served = state.catalog.ofTable(table.name)
    if (!served) continue
    for (const stored of table.objects()) {
      const object = table.name === 'secrets' && !options.secrets ? withoutValues(stored) : stored
      const file = path.join(folder, placeOf(served, object))
      makeFolder(path.dirname(file), 0o700)
      await writeFile(file, writeYaml(object as unknown as Json), { mode: 0o600 })
      objects++
    }
  }
  return objects
}

function placeOf({ group, plural, namespaced }: ServedResource, { metadata }: UntypedObject): string {
  const name = fileName(metadata.name ?? '')
  if (group === '' && plural === 'namespaces') return path.join('namespaces', name, `${name}.yaml`)
  const scope = namespaced ? path.join('namespaces', fileName(metadata.namespace ?? '')) : 'cluster-scoped-resources'
  return path.join(scope, group === '' ? 'core' : group, plural, `${name}.yaml`)
}

/** Imported names may contain anything: prevents path traversal. */
function fileName(name: string): string {
  return name.replaceAll(/[/\\]/g, '-SLASH-').replace(/^\.+$/, '-DOTS-') || '-NONE-'
}

function withoutValues(secret: UntypedObject): UntypedObject {
  const keys = Object.keys(secret['data'] ?? {})
  const { 'kubectl.kubernetes.io/last-applied-configuration': _applied, ...annotations } =
    secret.metadata.annotations ?? {}
  return {
    ...secret,
    metadata: { ...secret.metadata, ...(secret.metadata.annotations && { annotations }) },
    ...(keys.length > 0 && { data: Object.fromEntries(keys.map((key) => [key, ''])) }),
  }
}
