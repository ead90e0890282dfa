/**
 * Reads the files of a kustomization: its folder, and the folders outside of it that kustomizations name (`../base`). All of them
 * are read before rendering, which sees nothing else.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { renderErrors } from '../errors.ts'

interface KustomizationSource {
  /** Contents by path, relative to the folder that contains all. */
  readonly files: ReadonlyMap<string, Uint8Array>
  /** The folder of the kustomization in `files`. */
  readonly folder: string
}

const kustomizationNames = new Set(['kustomization.yaml', 'kustomization.yml', 'Kustomization'])
const mostFiles = 10_000
const mostBytes = 100 * 2 ** 20

export function isKustomizationFile(name: string): boolean {
  return kustomizationNames.has(name)
}

/** @throws SourceNotFound if the files are too many */
export async function readKustomizationFiles(folder: string): Promise<KustomizationSource> {
  const found = new Map<string, Uint8Array>()
  const roots: string[] = []
  const queue = [path.resolve(folder)]
  let bytes = 0
  for (const root of queue) {
    if (roots.some((each) => isInside(root, each))) continue
    roots.push(root)
    for (const file of await filesBelow(root)) {
      if (found.has(file)) continue
      const data = await readFile(file)
      bytes += data.length
      if (found.size >= mostFiles || bytes > mostBytes) {
        throw new MusterError(
          renderErrors.SourceNotFound,
          `${folder}: its files are more than ${mostFiles}, or larger than ${mostBytes} bytes.`,
        )
      }
      found.set(file, data)
      if (isKustomizationFile(path.basename(file))) {
        for (const other of await foldersOutside(file, data)) queue.push(other)
      }
    }
  }
  const top = commonFolder(roots)
  const relative = (place: string): string => path.relative(top, place).split(path.sep).join('/')
  const files = new Map([...found].map(([file, data]) => [relative(file), data]))
  return { files, folder: relative(roots[0] ?? top) || '.' }
}

async function filesBelow(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  if (entries.length > mostFiles * 2) {
    throw new MusterError(renderErrors.SourceNotFound, `${root}: it has too many files for a kustomization.`)
  }
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))
}

/** Folders that a kustomization file names and that are not below its own. */
async function foldersOutside(file: string, data: Uint8Array): Promise<readonly string[]> {
  const folder = path.dirname(file)
  const document = tryYaml(data)
  const named = ['resources', 'bases', 'components'].flatMap((field) => textsOf(document, field))
  const places = named.filter((name) => name.startsWith('..')).map((name) => path.resolve(folder, name))
  const kinds = await Promise.all(
    places.map((place) =>
      stat(place).then(
        (about) => about.isDirectory(),
        () => false,
      ),
    ),
  )
  return places.filter((_, index) => kinds[index])
}

/** A file that cannot be parsed is reported when it is rendered. */
function tryYaml(data: Uint8Array): Json {
  try {
    return readYamlDocuments(new TextDecoder().decode(data))[0] ?? null
  } catch {
    return null
  }
}

function textsOf(document: Json, field: string): readonly string[] {
  const list = isJsonObject(document) ? document[field] : undefined
  return Array.isArray(list) ? (list as readonly Json[]).filter((each) => typeof each === 'string') : []
}

function isInside(place: string, folder: string): boolean {
  return place === folder || place.startsWith(`${folder}${path.sep}`)
}

function commonFolder(folders: readonly string[]): string {
  const [first = path.sep] = folders
  let common = first
  while (!folders.every((each) => isInside(each, common)) && common !== path.dirname(common))
    common = path.dirname(common)
  return common
}
