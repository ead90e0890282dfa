/**
 * Chart archives on disk, by digest. An archive is written beside its place and renamed, so that a crash leaves no half of one,
 * and is checked again when it is read. The cache also remembers which digest a reference had last: a chart that was fetched once
 * can be rendered without a network.
 */
import { createHash, randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { errorCode } from '../../system/error-code.ts'
import { makeFolder } from '../../system/folder.ts'

export interface SourceCache {
  /** The archive with this digest (`sha256:…`); undefined if it is not there, or is damaged. */
  read(digest: string): Promise<Uint8Array | undefined>
  write(digest: string, data: Uint8Array): Promise<void>
  /** The digest that this reference had when it was fetched last. */
  lastDigest(reference: string): Promise<string | undefined>
  remember(reference: string, digest: string): Promise<void>
}

export function archiveDigest(data: Uint8Array): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`
}

export function isDigest(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text)
}

/** Without a folder nothing is kept. */
export function openSourceCache(folder: string | undefined): SourceCache {
  const fileOf = (digest: string): string => path.join(folder ?? '', 'sha256', `${digest.slice('sha256:'.length)}.tgz`)
  const referenceFile = (reference: string): string =>
    path.join(folder ?? '', 'references', archiveDigest(Buffer.from(reference)).slice('sha256:'.length))
  return {
    async read(digest) {
      const data = folder === undefined ? undefined : await readOptional(fileOf(digest))
      return data && archiveDigest(data) === digest ? data : undefined
    },
    async write(digest, data) {
      if (folder !== undefined) await writeWhole(fileOf(digest), data)
    },
    async lastDigest(reference) {
      const data = folder === undefined ? undefined : await readOptional(referenceFile(reference))
      const digest = data?.toString('utf8').trim()
      return digest !== undefined && isDigest(digest) ? digest : undefined
    },
    async remember(reference, digest) {
      if (folder !== undefined) await writeWhole(referenceFile(reference), Buffer.from(`${digest}\n`))
    },
  }
}

async function readOptional(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function writeWhole(file: string, data: Uint8Array): Promise<void> {
  makeFolder(path.dirname(file), 0o700)
  const draft = `${file}.${randomUUID()}`
  try {
    await writeFile(draft, data, { mode: 0o600, flush: true })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
