/** A chart on this machine: a folder or an archive. */
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { MusterError } from '../../kube/muster-error.ts'
import { errorCode } from '../../system/error-code.ts'
import type { ChartFiles } from '../archive/archive.ts'
import { renderErrors } from '../errors.ts'
import { readChartFolder } from './chart-folder.ts'
import type { ChartSource } from './chart-source.ts'

/** Whether the source is on this machine. */
export function isLocalSource({ source, repository }: ChartSource): boolean {
  return repository === undefined && !/^(?:https?|oci):\/\//.test(source)
}

/** @throws SourceNotFound, InvalidArchive, InvalidChart */
export async function readLocalChart(place: string): Promise<ChartFiles> {
  try {
    if (statSync(place).isDirectory()) return readChartFolder(place)
    const { unpackChart } = await import('../archive/archive.ts')
    return unpackChart(await readFile(place), place)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    throw new MusterError(renderErrors.SourceNotFound, `${place}: there is no such file or folder.`, { cause: error })
  }
}
