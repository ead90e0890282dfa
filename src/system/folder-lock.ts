/**
 * A folder for one process at a time, by a lock that the kernel holds: it ends with its process, however that ends, and is
 * seen by every process that has the folder, whichever container, namespace or user it runs as. The number of a process
 * says nothing there: each container begins with process 1.
 *
 * Node has no call for such locks, but SQLite, which is part of Node, takes one for an exclusive transaction. The
 * transaction stays open and writes nothing, so the file of the lock stays empty; it is never removed, for another
 * process might have opened it a moment before.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type Sqlite from 'node:sqlite'
import { MusterError } from '../kube/errors.ts'

export interface FolderLock {
  release(): void
}

/** The process that has the lock, as it has described itself: for messages only. */
export interface LockHolder {
  /** `process 7 on build-host`. */
  readonly holder: string
}

/**
 * Takes the lock of a folder that is there, or says who has it.
 * @throws LockUnavailable where the file system or this Node has no locks
 */
export function lockFolder(folder: string): FolderLock | LockHolder {
  const release = lockFile(path.join(folder, 'lock.db'))
  const described = path.join(folder, 'lock.json')
  if (!release) return { holder: describedIn(described) }
  fs.writeFileSync(described, JSON.stringify({ pid: process.pid, host: os.hostname() }), { mode: 0o600 })
  return {
    release() {
      fs.rmSync(described, { force: true })
      release()
    },
  }
}

/** SQLite's code for a lock that another process, or another part of this one, has. */
const busy = 5

/** Takes the lock of a file, which is made if it is not there; undefined when it is taken. Returns what releases it. */
export function lockFile(file: string): (() => void) | undefined {
  // Only who locks something pays for loading it.
  const sqlite = process.getBuiltinModule('node:sqlite') as Pick<typeof Sqlite, 'DatabaseSync'> | undefined
  if (!sqlite) throw new MusterError('LockUnavailable', `${file}: this Node was built without SQLite.`)
  let database: Sqlite.DatabaseSync | undefined
  try {
    database = new sqlite.DatabaseSync(file, { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
    const held = database
    return () => held.close()
  } catch (error) {
    database?.close()
    const { errcode = 0, message } = error as Error & { readonly errcode?: number }
    // The lowest byte is the code, the others say more of it.
    if ((errcode & 0xff) === busy) return undefined
    throw new MusterError('LockUnavailable', `${file}: ${message}.`, { cause: error })
  }
}

/** It may be about to write it. */
function describedIn(file: string): string {
  try {
    const { pid, host } = JSON.parse(fs.readFileSync(file, 'utf8')) as {
      readonly pid?: unknown
      readonly host?: unknown
    }
    return `process ${Number(pid)} on ${String(host)}`
  } catch {
    return 'another process'
  }
}
