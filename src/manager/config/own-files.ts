/**
 * Files of the manager that isolated operators and external programs must not read: its configuration, the results
 * of tasks, the `.muster` folder of a project (a kubeconfig, the data of an embedded cluster), and credentials.
 */
import path from 'node:path'
import { credentialFiles } from '../../client/credentials/credential-files.ts'
import type { Settings } from './settings.ts'

export interface OwnFilesOptions {
  /** The configuration file: its relative paths start from its folder. */
  readonly file?: string | undefined
  /** A kubeconfig given as a flag. */
  readonly kubeconfig?: string | undefined
  readonly settings?: Pick<Settings, 'clientConnection' | 'clusters' | 'tasks'> | undefined
}

/** Absolute paths, whether they exist or not. */
export async function ownFiles({ file, kubeconfig, settings }: OwnFilesOptions = {}): Promise<readonly string[]> {
  const clusters = Object.values(settings?.clusters ?? {})
  const kubeconfigs = [kubeconfig, settings?.clientConnection.kubeconfig, ...clusters.map((each) => each.kubeconfig)]
  const folders = ['.', ...(file === undefined ? [] : [path.dirname(file)])]
  const kept = folders.flatMap((folder) => [path.join(folder, '.muster'), path.join(folder, '.muster', 'kubeconfig')])
  const results = settings?.tasks.folder
  const own = [...(file === undefined ? [] : [file]), ...(results === undefined ? [] : [results]), ...kept].map(
    (each) => path.resolve(each),
  )
  return [...new Set([...own, ...(await credentialFiles({ kubeconfigs }))])]
}
