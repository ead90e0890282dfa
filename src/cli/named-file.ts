/**
 * Files and folders that a person names on the command line. Paths are mistyped, and belong to others: whoever reads or writes
 * one says which it was and why it did not work, in one line, and never with the words of the system alone.
 */
import { closeSync, statSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { errorCode } from '../system/error-code.ts'
import { makeFolder } from '../system/folder.ts'
import { MusterError } from '../kube/errors.ts'

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

/** Why the system refused something, without its own words. */
function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? 'for an unknown reason'
  return words[code] ?? code
}

/** @throws InvalidFlag */
export async function readNamedFile(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new MusterError('InvalidFlag', `--${flag} ${file} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
}

/**
 * A file that will be written at the end of something long: whether it can be is known before that begins.
 * @throws OutputUnwritable, and so does what it returns
 */
export function openNamedFile(flag: string, file: string): (text: string) => void {
  // What it held before stays until there is something new.
  writing(flag, file, () => closeSync(openSync(file, 'a')))
  return (text) => writing(flag, file, () => writeFileSync(file, text))
}

/** What a folder holds; nothing, too, where there is none yet. @throws OutputUnwritable where none can be */
export async function entriesOf(flag: string, folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw unwritable(flag, folder, error)
  }
}

/** Makes a folder that holds nothing; what it held before is gone. @throws OutputUnwritable */
export function emptyFolder(flag: string, folder: string): void {
  writing(flag, folder, () => {
    // A file of that name is somebody's.
    const about = statSync(folder, { throwIfNoEntry: false })
    if (about && !about.isDirectory()) throw Object.assign(new Error(folder), { code: 'ENOTDIR' })
    rmSync(folder, { recursive: true, force: true })
    makeFolder(folder)
  })
}

/** What the system says against `work` is said of the path. @throws OutputUnwritable */
export function writing<T>(flag: string, place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw unwritable(flag, place, error)
  }
}

/** OutputUnwritable, unless it is an error that says what is wrong by itself. */
export function unwritable(flag: string, place: string, cause: unknown): MusterError {
  if (cause instanceof MusterError) return cause
  return new MusterError('OutputUnwritable', `--${flag} ${place} cannot be written: ${reasonOf(cause)}.`, { cause })
}
