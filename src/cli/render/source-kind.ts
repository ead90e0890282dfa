/** What a SOURCE is, by what is at its path. */
import { readdir, stat } from 'node:fs/promises'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../../render/errors.ts'
import { isLocalSource } from '../../render/source/local-chart.ts'
import { isKustomizationFile } from '../../render/source/kustomization-folder.ts'
import { errorCode } from '../../system/error-code.ts'

type SourceKind = 'chart' | 'kustomization' | 'manifests'

/** @throws SourceNotFound */
export async function sourceKind(source: string, repository: string | undefined): Promise<SourceKind> {
  if (!isLocalSource({ source, repository })) return 'chart'
  try {
    const about = await stat(source)
    if (!about.isDirectory()) return /\.(?:yaml|yml|json)$/.test(source) ? 'manifests' : 'chart'
    const entries = await readdir(source)
    if (entries.includes('Chart.yaml')) return 'chart'
    return entries.some(isKustomizationFile) ? 'kustomization' : 'manifests'
  } catch (error) {
    const why = errorCode(error) === 'ENOENT' ? 'there is no such file or folder' : 'it cannot be read'
    throw new MusterError(renderErrors.SourceNotFound, `${source}: ${why}.`, { cause: error })
  }
}
