/**
 * The file operations of a journal. An interface, so that tests can simulate a power failure at any moment, and a full
 * disk; the real one is a folder.
 *
 * It uses callbacks instead of `node:fs/promises`, which would cost an idle server a megabyte.
 */
import fs from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../../../system/folder.ts'
import { lockFolder as tryLockFolder } from '../../../system/folder-lock.ts'
import { apiserverErrors } from '../../errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'

export interface DiskFile {
  /** Appends to the file. After an error, any part of the bytes may have been written. */
  append(bytes: Uint8Array): Promise<void>
  /** Resolves when everything written is on disk. */
  sync(): Promise<void>
  truncate(size: number): Promise<void>
  close(): Promise<void>
}

export interface Disk {
  list(): Promise<readonly string[]>
  read(name: string): Promise<Buffer>
  /** Opens a file for appending; creates it if it does not exist. */
  open(name: string): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** Syncs the directory: resolves when created, renamed and removed names are on disk. */
  syncNames(): Promise<void>
}

/**
 * Locks the folder for this process, until the returned function is called or the process ends.
 * @throws StorageInUse
 */
export function lockDataFolder(folder: string): () => void {
  makeFolder(folder, 0o700)
  const lock = tryLockFolder(folder)
  if ('holder' in lock) throw new MusterError(apiserverErrors.StorageInUse, `${folder} is used by ${lock.holder}.`)
  return () => lock.release()
}

export function folderDisk(folder: string): Disk {
  makeFolder(folder, 0o700)
  const at = (name: string): string => path.join(folder, name)
  return {
    list: async () => await called<string[]>((done) => fs.readdir(folder, done)),
    read: async (name) => await called<Buffer>((done) => fs.readFile(at(name), done)),
    open: async (name) => fileOf(await called<number>((done) => fs.open(at(name), 'a', 0o600, done))),
    rename: async (from, to) => await called((done) => fs.rename(at(from), at(to), done)),
    remove: async (name) => await called((done) => fs.rm(at(name), { force: true }, done)),
    async syncNames() {
      const names = await called<number>((done) => fs.open(folder, 'r', done))
      try {
        await called((done) => fs.fsync(names, done))
      } finally {
        await called((done) => fs.close(names, done))
      }
    },
  }
}

/**
 * Written synchronously: copying it to the page cache is faster than waking another thread. Only `sync` waits for the
 * disk.
 */
function isSmall(bytes: Uint8Array): boolean {
  return bytes.byteLength <= 1 << 18
}

function fileOf(descriptor: number): DiskFile {
  return {
    async append(bytes) {
      // One call may write only a part.
      for (let at = 0; at < bytes.byteLength;) {
        const from = at
        at += isSmall(bytes)
          ? fs.writeSync(descriptor, bytes, from)
          : await called<number>((done) => fs.write(descriptor, bytes, from, done))
      }
    },
    sync: async () => await called((done) => fs.fdatasync(descriptor, done)),
    truncate: async (size) => await called((done) => fs.ftruncate(descriptor, size, done)),
    close: async () => await called((done) => fs.close(descriptor, done)),
  }
}

/** Turns a callback into a promise. */
async function called<T = void>(start: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    start((error, value) => (error ? reject(error) : resolve(value as T)))
  })
}
