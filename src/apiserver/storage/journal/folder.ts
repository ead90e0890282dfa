/**
 * A data folder with a journal: locked for this process, and read completely. So all errors in it are reported at
 * start, even if the server itself is only built by its first request.
 */
import { type Disk, folderDisk, lockDataFolder } from './disk.ts'
import { type OpenedJournal, openJournal } from './journal.ts'
import type { JournalEntry } from './recovery.ts'

export interface JournalFolder extends OpenedJournal {
  readonly entries: readonly JournalEntry[]
  /** Unlocks the folder. The journal must be closed. */
  readonly release: () => void
}

/** `disk` replaces the file system, for tests. */
export async function openFolder(folder: string, disk?: Disk): Promise<JournalFolder> {
  const release = lockDataFolder(folder)
  try {
    const journal = await openJournal(disk ?? folderDisk(folder))
    return { ...journal, entries: [...journal.entries], release }
  } catch (error) {
    release()
    throw error
  }
}
