import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import 'node:tls'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../test/free-port.ts'
import { openFolder } from '../../apiserver/storage/journal/folder.ts'
import { runEmbeddedCluster } from './embedded-cluster.ts'

/** Starts a cluster on the folder, and ends it when it is ready. */
async function start(folder: string): Promise<string> {
  const end = new AbortController()
  let at = ''
  await runEmbeddedCluster({
    port: undefined,
    kubeconfig: path.join(folder, 'kubeconfig'),
    folder: path.join(folder, 'data'),
    signal: end.signal,
    ready({ url }) {
      at = url
      end.abort()
    },
  })
  return at
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-cluster-'))
  onTestFinished(async () => await rm(folder, { recursive: true, force: true }))
  return folder
}

const certificateOf = (kubeconfig: string): string => /certificate-authority-data"?: *(\S+)/.exec(kubeconfig)![1]!

describe('an embedded cluster on a folder', () => {
  it('does not report ready with an empty signing key, and releases the folder', async () => {
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

  it('keeps its address, its authority and its token over restarts, and takes another port where that one is taken', async () => {
    const folder = await newFolder()
    const url = await start(folder)
    const kubeconfig = path.join(folder, 'kubeconfig')
    const before = await readFile(kubeconfig, 'utf8')
    const identity = path.join(folder, 'data', 'identity.json')
    expect((await stat(identity)).mode & 0o777).toBe(0o600)
    const portOf = (address: string): number => Number(new URL(address).port)
    const move = async (from: number, to: number): Promise<void> => {
      const text = await readFile(identity, 'utf8')
      expect(text).toContain(`"port":${from},`)
      await writeFile(identity, text.replace(`"port":${from},`, `"port":${to},`))
    }
    // A port that was closed just now may still be taken (test/free-port.ts), so the file gets another one.
    const port = await freePort()
    await move(portOf(url), port)
    expect(portOf(await start(folder))).toBe(port)
    expect(await readFile(kubeconfig, 'utf8')).toBe(before.replaceAll(url, `https://127.0.0.1:${port}`))
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const taken = (other.address() as AddressInfo).port
    await move(port, taken)
    const elsewhere = portOf(await start(folder))
    expect(elsewhere).not.toBe(taken)
    // Damaged: a new identity, and the data stays.
    await writeFile(identity, '{')
    await start(folder)
    expect(certificateOf(await readFile(kubeconfig, 'utf8'))).not.toBe(certificateOf(before))
  })

  it('keeps its signing key readable for its owner only, and over restarts', async () => {
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
