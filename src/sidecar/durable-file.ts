/**
 * Small files that are whole or not there, whatever dies in between.
 *
 * A file is written under another name, made safe, and only then given its name: who reads it never sees half of it.
 * That holds for a killed process and for a machine without power alike.
 */
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { isJsonObject, type JsonObject, parseJson } from '../kube/json.ts'

/** Returns when the file and its name are safe. */
export async function writeDurably(file: string, text: string): Promise<void> {
  const draft = await writeDraft(file, text)
  await rename(draft, file)
  await syncFolder(path.dirname(file))
}

/** The same, but only if nobody has written it before: of any number of processes one gets `true`. */
export async function claimDurably(file: string, text: string): Promise<boolean> {
  const draft = await writeDraft(file, text)
  try {
    // Unlike rename, link refuses a name that is taken.
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

/** Counts them, so that two writers never share one. */
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

/** Returns when the names in the folder are safe. */
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
