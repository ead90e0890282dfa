/**
 * A must-gather directory that operators in any language can read: list files only, one per resource and namespace,
 * with the kind `<Kind>List`; Namespaces in their usual place; both discovery files. It is kept up to date: only
 * changed files are written.
 */
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../../system/folder.ts'
import type { Json } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { writeGoYaml } from '../text/go-yaml.ts'
import type { ResourceType } from '../declaration/mutation.ts'
import type { Selected } from '../declaration/selection.ts'

export interface GatherFolder {
  readonly path: string
  /** Syncs the directory with the content. Returns how many files were written or removed. */
  update(content: GatherContent): number
}

export interface GatherContent {
  readonly selected: Selected
  /** The Namespace objects. */
  readonly namespaces?: readonly UntypedObject[]
  /** Files at the root, by name: discovery. */
  readonly extra?: ReadonlyMap<string, Json>
  /** Secrets that are not written, but whose values are redacted in what is. */
  readonly secrets?: readonly UntypedObject[]
}

export const discoveryFiles = {
  core: 'aggregated-discovery-api.yaml',
  groups: 'aggregated-discovery-apis.yaml',
} as const

interface GatherFolderOptions {
  /**
   * Readable by other users: a program of a root manager runs with another uid; the folder is then inside of one that
   * no other user can enter.
   * @default false
   */
  readonly isShared?: boolean
}

export function openGatherFolder(folder: string, { isShared = false }: GatherFolderOptions = {}): GatherFolder {
  /** The mark of each file's content. */
  const written = new Map<string, string>()
  return {
    path: folder,
    update(content) {
      const wanted = filesOf(content)
      let changes = 0
      for (const [name, { mark, value }] of wanted) {
        if (written.get(name) === mark) continue
        write(path.join(folder, name), writeGoYaml(value()))
        if (isShared) share(folder, name)
        written.set(name, mark)
        changes++
      }
      for (const name of written.keys()) {
        if (wanted.has(name)) continue
        rmSync(path.join(folder, name), { force: true })
        written.delete(name)
        changes++
      }
      return changes
    },
  }
}

interface Wanted {
  /**
   * Equal for equal content: built from resourceVersions, so that unchanged objects are not serialized only to be
   * compared.
   */
  readonly mark: string
  readonly value: () => Json
}

function filesOf({ selected, namespaces = [], extra = new Map() }: GatherContent): ReadonlyMap<string, Wanted> {
  const files = new Map<string, Wanted>()
  const put = (name: string, objects: readonly UntypedObject[], value: () => Json): void => {
    const mark = objects.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`).join('\n')
    files.set(name, {
      mark: objects.every(({ metadata }) => metadata.resourceVersion) ? mark : JSON.stringify(value()),
      value,
    })
  }
  for (const { type, objects } of selected.values()) {
    if (isNamespaces(type)) continue
    for (const [namespace, each] of Map.groupBy(objects, ({ metadata }) => metadata.namespace)) {
      const scope = namespace === undefined ? 'cluster-scoped-resources' : `namespaces/${namespace}`
      put(path.posix.join(scope, type.group || 'core', `${type.resource}.yaml`), each, () => listOf(type, each))
    }
  }
  const declared = [...selected.values()].flatMap(({ type, objects }) => (isNamespaces(type) ? objects : []))
  for (const object of [...namespaces, ...declared]) {
    const { name = '' } = object.metadata
    put(`namespaces/${name}/${name}.yaml`, [object], () => object as unknown as Json)
  }
  for (const [name, value] of extra) files.set(name, { mark: JSON.stringify(value), value: () => value })
  return files
}

function isNamespaces({ group, resource }: ResourceType): boolean {
  return group === '' && resource === 'namespaces'
}

/** Items without apiVersion and kind, which readers must accept. */
function listOf(type: ResourceType, objects: readonly UntypedObject[]): Json {
  const [{ apiVersion, kind }] = objects as readonly [UntypedObject]
  const resourceVersion = objects
    .map(({ metadata }) => Number(metadata.resourceVersion ?? 0))
    .reduce((highest, version) => Math.max(highest, version), 0)
  return {
    apiVersion: apiVersion ?? formatApiVersion(type),
    kind: `${kind}List`,
    items: objects as unknown as readonly Json[],
    metadata: { resourceVersion: String(resourceVersion) },
  }
}

/** Independent of the umask. */
function share(folder: string, name: string): void {
  chmodSync(path.join(folder, name), 0o644)
  for (let at = path.dirname(path.join(folder, name)); at.startsWith(folder); at = path.dirname(at))
    chmodSync(at, 0o755)
}

/** Atomic: a program may be reading. */
function write(file: string, text: string): void {
  makeFolder(path.dirname(path.resolve(file)), 0o700)
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
