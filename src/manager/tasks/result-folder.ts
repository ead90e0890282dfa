/**
 * Results on disk, one file for each key, so that a restarted manager does not work them out again. A file is written beside its
 * place and renamed, begins with the digest of its content, and is ignored when that does not match. The oldest files are removed
 * when the folder grows beyond its limit. Nothing depends on it: a result that cannot be read is worked out again.
 *
 * Results may contain what users keep private: only this user can read the files.
 */
import { hash, randomUUID } from 'node:crypto'
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { errorCode } from '../../system/error-code.ts'
import { makeFolder } from '../../system/folder.ts'

interface ResultFolderOptions {
  readonly clock?: Pick<Clock, 'now'>
  /** @default 268_435_456 */
  readonly maxBytes?: number
  /** A file could not be read or written. @default it is ignored */
  readonly onProblem?: (error: unknown) => void
}

export interface ResultFolder {
  /** The result as JSON; undefined if it is not there, or damaged. */
  read(key: string): Promise<string | undefined>
  write(key: string, text: string): Promise<void>
}

const ending = '.result'
const draftEnding = '.draft'

export function openResultFolder(folder: string, options: ResultFolderOptions = {}): ResultFolder {
  const { clock = systemClock, maxBytes = 268_435_456, onProblem = () => undefined } = options
  const fileOf = (key: string): string => path.join(folder, `${key}${ending}`)
  /** Sizes by key, the least recently used first. */
  const sizes = new Map<string, number>()
  let total = 0
  let looking: Promise<void> | undefined
  /** Finds the files of earlier processes. */
  const look = async (): Promise<void> => {
    for (const { key, bytes } of await filesIn(folder)) note(key, bytes)
  }

  const note = (key: string, bytes: number): void => {
    total += bytes - (sizes.get(key) ?? 0)
    sizes.delete(key)
    if (bytes > 0) sizes.set(key, bytes)
  }

  const remove = async (key: string): Promise<void> => {
    note(key, 0)
    await rm(fileOf(key), { force: true })
  }

  const use = async (key: string, bytes: number): Promise<void> => {
    await (looking ??= look())
    note(key, bytes)
    for (const oldest of sizes.keys()) {
      if (total <= maxBytes) return
      await remove(oldest)
    }
  }

  const quietly = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') onProblem(error)
      return undefined
    }
  }

  return {
    read: (key) =>
      quietly(async () => {
        const content = await readFile(fileOf(key), 'utf8')
        const text = content.slice(digestLength + 1)
        if (content !== sealed(text)) {
          await remove(key)
          return undefined
        }
        await quietly(async () => {
          // The order survives a restart.
          const seconds = clock.now() / 1000
          await utimes(fileOf(key), seconds, seconds)
          await use(key, Buffer.byteLength(content))
        })
        return text
      }),
    async write(key, text) {
      await quietly(async () => {
        const content = sealed(text)
        const draft = path.join(folder, `${randomUUID()}${draftEnding}`)
        makeFolder(folder, 0o700)
        try {
          await writeFile(draft, content, { mode: 0o600, flush: true })
          await rename(draft, fileOf(key))
        } catch (error) {
          await rm(draft, { force: true })
          throw error
        }
        await use(key, Buffer.byteLength(content))
      })
    },
  }
}

const digestLength = 64

function sealed(text: string): string {
  return `${hash('sha256', text, 'hex')}\n${text}`
}

interface ResultFile {
  readonly key: string
  readonly bytes: number
}

/** The oldest first. Drafts of a process that crashed are removed. */
async function filesIn(folder: string): Promise<readonly ResultFile[]> {
  const files: (ResultFile & { readonly at: number })[] = []
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name)
    if (name.endsWith(draftEnding)) await rm(file, { force: true })
    if (!name.endsWith(ending)) continue
    // Another process may have removed it.
    const found = await stat(file).catch(() => undefined)
    if (found) files.push({ key: name.slice(0, -ending.length), bytes: found.size, at: found.mtimeMs })
  }
  return files.toSorted((a, b) => a.at - b.at)
}
