import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import 'node:tls'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openFolder } from '../apiserver/storage/journal/folder.ts'
import { runEmbeddedCluster } from './embedded-cluster.ts'

/** Starts a cluster on the folder, and ends it when it is ready. */
async function start(folder: string): Promise<void> {
  const end = new AbortController()
  await runEmbeddedCluster({
    port: undefined,
    kubeconfig: path.join(folder, 'kubeconfig'),
    folder: path.join(folder, 'data'),
    signal: end.signal,
    ready: () => end.abort(),
  })
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-cluster-'))
  onTestFinished(async () => await rm(folder, { recursive: true, force: true }))
  return folder
}

describe('an embedded cluster on a folder', () => {
  it('does not say that it is ready where its signing key is empty, and leaves the folder to others', async () => {
    const folder = await newFolder()
    await start(folder)
    const key = path.join(folder, 'data', 'service-accounts.pem')
    await writeFile(key, '')
    await expect(start(folder)).rejects.toMatchObject({
      name: 'SigningKeyInvalid',
      message: expect.stringContaining(key) as string,
    })
    ;(await openFolder(path.join(folder, 'data'))).release()
    // It is not replaced: tokens that were issued before would be no good, and their bearers would not know why.
    expect(await readFile(key, 'utf8')).toBe('')
  })

  it('keeps its signing key for its owner alone, and the same over a restart', async () => {
    const folder = await newFolder()
    await start(folder)
    const key = path.join(folder, 'data', 'service-accounts.pem')
    const before = await readFile(key, 'utf8')
    await start(folder)
    expect(await readFile(key, 'utf8')).toBe(before)
    expect((await stat(key)).mode & 0o777).toBe(0o600)
    expect((await readdir(path.join(folder, 'data'))).filter((name) => name.endsWith('.draft'))).toEqual([])
  })
})
