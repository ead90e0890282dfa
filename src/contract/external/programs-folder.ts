/**
 * The folders of programs, in one folder that no other user of the machine can enter. They hold inputs, outputs, a
 * kubeconfig and the socket of an egress proxy. A program sees only its own.
 */
import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { contractErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'

export function programsFolder(): string {
  const { uid } = userInfo()
  const folder = path.join(tmpdir(), `muster-programs-${uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  // Another user could have created a folder of this name in the temporary directory.
  if (!found.isDirectory() || (uid >= 0 && (found.uid !== uid || (found.mode & 0o077) !== 0))) {
    throw new MusterError(
      contractErrors.ExternalFailed,
      `${folder} is not this user's alone; remove it, or set TMPDIR.`,
    )
  }
  return folder
}

/** Creates a folder for a program of this name. */
export function openProgramFolder(name: string): string {
  return mkdtempSync(path.join(programsFolder(), `${name}-`))
}
