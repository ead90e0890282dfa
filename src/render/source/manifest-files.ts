/** Reads files of plain manifests: one file, or a folder and its subfolders in lexical order. */
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import type { ManifestFile } from '../manifests/plain-manifests.ts'
import { isManifestName } from './oci-layers.ts'

const mostFiles = 10_000

/** @throws SourceNotFound if a folder has no manifests */
export async function readManifestFiles(place: string): Promise<readonly ManifestFile[]> {
  if (!(await stat(place)).isDirectory()) return [{ name: place, text: await readFile(place, 'utf8') }]
  const entries = await readdir(place, { recursive: true, withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isFile() && isManifestName(entry.name))
    .map((entry) => path.relative(place, path.join(entry.parentPath, entry.name)))
    .toSorted()
  if (names.length === 0 || names.length > mostFiles) {
    const problem = names.length === 0 ? 'no manifests' : `more than ${mostFiles} manifests`
    throw new MusterError(renderErrors.SourceNotFound, `${place}: the folder has ${problem}.`)
  }
  return await Promise.all(names.map(async (name) => ({ name, text: await readFile(path.join(place, name), 'utf8') })))
}
