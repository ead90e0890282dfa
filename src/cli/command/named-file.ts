/**
 * Files and folders named on the command line. An error names the flag, the path and the reason in one line, instead of the
 * raw system error.
 */
import { closeSync, statSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { errorCode } from '../../system/error-code.ts'
import { makeFolder } from '../../system/folder.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { contractErrors } from '../../contract/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'

const words: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is no folder',
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'what it lies on cannot be written to',
  ENOSPC: 'the disk is full',
  ELOOP: 'its links go round in circles',
}

/** The reason of a system error, in words. */
function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? 'for an unknown reason'
  return words[code] ?? code
}

/** @throws InvalidFlag */
export async function readNamedFile(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new MusterError(flagErrors.InvalidFlag, `--${flag} ${file} cannot be read: ${reasonOf(error)}.`, {
      cause: error,
    })
  }
}

/**
 * A file that is written at the end of a long operation: checked to be writable before that begins.
 * @throws OutputUnwritable, and so does the returned function
 */
export function openNamedFile(flag: string, file: string): (text: string) => void {
  // The old contents stay until the new ones are written.
  writing(flag, file, () => closeSync(openSync(file, 'a')))
  return (text) => writing(flag, file, () => writeFileSync(file, text))
}

/** The entries of a folder; empty if it does not exist. @throws OutputUnwritable if it cannot be a folder */
export async function entriesOf(flag: string, folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw unwritable(flag, folder, error)
  }
}

/** Creates the folder, or empties it. @throws OutputUnwritable */
export function emptyFolder(flag: string, folder: string): void {
  writing(flag, folder, () => {
    // A file of that name is not removed.
    const about = statSync(folder, { throwIfNoEntry: false })
    if (about && !about.isDirectory()) throw Object.assign(new Error(folder), { code: 'ENOTDIR' })
    rmSync(folder, { recursive: true, force: true })
    makeFolder(folder)
  })
}

/** Reports a system error of `work` with the path. @throws OutputUnwritable */
export function writing<T>(flag: string, place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw unwritable(flag, place, error)
  }
}

/** OutputUnwritable, unless the error already explains itself. */
export function unwritable(flag: string, place: string, cause: unknown): MusterError {
  if (cause instanceof MusterError) return cause
  return new MusterError(contractErrors.OutputUnwritable, `--${flag} ${place} cannot be written: ${reasonOf(cause)}.`, {
    cause,
  })
}
