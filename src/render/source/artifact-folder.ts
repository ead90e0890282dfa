/** A folder of an OCI artifact rendered: plain manifests, or a kustomization. Pure: the files are in memory. */
import { posix } from 'node:path'
import type { JsonObject } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ChartFiles } from '../archive/archive.ts'
import { renderErrors } from '../errors.ts'
import { renderKustomization } from '../kustomize/render-kustomization.ts'
import { readManifests } from '../manifests/plain-manifests.ts'
import { isKustomizationFile } from './kustomization-folder.ts'
import { isManifestName } from './oci-layers.ts'

/**
 * What an artifact is rendered as. A kustomization without its file is the manifests of the folder, as in Flux.
 */
export type ArtifactKind = 'Chart' | 'Manifests' | 'Kustomization'

/**
 * @param path a folder of the artifact, or one file
 * @throws SourceNotFound, and the errors of kustomizations and manifests
 */
export function renderFolder(
  files: ChartFiles,
  path: string | undefined,
  kind: Exclude<ArtifactKind, 'Chart'>,
): readonly JsonObject[] {
  const folder = folderPath(path)
  const own = filesBelow(files, folder)
  const isKustomization = kind === 'Kustomization' && [...own.keys()].some(isKustomizationFile)
  if (isKustomization) return renderKustomization(files, folder).objects as readonly JsonObject[]
  const single = files.get(folder)
  const named: readonly (readonly [string, Uint8Array])[] = single
    ? [[folder, single]]
    : [...own].filter(([name]) => isManifestName(name)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (named.length === 0)
    throw new MusterError(renderErrors.SourceNotFound, `The folder ${folder} of the artifact has no manifests.`)
  const decoder = new TextDecoder()
  return readManifests(named.map(([name, data]) => ({ name, text: decoder.decode(data) }))).map(({ object }) => object)
}

/** The files below a folder of an artifact, by their path in it. */
export function filesBelow(files: ChartFiles, path: string | undefined): ChartFiles {
  const folder = folderPath(path)
  if (folder === '.') return files
  const prefix = `${folder}/`
  return new Map(
    [...files].flatMap(([name, data]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), data]] : [])),
  )
}

/** `./deploy/` is `deploy`; the whole artifact is `.`. @throws SourceNotFound for a path that leads out */
function folderPath(path: string | undefined): string {
  const plain = posix.normalize(path === undefined || path === '' ? '.' : path)
  const folder = plain.length > 1 && plain.endsWith('/') ? plain.slice(0, -1) : plain
  if (!posix.isAbsolute(folder) && folder !== '..' && !folder.startsWith('../')) return folder
  throw new MusterError(renderErrors.SourceNotFound, `The path ${folder.slice(0, 100)} leads out of the artifact.`)
}
