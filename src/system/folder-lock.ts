/**
 * A lock that reserves a folder for one process. The kernel holds it: it ends with the process, however that ends, and every
 * process that sees the folder sees it, in any container, namespace or user. (A process id would not do: every container has
 * a process 1.)
 *
 * Node has no file locks, but SQLite, which is part of Node, takes one for an exclusive transaction. The transaction stays
 * open and writes nothing, so the lock file stays empty; it is never removed, because another process might just have opened
 * it.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type Sqlite from 'node:sqlite'
import { systemErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'

interface FolderLock {
  release(): void
}

/** The process that holds the lock, as it described itself: for messages only. */
interface LockHolder {
  /** `process 7 on build-host`. */
  readonly holder: string
}

/**
 * Takes the lock of an existing folder, or returns its holder.
 * @throws LockUnavailable if the file system or this Node has no locks
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

/** SQLite's code for a lock that another process, or another part of this one, holds. */
const busy = 5

/** Takes the lock of a file, which is created if missing; undefined if it is held. Returns the function that releases it. */
export function lockFile(file: string): (() => void) | undefined {
  // Loaded only on first use.
  const sqlite = process.getBuiltinModule('node:sqlite') as Pick<typeof Sqlite, 'DatabaseSync'> | undefined
  if (!sqlite) throw new MusterError(systemErrors.LockUnavailable, `${file}: this Node was built without SQLite.`)
  let database: Sqlite.DatabaseSync | undefined
  try {
    database = new sqlite.DatabaseSync(file, { timeout: 0 })
    database.exec('BEGIN EXCLUSIVE')
    const held = database
    return () => held.close()
  } catch (error) {
    database?.close()
    const { errcode = 0, message } = error as Error & { readonly errcode?: number }
    // The lowest byte is the code, the others are details.
    if ((errcode & 0xff) === busy) return undefined
    throw new MusterError(systemErrors.LockUnavailable, `${file}: ${message}.`, { cause: error })
  }
}

/** The holder may be about to write it. */
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
