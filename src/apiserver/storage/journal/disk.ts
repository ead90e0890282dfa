/**
 * The few things a journal does with files. An interface, so that tests can pull the plug at any moment and fill the
 * disk; a real one is a folder.
 *
 * Only what a running server waits for is done aside: writing and syncing. And by callbacks: the promises of `node:fs`
 * are a megabyte of a server at rest.
 */
import fs from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../../../system/folder.ts'
import { lockFolder as tryLockFolder } from '../../../system/folder-lock.ts'
import { MusterError } from '../../../kube/errors.ts'

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
 * Makes the folder one process's own, until the returned function is called or the process ends.
 * @throws StorageInUse
 */
export function lockDataFolder(folder: string): () => void {
  makeFolder(folder, 0o700)
  const lock = tryLockFolder(folder)
  if ('holder' in lock) throw new MusterError('StorageInUse', `${folder} is used by ${lock.holder}.`)
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

/** What goes to the system's memory sooner than another thread would take to wake up; that the disk has it is `sync`. */
function isSmall(bytes: Uint8Array): boolean {
  return bytes.byteLength <= 1 << 18
}

function fileOf(descriptor: number): DiskFile {
  return {
    async append(bytes) {
      // One call may write less than it was given.
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

/** A promise of what a function tells its callback. */
async function called<T = void>(start: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    start((error, value) => (error ? reject(error) : resolve(value as T)))
  })
}
