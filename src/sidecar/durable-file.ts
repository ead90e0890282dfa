/**
 * Small files that are written atomically and durably.
 *
 * A file is written under a temporary name, synced, and then renamed: a reader never sees a partial file, neither after
 * a crash of the process nor after a power failure.
 */
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { isJsonObject, type JsonObject, parseJson } from '../kube/json.ts'

/** Resolves when the file and its name are durable. */
export async function writeDurably(file: string, text: string): Promise<void> {
  const draft = await writeDraft(file, text)
  await rename(draft, file)
  await syncFolder(path.dirname(file))
}

/** Creates the file only if it does not exist: of any number of processes one gets `true`. */
export async function claimDurably(file: string, text: string): Promise<boolean> {
  const draft = await writeDraft(file, text)
  try {
    // Unlike rename, link fails if the name exists.
    await link(draft, file)
    await syncFolder(path.dirname(file))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** A counter, so that two writers never share a temporary name. */
let drafts = 0

async function writeDraft(file: string, text: string): Promise<string> {
  const draft = `${file}.${process.pid}-${++drafts}.draft`
  const handle = await open(draft, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return draft
}

/** Resolves when the names in the folder are durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The object in a file; undefined when the file is absent or holds none. */
export async function readDurableObject(file: string): Promise<JsonObject | undefined> {
  try {
    const value = parseJson(await readFile(file, 'utf8'))
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
