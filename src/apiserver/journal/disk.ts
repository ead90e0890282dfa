/**
 * The few things a journal does with files. An interface, so that tests can pull the plug at any moment and fill the
 * disk; a real one is a folder.
 */
import type { FileHandle } from 'node:fs/promises'
import { errorCode } from '../../client/error-code.ts'
import { MusterError } from '../../kube/errors.ts'

export interface DiskFile {
  /** Writes at the end of the file. All of it, or an error: then any part of it may have been written. */
  append(bytes: Uint8Array): Promise<void>
  /** Returns when everything written is safe. */
  sync(): Promise<void>
  truncate(size: number): Promise<void>
  close(): Promise<void>
}

export interface Disk {
  list(): Promise<readonly string[]>
  read(name: string): Promise<Buffer>
  /** Opens for appending; makes it if it is not there. */
  open(name: string): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** Returns when names that came or went are safe. */
  syncNames(): Promise<void>
}

/**
 * Makes the folder one process's own, until the returned function is called. A lock whose process is gone is taken over.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const [fs, path] = await Promise.all([import('node:fs/promises'), import('node:path')])
  await fs.mkdir(folder, { recursive: true, mode: 0o700 })
  const file = path.join(folder, 'lock')
  for (let attempt = 1; ; attempt++) {
    try {
      await fs.writeFile(file, String(process.pid), { flag: 'wx', mode: 0o600 })
      return async () => await fs.rm(file, { force: true })
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
      const holder = Number(await fs.readFile(file, 'utf8').catch(() => ''))
      if (isAlive(holder) || attempt > 3) {
        throw new MusterError('StorageInUse', `${folder} is used by process ${holder}.`)
      }
      await fs.rm(file, { force: true })
    }
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    // Signal 0 only asks.
    return process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

export async function folderDisk(folder: string): Promise<Disk> {
  const [fs, path] = await Promise.all([import('node:fs/promises'), import('node:path')])
  await fs.mkdir(folder, { recursive: true, mode: 0o700 })
  const at = (name: string): string => path.join(folder, name)
  return {
    list: async () => await fs.readdir(folder),
    read: async (name) => await fs.readFile(at(name)),
    open: async (name) => fileOf(await fs.open(at(name), 'a', 0o600)),
    rename: async (from, to) => await fs.rename(at(from), at(to)),
    remove: async (name) => await fs.rm(at(name), { force: true }),
    async syncNames() {
      const handle = await fs.open(folder, 'r')
      try {
        await handle.sync()
      } finally {
        await handle.close()
      }
    },
  }
}

function fileOf(handle: FileHandle): DiskFile {
  return {
    async append(bytes) {
      // One call may write less than it was given.
      for (let at = 0; at < bytes.byteLength;) at += (await handle.write(bytes, at)).bytesWritten
    },
    sync: async () => await handle.datasync(),
    truncate: async (size) => await handle.truncate(size),
    close: async () => await handle.close(),
  }
}
