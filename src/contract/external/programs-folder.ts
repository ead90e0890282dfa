/**
 * Where programs have their folders: one below the other's eyes, all in a folder of this user. Inputs, outputs, a kubeconfig and the
 * socket of an egress proxy lie there, and each program is to see its own alone. So there is one place to hide from all of them.
 */
import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { MusterError } from '../../kube/errors.ts'

export function programsFolder(): string {
  const { uid } = userInfo()
  const folder = path.join(tmpdir(), `muster-programs-${uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  // Anybody may make anything in a temporary folder, and give it this name.
  if (!found.isDirectory() || (uid >= 0 && (found.uid !== uid || (found.mode & 0o077) !== 0))) {
    throw new MusterError('ExternalFailed', `${folder} is not this user's alone; remove it, or set TMPDIR.`)
  }
  return folder
}

/** A new one for a program of this name. */
export function openProgramFolder(name: string): string {
  return mkdtempSync(path.join(programsFolder(), `${name}-`))
}

/** The folder, of all there, that one of these paths is in. */
export function ownFolderOf(paths: readonly string[], all: string): string | undefined {
  for (const one of paths) {
    const [child = ''] = path.relative(all, one).split(path.sep)
    if (path.isAbsolute(one) && child !== '' && child !== '..') return path.join(all, child)
  }
  return undefined
}
