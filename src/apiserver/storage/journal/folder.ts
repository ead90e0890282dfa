/**
 * A folder that holds a journal: locked for this process, and read to its end. Whatever is wrong with it has been said by
 * then, also to those who let the server itself wait for its first request.
 */
import { type Disk, folderDisk, lockDataFolder } from './disk.ts'
import { type OpenedJournal, openJournal } from './journal.ts'
import type { JournalEntry } from './recovery.ts'

export interface JournalFolder extends OpenedJournal {
  readonly entries: readonly JournalEntry[]
  /** Leaves it to others. The journal must be closed. */
  readonly release: () => void
}

/** `disk` is what the folder is on, for tests. */
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
