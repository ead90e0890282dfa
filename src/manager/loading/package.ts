/**
 * Resolves a package from a folder, as Node does for an import in a file there. Nothing is downloaded; an error names a
 * missing package.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire, findPackageJSON } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { unusable } from './module.ts'

/** The file of a specifier (`package`, `@scope/package/part`). @throws ModuleUnusable */
export async function resolvePackage(specifier: string, folder: string): Promise<string> {
  const from = path.join(folder, 'muster.js')
  try {
    return createRequire(from).resolve(specifier)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const file = code === 'ERR_PACKAGE_PATH_NOT_EXPORTED' ? await importedFile(specifier, from) : undefined
    if (file !== undefined) return file
    const name = nameOf(specifier)
    const isThere = code !== 'MODULE_NOT_FOUND' || findPackage(specifier, from) !== undefined
    if (isThere) throw unusable(`The package ${name} has no "${partOf(specifier)}" to import.`, error)
    const beside = existsSync(path.join(folder, specifier)) ? ` For the file, write ./${specifier}.` : ''
    throw unusable(`The package ${name} is not installed in ${folder}: npm install ${name}.${beside}`, error)
  }
}

/** `@scope/package/part`: `@scope/package`. */
function nameOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** The key in the package's `exports`. */
function partOf(specifier: string): string {
  return `.${specifier.slice(nameOf(specifier).length)}`
}

function findPackage(specifier: string, from: string): string | undefined {
  try {
    return findPackageJSON(specifier, pathToFileURL(from))
  } catch {
    return undefined
  }
}

/** For packages that can be imported but not required: `require.resolve` does not support them. */
async function importedFile(specifier: string, from: string): Promise<string | undefined> {
  const manifest = findPackage(nameOf(specifier), from)
  if (manifest === undefined) return undefined
  const { exports = null } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly exports?: Json }
  const part = partOf(specifier)
  const isByPart = isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith('.'))
  const chosen = isByPart
    ? Object.hasOwn(exports, part)
      ? exports[part]
      : undefined
    : part === '.'
      ? exports
      : undefined
  const target = targetOf(chosen)
  return target === undefined ? undefined : path.resolve(path.dirname(manifest), target)
}

const conditions: ReadonlySet<string> = new Set(['node', 'import', 'module-sync', 'default'])

/** The first condition that matches, in the package's order. */
function targetOf(entry: Json | undefined): string | undefined {
  if (typeof entry === 'string') return entry
  const members = isJsonArray(entry)
    ? entry
    : isJsonObject(entry)
      ? Object.entries(entry).flatMap(([condition, member]) => (conditions.has(condition) ? [member] : []))
      : []
  for (const member of members) {
    const target = targetOf(member)
    if (target !== undefined) return target
  }
  return undefined
}
